#include <shoal/som/codebook_index.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <shoal/som/tuning.hpp>

namespace shoal::som {

template <class Scalar>
void codebook_index<Scalar>::set(som::metric metric, std::span<const double> codebook, std::size_t units,
                                 std::size_t columns) {
  metric_ = metric;
  units_ = units;
  columns_ = columns;
  panels_ = (units + panel - 1) / panel;
  group_panels_ = panels_in_group(panels_, columns, columns * panel * sizeof(Scalar));
  set_exact(codebook);
  set_origin();
  set_panels();
  few_ = metric == som::metric::euclidean && units <= most_few_units && units * columns <= most_few_values &&
         std::all_of(codebook.begin(), codebook.end(), [](double value) { return std::isfinite(value); });
  // Without cells, which are made for centroids that are searched more often: an epoch of 200,000 rows of 3 columns on
  // 49 units takes 2.4 ms, with them 5.8.
  if (few_) centroids_.set(codebook, units, columns, 0);
  // Unit roundoff times: two for the inputs, one for each column's operation and a few for starts, thresholds and
  // norms; in float64 the definition rounds as often again. A maximum rounds nothing but its inputs.
  const double unit = static_cast<double>(std::numeric_limits<Scalar>::epsilon()) / 2;
  const double chain = metric == som::metric::chebyshev ? 1.0 : static_cast<double>(columns);
  error_factor_ = 1.05 * unit * (sizeof(Scalar) == 4 ? chain + 8 : 2 * chain + 12);
}

template <class Scalar>
void codebook_index<Scalar>::set_exact(std::span<const double> codebook) {
  exact_.assign(codebook.begin(), codebook.end());
  if (metric_ != som::metric::cosine) return;
  for (std::size_t u = 0; u < units_; ++u) {
    double* const unit = exact_.data() + u * columns_;
    double largest = 0, squares = 0;  // scaled, so that no square leaves the range
    for (std::size_t j = 0; j < columns_; ++j) largest = std::max(largest, std::abs(unit[j]));
    if (!(largest > 0)) continue;
    for (std::size_t j = 0; j < columns_; ++j) squares += unit[j] / largest * (unit[j] / largest);
    const double norm = std::sqrt(squares);
    for (std::size_t j = 0; j < columns_; ++j) unit[j] = unit[j] / largest / norm;
  }
}

// The origin need not be anything in particular, only near the units; their mean is, and belongs to them.
template <class Scalar>
void codebook_index<Scalar>::set_origin() {
  origin_.grow(columns_);
  std::fill_n(origin_.data(), columns_, Scalar{0});
  if (metric_ == som::metric::cosine) return;
  std::vector<double> mean(columns_);
  for (std::size_t u = 0; u < units_; ++u) {
    for (std::size_t j = 0; j < columns_; ++j) mean[j] += exact_[u * columns_ + j] / static_cast<double>(units_);
  }
  for (std::size_t j = 0; j < columns_; ++j) {
    const auto rounded = static_cast<Scalar>(mean[j]);
    if (std::isfinite(rounded)) origin_[j] = rounded;
  }
}

template <class Scalar>
void codebook_index<Scalar>::set_panels() {
  coordinates_.grow(panels_ * columns_ * panel);
  starts_.grow(panels_ * panel);
  double largest = 0;
  for (std::size_t p = 0; p < panels_; ++p) {
    Scalar* const to = coordinates_.data() + p * columns_ * panel;
    Scalar* const start = starts_.data() + p * panel;
    for (std::size_t i = 0; i < panel; ++i) {
      const std::size_t u = p * panel + i;
      if (u >= units_) {
        for (std::size_t j = 0; j < columns_; ++j) to[j * panel + i] = 0;
        start[i] = std::numeric_limits<Scalar>::max() / 8;
        continue;
      }
      const double* const unit = exact(u);
      double squares = 0, sum = 0, most = 0;
      for (std::size_t j = 0; j < columns_; ++j) {
        const auto value = static_cast<Scalar>(unit[j] - static_cast<double>(origin_[j]));
        to[j * panel + i] = value;
        const double magnitude = std::abs(static_cast<double>(value));
        squares += magnitude * magnitude;
        sum += magnitude;
        most = std::max(most, magnitude);
      }
      start[i] = metric_ == som::metric::euclidean ? static_cast<Scalar>(squares / 2) : Scalar{0};
      switch (metric_) {
        case som::metric::euclidean:
          largest = std::max(largest, squares);
          break;
        case som::metric::taxicab:
          largest = std::max(largest, sum);
          break;
        case som::metric::chebyshev:
          largest = std::max(largest, most);
          break;
        case som::metric::cosine:
          break;
      }
    }
  }
  largest_norm_ = largest;
}

template class codebook_index<float>;
template class codebook_index<double>;

}  // namespace shoal::som
