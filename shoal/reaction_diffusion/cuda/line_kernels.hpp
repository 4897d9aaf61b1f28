// Implicit diffusion along all rows, or along all columns, of a plane that lies on one GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/reaction_diffusion/node_reaction.hpp>

namespace shoal::reaction_diffusion {

/// Which lines of the plane are solved.
enum class line_way { along_rows, along_columns };

/// How a block of threads takes a line: `chunks` threads have `own` nodes each in a row, and where that is not the
/// whole line it goes on in further segments.
struct line_layout {
  std::size_t own, chunks, segments;

  std::size_t values() const { return own * chunks * segments; }
  /// Where the coefficient of a node lies: those of one place in their chunks side by side.
  std::size_t place_of(std::size_t node) const {
    const std::size_t segment = node / (own * chunks);
    return (segment * own + node % own) * chunks + node / own % chunks;
  }
};
template <class Scalar>
line_layout layout_of(std::size_t nodes, line_way way);

/// What diffusion_lines prepared, on the device, as the layout has it and zero where there is no node:
/// yᵢ = inverseᵢ·uᵢ + forwardᵢ·yᵢ₋₁ and xᵢ = yᵢ + backwardᵢ·xᵢ₊₁.
template <class Scalar>
struct line_coefficients {
  const Scalar* inverse;
  const Scalar* forward;
  const Scalar* backward;
  const Scalar* correction;  ///< null unless the lines go around
  Scalar corner_share, corner_scale;
};

/// Takes a step of diffusion by a rule along all lines of u, [rows][columns]. `room`, of as many values, is used where
/// a line has several segments. The host's bits are others: sums come in another order.
template <class Scalar>
void sweep_lines(line_way way, part_rule rule, Scalar* u, Scalar* room, std::size_t rows, std::size_t columns,
                 const line_coefficients<Scalar>& by, cudaStream_t stream);

}  // namespace shoal::reaction_diffusion
