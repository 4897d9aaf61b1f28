// The best-matching unit of each row, exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <shoal/core/aligned_buffer.hpp>
#include <shoal/core/matrix_view.hpp>
#include <shoal/nearest/scratch.hpp>
#include <shoal/som/codebook_index.hpp>

namespace shoal::som {

/// Memory that find_units keeps between calls; one for each thread.
template <class Scalar>
struct search_scratch {
  aligned_buffer<Scalar> rows;      ///< [slab_rows][columns], about the origin
  aligned_buffer<Scalar> minima;    ///< [slab_rows][groups]
  nearest_scratch<Scalar> nearest;  ///< of the search among few units
};

/// What find_units writes for each row.
struct found_units {
  std::int32_t* best = nullptr;
  double* distances = nullptr;     ///< to the best, in the metric; may be null
  std::int32_t* second = nullptr;  ///< the best of the others; -1 when there is none; may be null
};

/// The best-matching unit is the one of the least Σ(xⱼ − wⱼ)², Σ|xⱼ − wⱼ|, −Σ xⱼ(wⱼ/‖w‖) or max|xⱼ − wⱼ|, in float64
/// from the first column to the last; the lowest index on ties. The same for every instruction set.
///
/// Every unit is scored in Scalar, but of the scores only the least of each group of units is kept; then those groups
/// are scored again whose least is within the error of the least of all, and the definition decides among the units
/// that rounding may have put in the wrong order.
template <class Scalar>
void find_units(const codebook_index<Scalar>& index, matrix_view<const Scalar> rows, const found_units& found,
                search_scratch<Scalar>& scratch);

}  // namespace shoal::som
