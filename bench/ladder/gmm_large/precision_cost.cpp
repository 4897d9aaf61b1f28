// What one product of 11 bits (--precision tf32, bf16) does to a whole fit: 20 iterations from the same start with it
// and without, and the mean log-likelihood of both models as predict() finds it in float32's grade.
#include <cstdio>
#include <vector>

#include <shoal/gmm/fit.hpp>
#include <shoal/gmm/predict.hpp>
#include <shoal/io/row_source.hpp>

#include "../../../tests/gmm/kernel_checks.hpp"
#include "../../../tests/gmm/reference.hpp"

namespace {

using shoal::gmm::covariance_type;

void compare(covariance_type type, std::size_t rows, std::size_t columns, std::size_t components, double spread) {
  const auto truth = reference::random_model(type, components, columns, spread, 1);
  const std::vector<float> values = reference::random_rows<float>(truth, rows, columns, 2);
  const shoal::view_source<float> source(shoal::matrix_view<const float>(values.data(), rows, columns));
  shoal::gmm::options options;
  options.components = components;
  options.covariance_type = type;
  options.init = shoal::gmm::initialization::model;
  options.start = truth;
  // Every mean a quarter of a deviation off, in a direction of its own.
  for (std::size_t i = 0; i < options.start.means.size(); ++i) {
    options.start.means[i] += (i * 2654435761U >> 7 & 1) != 0 ? 0.25 : -0.25;
  }
  options.max_iterations = 20;
  options.tolerance = 0;
  options.device.cuda = {0};
  const auto fitted = [&](shoal::precision precision) {
    options.device.precision = precision;
    const auto model = shoal::gmm::fit(source, options).model;
    return shoal::gmm::predict(model, source, {}, 0, 0, nullptr, {}, {{0}, 0, shoal::precision::float32});
  };
  const double fine = fitted(shoal::precision::float32);
  const double coarse = fitted(shoal::precision::tf32);
  std::printf("%-9s %8zu x %3zu K=%4zu spread %3.1f: %.6f, tf32 %.6f, difference %.1e\n", checks::name(type).c_str(),
              rows, columns, components, spread, fine, coarse, coarse - fine);
  std::fflush(stdout);
}

}  // namespace

int main() {
  for (const double spread : {0.3, 1.0, 3.0}) {
    compare(covariance_type::full, 100000, 32, 64, spread);
    compare(covariance_type::full, 60000, 128, 24, spread);
    compare(covariance_type::full, 100000, 54, 7, spread);
    compare(covariance_type::tied, 100000, 32, 64, spread);
    compare(covariance_type::diag, 60000, 128, 256, spread);
    compare(covariance_type::spherical, 60000, 64, 128, spread);
  }
}
