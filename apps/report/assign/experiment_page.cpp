#include "report/assign/experiment_page.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "report/chart.hpp"
#include "report/text.hpp"

namespace shoal::report {
namespace {

// Of the random method, whose factors grow with n and would press all others to the axis.
bool grows_fast(const method_points& method) { return method.expected.back() > 0.5 * method.sizes.back(); }

line_chart factors_chart(const experiment_data& data, bool fast) {
  line_chart chart{fast ? "Approximation factor of the random method" : "Approximation factor",
                   "Mean cost over the expected least cost by size, with standard errors; dashed is theory.",
                   "n",
                   "factor",
                   {},
                   true,
                   {}};
  int colour = 0;
  for (const method_points& method : data.methods) {
    if (grows_fast(method) != fast) continue;
    chart.series.push_back({method.name, method.sizes, method.factors, colour});
    chart.series.back().errors = method.factor_errors;
    chart.series.push_back({method.name + ", theory", method.sizes, method.expected, colour});
    chart.series.back().dashed = true;
    ++colour;
  }
  return chart;
}

std::vector<double> logarithms(const std::vector<double>& values) {
  std::vector<double> out;
  for (const double value : values) out.push_back(std::log10(value));
  return out;
}

line_chart times_chart(const experiment_data& data) {
  line_chart chart{"Run time", "Mean seconds by size, both as logarithms; dashed is the fitted power of n.",
                   "log₁₀ n",  "log₁₀ seconds",
                   {},         false,
                   {}};
  int colour = 0;
  for (const method_points& method : data.methods) {
    chart.series.push_back({method.name, logarithms(method.sizes), logarithms(method.seconds), colour});
    for (std::size_t i = 0; i < method.sizes.size(); ++i) {
      chart.series.back().errors.push_back(method.second_errors[i] / method.seconds[i] / std::log(10.0));
    }
    if (std::isfinite(method.exponent)) {
      line_series fit{method.name + ", fitted", logarithms(method.sizes), {}, colour};
      for (const double n : method.sizes)
        fit.y.push_back(std::log10(method.constant) + method.exponent * std::log10(n));
      fit.dashed = true;
      chart.series.push_back(std::move(fit));
    }
    ++colour;
  }
  return chart;
}

}  // namespace

page experiment_page(const experiment_data& data) {
  page out(data.title, "Linear assignment of random costs");
  out.facts(data.facts);
  out.section("How near to the least cost");
  out.figure(draw(factors_chart(data, false)));
  if (std::any_of(data.methods.begin(), data.methods.end(), grows_fast)) out.figure(draw(factors_chart(data, true)));
  out.section("How long it takes");
  out.figure(draw(times_chart(data)));
  table numbers{
      "Methods", {"method", "mean squared error of the factor", "exponent of n", "seconds at the largest n"}, {}, {}};
  for (const method_points& method : data.methods) {
    numbers.rows.push_back({{method.name},
                            {number(method.mean_squared_error)},
                            {std::isfinite(method.exponent) ? number(method.exponent, 3) : "–"},
                            {number(method.seconds.back(), 3)}});
  }
  out.add(numbers);
  return out;
}

}  // namespace shoal::report
