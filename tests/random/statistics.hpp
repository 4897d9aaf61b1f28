// Moments and goodness-of-fit tests, to hold samplers against the distributions that they claim.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace shoal::testing {

/// Φ(x).
inline double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

/// The regularised incomplete gamma function P(a, x), a > 0, x ≥ 0, to about 1e-14: its series below a + 1, Lentz's
/// continued fraction of 1 − P above.
inline double gamma_p(double a, double x) {
  if (x <= 0) return 0;
  const double front = std::exp(a * std::log(x) - x - std::lgamma(a));
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (double n = a + 1; term > sum * 1e-17; n += 1) sum += term *= x / n;
    return front * sum;
  }
  double b = x + 1 - a, c = 1e300, d = 1 / b, fraction = d;
  for (int i = 1; i < 100000; ++i) {
    const double numerator = -i * (i - a);
    b += 2;
    d = 1 / (numerator * d + b);
    c = b + numerator / c;
    fraction *= c * d;
    if (std::abs(c * d - 1) < 1e-16) break;
  }
  return 1 - front * fraction;
}

/// Probability that chi-squared with those degrees of freedom is at least `value`.
inline double chi_squared_p_value(double value, double degrees_of_freedom) {
  return 1 - gamma_p(degrees_of_freedom / 2, value / 2);
}

/// Probability of a Kolmogorov–Smirnov distance of at least `distance` between a continuous distribution and `count`
/// draws of it: Kolmogorov's limit with the correction of Stephens (1970), good to a few per cent from 20 draws on.
inline double ks_p_value(double distance, std::size_t count) {
  const double root = std::sqrt(static_cast<double>(count));
  const double lambda = (root + 0.12 + 0.11 / root) * distance;
  if (lambda < 0.2) return 1;
  double sum = 0;
  for (int k = 1; k <= 100; ++k) sum += (k % 2 ? 2 : -2) * std::exp(-2.0 * k * k * lambda * lambda);
  return std::clamp(sum, 0.0, 1.0);
}

/// The p-value of the two-sided Kolmogorov–Smirnov test of `draws` against a continuous distribution function.
inline double ks_test(std::vector<double> draws, const std::function<double(double)>& cdf) {
  std::sort(draws.begin(), draws.end());
  const double count = static_cast<double>(draws.size());
  double distance = 0;
  for (std::size_t i = 0; i < draws.size(); ++i) {
    const double p = cdf(draws[i]);
    distance = std::max({distance, p - static_cast<double>(i) / count, static_cast<double>(i + 1) / count - p});
  }
  return ks_p_value(distance, draws.size());
}

/// The p-value of Pearson's test of counts against expected probabilities (sum 1).
inline double chi_squared_test(std::span<const std::size_t> counts, std::span<const double> probabilities) {
  double total = 0, statistic = 0;
  for (const std::size_t count : counts) total += static_cast<double>(count);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = total * probabilities[i];
    const double difference = static_cast<double>(counts[i]) - expected;
    statistic += difference * difference / expected;
  }
  return chi_squared_p_value(statistic, static_cast<double>(counts.size()) - 1);
}

/// The p-value of Pearson's test of draws in `cells` cells of equal probability of a continuous distribution.
inline double equal_cells_test(std::span<const double> draws, const std::function<double(double)>& cdf,
                               std::size_t cells) {
  std::vector<std::size_t> counts(cells);
  for (const double draw : draws)
    ++counts[std::min(cells - 1, static_cast<std::size_t>(cdf(draw) * static_cast<double>(cells)))];
  return chi_squared_test(counts, std::vector<double>(cells, 1.0 / static_cast<double>(cells)));
}

/// How many standard errors the mean of g(draw) is from `expected`, the error being that of the draws themselves.
inline double mean_deviation(std::span<const double> draws, double expected, const std::function<double(double)>& g) {
  double sum = 0, squares = 0;
  for (const double draw : draws) {
    const double difference = g(draw) - expected;
    sum += difference;
    squares += difference * difference;
  }
  return sum / std::sqrt(squares);
}

/// The greatest of mean_deviation of the first four powers of (draw − mean)/deviation, given the distribution's mean,
/// standard deviation, skewness and (not excess) kurtosis. A right sampler stays below 5 at any sample size.
inline double moments_deviation(std::span<const double> draws, double mean, double deviation, double skewness,
                                double kurtosis) {
  const double expected[4] = {0, 1, skewness, kurtosis};
  double worst = 0;
  for (int power = 1; power <= 4; ++power)
    worst = std::max(worst, std::abs(mean_deviation(draws, expected[power - 1], [&](double draw) {
                       const double standard = (draw - mean) / deviation;
                       double product = 1;
                       for (int i = 0; i < power; ++i) product *= standard;
                       return product;
                     })));
  return worst;
}

/// Pearson's correlation of two equally long series.
inline double correlation(std::span<const double> x, std::span<const double> y) {
  const double count = static_cast<double>(x.size());
  double mean_x = 0, mean_y = 0, xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += x[i] / count;
    mean_y += y[i] / count;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  return xy / std::sqrt(xx * yy);
}

/// A seed is fixed, so a test either always passes or never does; below this a sampler is called wrong.
inline constexpr double least_p_value = 1e-3;

}  // namespace shoal::testing
