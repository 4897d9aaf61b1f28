// Dirichlet variates: gammas, normalised by way of their logarithms.
#include <shoal/random/dirichlet.hpp>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/random/gamma.hpp>

namespace shoal::random {

std::vector<double> dirichlet(stream& bits, std::span<const double> concentrations) {
  if (concentrations.empty()) throw bad_argument("a Dirichlet distribution needs at least one concentration");
  std::vector<double> result(concentrations.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (!(concentrations[i] > 0) || !std::isfinite(concentrations[i]))
      throw bad_argument(fmt::format(
          "concentration {} of a Dirichlet distribution is {}; give a positive finite number", i, concentrations[i]));
    result[i] = log_gamma_variate(bits, concentrations[i]);
  }
  const double greatest = *std::max_element(result.begin(), result.end());
  double sum = 0;
  for (double& value : result) sum += value = std::exp(value - greatest);
  for (double& value : result) value /= sum;
  return result;
}

}  // namespace shoal::random
