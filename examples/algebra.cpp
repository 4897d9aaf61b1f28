// Folding with structures: statistics in one pass, shortest paths as matrix powers, a recurrence as a scan, and a law
// checked.
#include <cmath>
#include <cstdio>
#include <limits>
#include <tuple>
#include <vector>

#include <shoal/algebra/algebra.hpp>

namespace algebra = shoal::algebra;

// A structure of your own: the range of some numbers. It is a value with an operation, and it says which laws it keeps.
struct interval_hull {
  struct value_type {
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();
    friend bool operator==(const value_type&, const value_type&) = default;
  };
  static constexpr algebra::operation_laws laws{.associative = algebra::law::exact,
                                                .commutative = algebra::law::exact,
                                                .identity = algebra::law::exact,
                                                .idempotent = algebra::law::exact};
  value_type identity() const { return {}; }
  value_type combine(const value_type& a, const value_type& b) const {
    return {std::fmin(a.low, b.low), std::fmax(a.high, b.high)};
  }
};

int main() {
  // Mean, variance and range of five waiting times, in one pass over the data.
  const algebra::product statistics{algebra::moments{}, interval_hull{}};
  std::vector<std::tuple<algebra::moments_value, interval_hull::value_type>> waits;
  for (const double minutes : {79.0, 54.0, 74.0, 62.0, 85.0})
    waits.emplace_back(algebra::moments::of(minutes), interval_hull::value_type{minutes, minutes});
  const auto [moments, hull] = algebra::reduce(statistics, waits);
  std::printf("mean %.2f, variance %.2f, from %.0f to %.0f\n", moments.mean, moments.variance(), hull.low, hull.high);

  // Shortest paths: powers of the matrix of edge lengths over (min, +).
  const double none = std::numeric_limits<double>::infinity();
  const std::vector<double> roads{0, 4, 9, none, 0, 3, 1, none, 0};
  const algebra::matrices<algebra::tropical_semiring<double>> lengths(3);
  const auto shortest = algebra::power(lengths.multiplication(), roads, 2);
  std::printf("from 0 to 2: %.0f, by way of 1\n", shortest[2]);

  // Compound interest with deposits, xᵢ = 1.05·xᵢ₋₁ + 100: every year at once by a scan of affine maps.
  const algebra::affine_maps<algebra::reals<double>> maps;
  const std::vector<algebra::affine_map<double>> years(10, {1.05, 100});
  const auto until = algebra::inclusive_scan(maps, years);
  std::printf("1000 becomes %.2f in 10 years\n", maps.apply(until.back(), 1000));

  // The laws of the new structure, tried on samples.
  const std::vector<interval_hull::value_type> samples{{}, {1, 2}, {-3, 0.5}, {2, 2}};
  const algebra::law_report report = algebra::check_declared(interval_hull{}, samples);
  std::printf("interval hull: %s\n", report.message().c_str());

  const bool right = moments.mean == 70.8 && hull.high == 85 && shortest[2] == 7 && report.passed();
  return right ? 0 : 1;
}
