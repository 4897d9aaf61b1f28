// Variance, skewness and kurtosis of a million numbers near 10⁹, in one pass on threads. The textbook's Σx² − (Σx)²/n
// cancels there: the squares are near 10¹⁸, where neighbouring doubles are 128 apart.
#include <cmath>
#include <cstdio>
#include <ranges>
#include <vector>

#include <shoal/algebra/algebra.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/execution/runner.hpp>

namespace algebra = shoal::algebra;

int main() {
  // The numbers 10⁹ + 0, …, 10⁹ + 6, over and over: their variance is 4.
  constexpr double offset = 1e9;
  std::vector<double> values(7 * 150000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = offset + static_cast<double>(i % 7);
  const double count = static_cast<double>(values.size());

  // One pass the textbook's way.
  double sum = 0, squares = 0;
  for (const double x : values) sum += x, squares += x * x;
  const double textbook = squares / count - (sum / count) * (sum / count);

  // One pass with moments that merge. Each number is a sample of its own, made while it is read, and the operation
  // merges samples: it never subtracts large numbers but means, which are near each other.
  const auto threads = shoal::make_threads(2);
  const auto samples = values | std::views::transform([](double x) { return algebra::higher_moments::of(x); });
  const auto all = algebra::reduce(algebra::higher_moments{}, samples, shoal::runner(*threads));

  std::printf("textbook: variance %.6g\n", textbook);
  std::printf("merged:   variance %.12g, mean %.3f, skewness %.3g, excess kurtosis %.6g\n", all.variance(), all.mean,
              all.skewness(), all.excess_kurtosis());

  // Seven equally likely numbers: kurtosis (fourth moment 28) / 4² − 3.
  const bool right = std::abs(all.variance() - 4) < 1e-9 && std::abs(all.skewness()) < 1e-6 &&
                     std::abs(all.excess_kurtosis() - (28.0 / 16 - 3)) < 1e-9;
  // The order of merging is fixed, so that other threads find the same bits.
  const bool same = algebra::reduce(algebra::higher_moments{}, samples) == all;
  std::printf("one thread finds %s\n", same ? "the same bits" : "other bits");
  return right && same && std::abs(textbook - 4) > 1 ? 0 : 1;
}
