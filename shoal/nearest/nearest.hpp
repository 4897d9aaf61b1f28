// The nearest of K centroids for each row, exactly: k-means, its seeding and maps are built on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <shoal/core/matrix_view.hpp>
#include <shoal/nearest/byte_rows.hpp>
#include <shoal/nearest/centroid_index.hpp>
#include <shoal/nearest/scratch.hpp>

namespace shoal {

/// labels[i] = the centroid of least Σ_j (x_j − c_j)², that sum taken in float64 from the first column to the last;
/// the lowest index on ties. The same for every instruction set. When `others` is not null, others[i] is a lower bound
/// of the distance (not squared) from row i to every other centroid, as high as rounding allows; 0 or more. `ahead` is
/// what the caller will read next; it may be brought into the cache meanwhile. `kept` are panels of these rows about
/// the index's origin, which a search by bytes uses and makes; the same rows must come with them each time.
template <class Scalar>
void find_nearest(const centroid_index<Scalar>& index, matrix_view<const Scalar> rows, std::int32_t* labels,
                  nearest_scratch<Scalar>& scratch, Scalar* others = nullptr, std::span<const Scalar> ahead = {},
                  const kept_panels& kept = {});

/// Whether this processor has what the search by bytes needs.
bool has_byte_search();

/// out[t * out_stride + i] = ‖x_i − p_t‖² for the `points` [count][columns], in Scalar, as a sum of squared
/// differences. A row's result does not depend on the rows around it.
template <class Scalar>
void squared_distances(matrix_view<const Scalar> rows, matrix_view<const Scalar> points, Scalar* out,
                       std::size_t out_stride, nearest_scratch<Scalar>& scratch);

/// out[i] = ‖x_i − p_labels[i]‖² for `points` [count][columns], in Scalar.
template <class Scalar>
void distances_to_labels(matrix_view<const Scalar> rows, matrix_view<const Scalar> points, const std::int32_t* labels,
                         Scalar* out);

/// Σ w_i · min(a_i, b_i) in float64; `weights` may be null (all one).
template <class Scalar, class Weight>
double sum_of_minima(const Scalar* a, const Scalar* b, const Weight* weights, std::size_t count);

/// The instruction set that these kernels run on here and now, e.g. "AVX2".
std::string simd_target();

}  // namespace shoal
