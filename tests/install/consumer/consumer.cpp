// Fits two well separated groups with an installed shoal.
#include <shoal/gmm/gmm.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

int main() {
  std::vector<double> rows;
  for (int i = 0; i < 200; ++i) {
    const double angle = 0.7 * i;
    const double centre = i % 2 == 0 ? 0.0 : 100.0;
    rows.push_back(centre + std::cos(angle));
    rows.push_back(centre + std::sin(angle));
  }
  shoal::gmm::options options;
  options.components = 2;
  const auto fitted = shoal::gmm::fit(shoal::matrix_view<const double>(rows.data(), rows.size() / 2, 2), options);
  const double distance = std::abs(fitted.model.means[0] - fitted.model.means[2]);
  std::printf("distance of the means along the first column: %.6f\n", distance);
  return std::abs(distance - 100.0) < 0.5 && std::abs(fitted.model.weights[0] - 0.5) < 1e-6 ? 0 : 1;
}
