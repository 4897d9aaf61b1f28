// A chain of units through Old Faithful's eruptions, and where two of them lie on it.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <shoal/io/io.hpp>
#include <shoal/som/som.hpp>

int main() {
  const auto data = shoal::open_rows<double>("examples/data/faithful.csv");
  shoal::som::options options;
  options.width = 16;
  options.height = 1;
  const shoal::som::fit_result fitted = shoal::som::fit(*data.rows, options);
  std::printf("eruptions lie %.1f from their units, and %.0f %% of them between units that are not neighbours\n",
              fitted.quality.quantization_error, 100 * fitted.quality.topographic_error);

  // A short eruption after which people wait little, and a long one.
  const double eruptions[] = {1.8, 54, 4.5, 82};
  std::vector<std::int32_t> units(2);
  shoal::som::predict(fitted.model, shoal::view_source<double>({eruptions, 2, 2}), units.data());
  std::printf("the short one is nearest to unit %d, the long one to unit %d\n", units[0], units[1]);
  return units[0] == units[1] ? 1 : 0;
}
