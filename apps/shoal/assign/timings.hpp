// What is learnt from repeated measurements.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace shoal::app {

/// A mean with its standard error.
struct estimate {
  double mean = 0;
  double error = 0;
  std::size_t count = 0;
};

inline estimate estimate_of(const std::vector<double>& values) {
  estimate out;
  out.count = values.size();
  const auto n = static_cast<double>(out.count);
  for (const double value : values) out.mean += value / n;
  double squares = 0;
  for (const double value : values) squares += (value - out.mean) * (value - out.mean);
  if (out.count > 1) out.error = std::sqrt(squares / (n * (n - 1)));
  return out;
}

inline double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Those within three standard deviations of the median, which the median absolute deviation estimates: others are the
/// system's doing.
inline std::vector<double> without_outliers(const std::vector<double>& values) {
  const double middle = median_of(values);
  std::vector<double> far;
  for (const double value : values) far.push_back(std::abs(value - middle));
  const double most = 3 * 1.4826 * median_of(far);
  std::vector<double> kept;
  for (const double value : values) {
    if (std::abs(value - middle) <= most) kept.push_back(value);
  }
  return kept;
}

/// seconds = constant · nᵉˣᵖᵒⁿᵉⁿᵗ by least squares of the logarithms; not-a-number for less than two sizes.
struct power_law {
  double exponent = std::numeric_limits<double>::quiet_NaN();
  double constant = std::numeric_limits<double>::quiet_NaN();
};

inline power_law fit_power(const std::vector<double>& sizes, const std::vector<double>& seconds) {
  if (sizes.size() < 2) return {};
  const auto count = static_cast<double>(sizes.size());
  double x = 0, y = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    x += std::log(sizes[i]) / count;
    y += std::log(seconds[i]) / count;
  }
  double xx = 0, xy = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    xx += (std::log(sizes[i]) - x) * (std::log(sizes[i]) - x);
    xy += (std::log(sizes[i]) - x) * (std::log(seconds[i]) - y);
  }
  return {xy / xx, std::exp(y - xy / xx * x)};
}

}  // namespace shoal::app
