// The nearest of K centroids for each row, exactly: k-means, its seeding and maps are built on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <shoal/core/aligned_buffer.hpp>
#include <shoal/core/matrix_view.hpp>

namespace shoal {

/// K centroids laid out for find_nearest. Centroids stay float64; the Scalar copies only decide where the decision is
/// provably right.
///
/// A row's score against centroid k is (‖x′‖² + ‖c′‖²)/2 − x′·c′ about a common origin, in Scalar. Its distance from
/// half the true squared distance is at most error_factor · (‖x′‖² + largest ‖c′‖²) (sum of the roundings of the
/// inputs, of the chain of multiply-adds and of the float64 definition; see set()).
template <class Scalar>
class centroid_index {
 public:
  static constexpr std::size_t panel = 4;         ///< centroids in one register tile
  static constexpr std::size_t exact_panel = 16;  ///< centroids in one panel of the float64 decision
  static constexpr float coarse_range = 30000;    ///< the largest norm in coarse steps, of rows and of centroids

  centroid_index() = default;
  /// `centroids` is [clusters][columns], row-major. Throws numerical_error when one is not finite.
  centroid_index(std::span<const double> centroids, std::size_t clusters, std::size_t columns) {
    set(centroids, clusters, columns);
  }
  void set(std::span<const double> centroids, std::size_t clusters, std::size_t columns);

  std::size_t clusters() const { return clusters_; }
  std::size_t columns() const { return columns_; }
  std::size_t panels() const { return panels_; }
  const Scalar* origin() const { return origin_.data(); }          ///< [columns]
  const Scalar* negated() const { return negated_.data(); }        ///< [panels][columns][panel], −c′
  const Scalar* half_norms() const { return half_norms_.data(); }  ///< [panels][panel], ‖c′‖²/2; huge beyond K
  const double* exact() const { return exact_.data(); }            ///< [ceil(K / exact_panel)][columns][exact_panel], c
  Scalar largest_norm() const { return largest_norm_; }            ///< largest ‖c′‖²
  Scalar error_factor() const { return error_factor_; }

  /// True when rows are first compared with centroids that are rounded to 16 bits (coarse_search-inl.hpp).
  bool has_coarse() const { return coarse_step_ > 0; }
  const std::int32_t* coarse() const { return coarse_.data(); }  ///< [panels][pairs of columns][panel], −c′/coarse_step
  float coarse_step() const { return coarse_step_; }             ///< largest ‖c′‖ / coarse_range
  float coarse_error() const { return coarse_error_; }           ///< largest ‖c′ − its rounded value‖

 private:
  void set_coarse();

  std::size_t clusters_ = 0;
  std::size_t columns_ = 0;
  std::size_t panels_ = 0;
  Scalar largest_norm_ = 0;
  Scalar error_factor_ = 0;
  aligned_buffer<Scalar> origin_;
  aligned_buffer<Scalar> negated_;
  aligned_buffer<Scalar> half_norms_;
  aligned_buffer<double> exact_;
  float coarse_step_ = 0;
  float coarse_error_ = 0;
  aligned_buffer<std::int32_t> coarse_;
};

/// Memory that find_nearest and squared_distances keep between calls; one for each thread.
template <class Scalar>
struct nearest_scratch {
  aligned_buffer<Scalar> panel;
  aligned_buffer<Scalar> padded_rows;
  aligned_buffer<double> exact;

  aligned_buffer<std::int32_t> coarse_rows;
  aligned_buffer<std::int32_t> coarse_half_norms;
  std::vector<std::size_t> doubtful;     ///< rows that the coarse search leaves undecided
  aligned_buffer<Scalar> doubtful_rows;  ///< one panel of them
  std::size_t without_coarse = 0;        ///< calls to go before the coarse search is tried again
};

/// labels[i] = the centroid of least Σ_j (x_j − c_j)², that sum taken in float64 from the first column to the last;
/// the lowest index on ties. The same for every instruction set. When `others` is not null, others[i] is a lower bound
/// of the distance (not squared) from row i to every other centroid, as high as rounding allows; 0 or more.
template <class Scalar>
void find_nearest(const centroid_index<Scalar>& index, matrix_view<const Scalar> rows, std::int32_t* labels,
                  nearest_scratch<Scalar>& scratch, Scalar* others = nullptr);

/// out[t * out_stride + i] = ‖x_i − p_t‖² for the `points` [count][columns], in Scalar, as a sum of squared
/// differences. A row's result does not depend on the rows and points beside it.
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
