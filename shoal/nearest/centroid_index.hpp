// K centroids in the layouts that the searches for the nearest of them read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <shoal/core/aligned_buffer.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/nearest/centroid_cells.hpp>
#include <shoal/nearest/tile_products.hpp>

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
  /// `centroids` is [clusters][columns], row-major. Throws numerical_error when one is not finite. Layouts that only
  /// many rows are worth are left out when so few `rows` will be compared. set() works on `workers`, when given;
  /// nothing depends on them. The origin is the centroids' mean, or the point [columns] that is given. Where
  /// `few_compared` rows will be, there are neither rounded layouts nor cells.
  centroid_index(std::span<const double> centroids, std::size_t clusters, std::size_t columns,
                 std::size_t rows = std::numeric_limits<std::size_t>::max()) {
    set(centroids, clusters, columns, rows);
  }
  void set(std::span<const double> centroids, std::size_t clusters, std::size_t columns,
           std::size_t rows = std::numeric_limits<std::size_t>::max(), executor* workers = nullptr,
           std::span<const Scalar> origin = {}, bool few_compared = false);

  std::size_t clusters() const { return clusters_; }
  std::size_t columns() const { return columns_; }
  std::size_t panels() const { return panels_; }
  const Scalar* origin() const { return origin_.data(); }          ///< [columns]
  const Scalar* negated() const { return negated_.data(); }        ///< [panels][columns][panel], −c′
  const Scalar* half_norms() const { return half_norms_.data(); }  ///< [panels][panel], ‖c′‖²/2; huge beyond K
  const double* exact() const { return exact_.data(); }            ///< [ceil(K / exact_panel)][columns][exact_panel], c
  Scalar largest_norm() const { return largest_norm_; }            ///< largest ‖c′‖²
  Scalar error_factor() const { return error_factor_; }

  const centroid_cells& cells() const { return cells_; }  ///< when there are any, the search for labels alone uses them

  /// True when rows are first compared with centroids that are rounded to 16 bits (coarse_search-inl.hpp).
  bool has_coarse() const { return coarse_step_ > 0; }
  const std::int32_t* coarse() const { return coarse_.data(); }  ///< [panels][pairs of columns][panel], −c′/coarse_step
  float coarse_step() const { return coarse_step_; }             ///< largest ‖c′‖ / coarse_range
  float coarse_error() const { return coarse_error_; }           ///< largest ‖c′ − its rounded value‖

  /// True when there are columns enough for 8 bits too (byte_search-inl.hpp), and for what it reads.
  bool has_bytes() const { return has_bytes_; }
  const std::int32_t* bytes() const { return bytes_.data(); }  ///< [panels][fours of columns][panel], −c′/byte_step
  const std::int32_t* byte_starts() const { return byte_starts_.data(); }  ///< [panels][panel], −128 · the sum of those
  const float* byte_steps() const { return byte_steps_.data(); }           ///< [panels][panel], largest |c′_j| / 127
  const float* byte_errors() const { return byte_errors_.data(); }  ///< [panels][panel], ‖c′ − its rounded value‖
  const float* byte_lengths() const { return byte_lengths_.data(); }  ///< [panels][panel], ‖c′‖
  /// Where there is a tile unit, the same bytes as bytes(): tiles().tiles of tiles().tile_bytes().
  const std::int8_t* tile_bytes() const { return tile_bytes_.data(); }
  const tile_cut& tiles() const { return tiles_; }                     ///< none without the unit
  const Scalar* negated_rows() const { return negated_rows_.data(); }  ///< [clusters][row_stride], −c′; zero beyond
  std::size_t row_stride() const { return row_stride_; }               ///< columns, rounded up to a cache line

 private:
  void set_coarse(executor* workers);
  void set_bytes(executor* workers);
  void copy_to_tile(std::size_t k, const std::int32_t* fours);
  template <class Work>
  void for_panels(executor* workers, const Work& work);

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
  bool has_bytes_ = false;
  aligned_buffer<std::int32_t> bytes_;
  aligned_buffer<std::int32_t> byte_starts_;
  aligned_buffer<float> byte_steps_;
  aligned_buffer<float> byte_errors_;
  aligned_buffer<float> byte_lengths_;
  tile_cut tiles_;
  aligned_buffer<std::int8_t> tile_bytes_;
  aligned_buffer<Scalar> negated_rows_;
  std::size_t row_stride_ = 0;
  centroid_cells cells_;
};

extern template class centroid_index<float>;
extern template class centroid_index<double>;

}  // namespace shoal
