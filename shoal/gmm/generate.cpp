// Random mixtures: weights, normal means and Wishart covariances, each from a stream of its own.
#include <shoal/gmm/generate.hpp>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/random/dirichlet.hpp>
#include <shoal/random/gamma.hpp>
#include <shoal/random/normal.hpp>
#include <shoal/random/wishart.hpp>

namespace shoal::gmm {
namespace {

// Keeps the streams of generate_model apart from those of other uses of the same seed.
constexpr std::uint64_t generation = 0x67656e6572617465;  // "generate"

void check(const generator_options& options, double degrees) {
  if (options.components == 0) throw bad_argument("generate: components is 0; give at least 1");
  if (options.columns == 0) throw bad_argument("generate: columns is 0; give at least 1");
  if (!(options.mean_scale >= 0) || !std::isfinite(options.mean_scale))
    throw bad_argument(
        fmt::format("generate: mean_scale is {}; it is a variance, give a finite number ≥ 0", options.mean_scale));
  if (options.weights == weight_distribution::dirichlet &&
      (!(options.dirichlet_alpha > 0) || !std::isfinite(options.dirichlet_alpha)))
    throw bad_argument(
        fmt::format("generate: dirichlet_alpha is {}; give a positive finite number", options.dirichlet_alpha));
  if (!(degrees > static_cast<double>(options.columns) - 1) || !std::isfinite(degrees))
    throw bad_argument(fmt::format("generate: wishart_degrees is {}; for {} columns give more than {}", degrees,
                                   options.columns, options.columns - 1));
}

std::vector<double> draw_weights(const generator_options& options, std::uint64_t key) {
  random::stream bits(key, 0);
  if (options.weights == weight_distribution::dirichlet)
    return random::dirichlet(bits, std::vector<double>(options.components, options.dirichlet_alpha));
  std::vector<double> weights(options.components);
  double sum = 0;
  for (double& weight : weights) sum += weight = bits.uniform();
  for (double& weight : weights) weight /= sum;
  return weights;
}

// What one component's stream adds to model::covariances.
std::vector<double> draw_covariance(const generator_options& options, random::stream& bits, double degrees) {
  switch (options.covariance_type) {
    case covariance_type::full:
    case covariance_type::tied:
      return random::wishart(bits, options.columns, degrees);
    case covariance_type::diag: {
      std::vector<double> variances(options.columns);
      for (double& variance : variances) variance = random::chi_squared(bits, degrees);
      return variances;
    }
    case covariance_type::spherical:
      return {random::chi_squared(bits, degrees)};
  }
  throw bad_argument("generate: an unknown covariance type");
}

}  // namespace

model generate_model(const generator_options& options) {
  const std::size_t components = options.components, columns = options.columns;
  const double degrees = options.wishart_degrees == 0 ? static_cast<double>(columns) + 2 : options.wishart_degrees;
  check(options, degrees);
  const std::uint64_t key = random::mix(options.seed, generation);

  model result;
  result.covariance_type = options.covariance_type;
  result.components = components;
  result.columns = columns;
  result.weights = draw_weights(options, key);
  result.means.reserve(components * columns);
  const double deviation = std::sqrt(options.mean_scale);
  for (std::size_t k = 0; k < components; ++k) {
    random::stream for_mean(key, 2 * k + 1), for_covariance(key, 2 * k + 2);
    for (std::size_t j = 0; j < columns; ++j) result.means.push_back(deviation * random::normal(for_mean));
    if (options.covariance_type == covariance_type::tied && k > 0) continue;
    const auto covariance = draw_covariance(options, for_covariance, degrees);
    result.covariances.insert(result.covariances.end(), covariance.begin(), covariance.end());
  }
  if (options.divide_by_degrees)
    for (double& value : result.covariances) value /= degrees;
  return result;
}

}  // namespace shoal::gmm
