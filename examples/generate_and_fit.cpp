// Generates a mixture, draws rows from it, fits a mixture to the rows and compares the two.
#include <cmath>
#include <cstdio>
#include <vector>

#include <shoal/gmm/generate.hpp>
#include <shoal/gmm/gmm.hpp>

namespace {

// The component of `fitted` whose mean is nearest to that of component k of `truth`.
std::size_t nearest_component(const shoal::gmm::model& truth, std::size_t k, const shoal::gmm::model& fitted) {
  std::size_t nearest = 0;
  double least = HUGE_VAL;
  for (std::size_t other = 0; other < fitted.components; ++other) {
    double distance = 0;
    for (std::size_t j = 0; j < truth.columns; ++j) {
      const double difference = truth.means[k * truth.columns + j] - fitted.means[other * truth.columns + j];
      distance += difference * difference;
    }
    if (distance < least) {
      least = distance;
      nearest = other;
    }
  }
  return nearest;
}

}  // namespace

int main() {
  shoal::gmm::generator_options generator;
  generator.components = 4;
  generator.columns = 3;
  generator.mean_scale = 1000;  // far apart, so that the fit can be compared component by component
  generator.seed = 1;
  const shoal::gmm::model truth = shoal::gmm::generate_model(generator);

  // Row i depends on the model and the seed alone: several threads, or machines, could draw a range each.
  constexpr std::size_t rows = 100000;
  std::vector<float> data(rows * truth.columns);
  const shoal::matrix_view<float> view(data.data(), rows, truth.columns);
  shoal::gmm::sample(truth, 2, 0, view, nullptr);

  shoal::gmm::options options;
  options.components = truth.components;
  options.restarts = 4;
  const shoal::gmm::fit_result fit = shoal::gmm::fit(shoal::matrix_view<const float>(view), options);

  std::printf("%zu iterations, mean log-likelihood %.4f\n", fit.iterations, fit.mean_log_likelihood);
  std::printf("component  true weight  fitted weight\n");
  bool recovered = fit.converged;
  for (std::size_t k = 0; k < truth.components; ++k) {
    const std::size_t other = nearest_component(truth, k, fit.model);
    std::printf("%9zu  %11.4f  %13.4f\n", k, truth.weights[k], fit.model.weights[other]);
    // Five standard errors of a proportion of so many rows.
    const double error = std::sqrt(truth.weights[k] * (1 - truth.weights[k]) / rows);
    recovered = recovered && std::abs(truth.weights[k] - fit.model.weights[other]) < 5 * error;
  }
  return recovered ? 0 : 1;
}
