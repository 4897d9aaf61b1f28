#include <cstdio>

#include <shoal/gmm/gmm.hpp>
#include <shoal/io/io.hpp>

int main() {
  const auto data = shoal::open_rows<double>("examples/data/faithful.csv");
  shoal::gmm::options options;
  options.components = 2;
  const auto fitted = shoal::gmm::fit(*data.rows, options);
  for (std::size_t k = 0; k < options.components; ++k) {
    const double* mean = &fitted.model.means[2 * k];
    std::printf("%.0f %% of the eruptions last %.1f minutes and leave %.0f minutes to wait\n",
                100 * fitted.model.weights[k], mean[0], mean[1]);
  }
}
