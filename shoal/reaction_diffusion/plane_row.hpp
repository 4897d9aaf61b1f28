// One explicit step of one row of the plane.
#pragma once

#include <cstddef>

#include <shoal/reaction_diffusion/explicit_window.hpp>

namespace shoal::reaction_diffusion {

/// A row with its neighbours; one more node on either side of `v` (and of `w` where the recovery spreads) is read.
template <class Scalar>
struct plane_row {
  const Scalar* above_v;
  const Scalar* v;
  const Scalar* below_v;
  const Scalar* above_w;
  const Scalar* w;
  const Scalar* below_w;
  Scalar* new_v;
  Scalar* new_w;
};

/// Steps the nodes [first, end). The coefficients are those of an axon, with 4 neighbours in `rest` and `decay`.
void step_plane_row(const plane_row<double>& row, const explicit_coefficients<double>& by, std::size_t first,
                    std::size_t end);
void step_plane_row(const plane_row<float>& row, const explicit_coefficients<float>& by, std::size_t first,
                    std::size_t end);

}  // namespace shoal::reaction_diffusion
