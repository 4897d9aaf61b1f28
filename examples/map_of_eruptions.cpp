// A self-organizing map of Old Faithful's eruptions, and where two of them lie on it.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <shoal/io/io.hpp>
#include <shoal/som/som.hpp>

int main() {
  const auto data = shoal::open_rows<double>("examples/data/faithful.csv");
  shoal::som::options options;
  options.width = 8;
  options.height = 6;
  options.lattice = shoal::som::lattice::hexagonal;
  const shoal::som::fit_result fitted = shoal::som::fit(*data.rows, options);
  std::printf("quantization error %.2f, topographic error %.1f %%\n", fitted.quality.quantization_error,
              100 * fitted.quality.topographic_error);

  // A short eruption after which people wait little, and a long one.
  const double eruptions[] = {1.8, 54, 4.5, 82};
  const shoal::view_source<double> rows({eruptions, 2, 2});
  std::vector<std::int32_t> units(2);
  shoal::som::predict(fitted.model, rows, units.data());
  const auto width = static_cast<std::int32_t>(options.width);
  for (const std::int32_t unit : units) std::printf("row %d, column %d of the map\n", unit / width, unit % width);
  return units[0] == units[1] ? 1 : 0;
}
