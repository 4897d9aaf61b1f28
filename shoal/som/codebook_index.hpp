// A codebook laid out for the search of best-matching units.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <shoal/core/aligned_buffer.hpp>
#include <shoal/nearest/centroid_index.hpp>
#include <shoal/som/metric.hpp>

namespace shoal::som {

/// The units of a map, their coordinates in panels of the scalar for the scores that exclude most units, and in float64
/// for the values that decide among the rest. Set once an epoch, read by every thread.
///
/// With x′ and w′ about a common origin (cosine: w′ = w/‖w‖, no origin), a row's score against a unit is ‖w′‖²/2 −
/// x′·w′, Σ|x′ − w′|, −x·w′ or max|x′ − w′|, in Scalar. It is off from what it stands for, a term of the row's own left
/// out, by at most error_factor · (the row's norm + largest_norm), with norms ‖·‖², ‖·‖₁, ‖·‖ (of the row alone) and
/// ‖·‖∞: the roundings of the inputs, of the chain of operations and of the float64 definition together.
template <class Scalar>
class codebook_index {
 public:
  /// Units in one panel: three of the widest vectors.
  static constexpr std::size_t panel = 192 / sizeof(Scalar);

  void set(metric metric, std::span<const double> codebook, std::size_t units, std::size_t columns);

  som::metric metric() const { return metric_; }
  std::size_t units() const { return units_; }
  std::size_t columns() const { return columns_; }
  std::size_t panels() const { return panels_; }
  /// Panels that are searched together, for all rows of a slab, while they are in the nearest cache.
  std::size_t group_panels() const { return group_panels_; }
  std::size_t groups() const { return (panels_ + group_panels_ - 1) / group_panels_; }
  std::size_t group_end(std::size_t group) const { return std::min(panels_, (group + 1) * group_panels_); }

  const Scalar* origin() const { return origin_.data(); }  ///< [columns]
  const Scalar* coordinates(std::size_t p) const {         ///< [columns][panel], w′; zero beyond the last unit
    return coordinates_.data() + p * columns_ * panel;
  }
  /// [panel] what a score begins with: ‖w′‖²/2 or zero; out of reach beyond the last unit.
  const Scalar* starts(std::size_t p) const { return starts_.data() + p * panel; }
  /// [columns] the weights of a unit; for cosine w/‖w‖, or zero.
  const double* exact(std::size_t unit) const { return exact_.data() + unit * columns_; }
  double largest_norm() const { return largest_norm_; }
  /// The units as the search of k-means wants them, when they are few enough for it (tuning.hpp); else null.
  const centroid_index<Scalar>* few() const { return few_ ? &centroids_ : nullptr; }
  double error_factor() const { return error_factor_; }

 private:
  void set_exact(std::span<const double> codebook);
  void set_origin();
  void set_panels();

  som::metric metric_ = som::metric::euclidean;
  std::size_t units_ = 0;
  std::size_t columns_ = 0;
  std::size_t panels_ = 0;
  std::size_t group_panels_ = 1;
  double largest_norm_ = 0;
  double error_factor_ = 0;
  aligned_buffer<Scalar> origin_;
  aligned_buffer<Scalar> coordinates_;
  aligned_buffer<Scalar> starts_;
  std::vector<double> exact_;
  bool few_ = false;
  centroid_index<Scalar> centroids_;
};
extern template class codebook_index<float>;
extern template class codebook_index<double>;

}  // namespace shoal::som
