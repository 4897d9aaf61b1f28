// Maps on a GPU whose products are rounded by name: the unit of a row is nearly as near as the nearest, by a proved
// bound.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/som/predict.hpp>

#include "../../cuda_devices.hpp"
#include "../som_reference.hpp"

namespace {

namespace som = shoal::som;
using som_reference::clouds;
using som_reference::random_map;
using som_reference::table;

struct roundings {
  shoal::precision precision;
  double unit;  // of a factor, relative
};
constexpr roundings rough[] = {{shoal::precision::tf32, 0x1p-11}, {shoal::precision::bf16, 0x1p-8}};

std::vector<std::int32_t> units_of(const som::model& map, const table<float>& rows, shoal::precision precision) {
  shoal::device_choice device;
  device.cuda = cuda_devices::first(1);
  device.precision = precision;
  std::vector<std::int32_t> units(rows.rows, -1);
  const shoal::view_source<float> source(rows.view());
  som::predict(map, source, units.data(), 2, 0, nullptr, {}, device);
  return units;
}

std::vector<double> means_of(const table<float>& rows) {
  std::vector<double> means(rows.columns, 0.0);
  for (std::size_t i = 0; i < rows.values.size(); ++i) {
    means[i % rows.columns] += static_cast<double>(rows.values[i]) / static_cast<double>(rows.rows);
  }
  return means;
}

double norm_about(const double* x, const std::vector<double>& centre) {
  double squares = 0;
  for (std::size_t j = 0; j < centre.size(); ++j) squares += (x[j] - centre[j]) * (x[j] - centre[j]);
  return std::sqrt(squares);
}

void expect_nearly_nearest(const som::model& map, const table<float>& rows, const char* what) {
  const std::size_t columns = map.columns;
  const std::vector<double> means = means_of(rows);
  double unit_norm = 0;
  for (std::size_t u = 0; u < map.units(); ++u) {
    unit_norm = std::max(unit_norm, norm_about(map.codebook.data() + u * columns, means));
  }
  const som_reference::matched fact = som_reference::match(map, rows.view());
  for (const auto& [precision, unit] : rough) {
    const std::vector<std::int32_t> units = units_of(map, rows, precision);
    std::size_t others = 0;
    for (std::size_t i = 0; i < rows.rows; ++i) {
      ASSERT_GE(units[i], 0);
      ASSERT_LT(static_cast<std::size_t>(units[i]), map.units());
      others += units[i] != fact.best[i];
      const std::vector<double> x(rows.values.begin() + static_cast<std::ptrdiff_t>(i * columns),
                                  rows.values.begin() + static_cast<std::ptrdiff_t>((i + 1) * columns));
      const double* const own = map.codebook.data() + static_cast<std::size_t>(units[i]) * columns;
      const double norm = norm_about(x.data(), means);
      const double distance = som_reference::distance(som::metric::euclidean, x.data(), own, columns);
      EXPECT_LE(distance * distance - fact.distances[i] * fact.distances[i],
                8.7 * unit * (norm * unit_norm + unit_norm * unit_norm / 2))
          << what << ", row " << i;
    }
    // The rounding is there: rows between two units take either.
    EXPECT_LE(others, rows.rows / (precision == shoal::precision::tf32 ? 20 : 2)) << what;
  }
}

class DeviceMapPrecision : public cuda_devices::on_one_device {};

TEST_F(DeviceMapPrecision, RoughUnitsAreNearlyTheNearest) {
  for (const std::size_t columns : {3, 12, 13, 16, 33, 64, 100, 128, 129, 200}) {
    expect_nearly_nearest(random_map(21, 17, columns, som::lattice::rectangular, false), clouds<float>(1025, columns),
                          "a random map");
  }
}

// As maps of a wide radius are: all units in the middle of the rows.
TEST_F(DeviceMapPrecision, UnitsThatLieTogetherAreToldApart) {
  const table<float> rows = clouds<float>(1025, 20);
  const std::vector<double> means = means_of(rows);
  som::model map = random_map(30, 20, 20, som::lattice::rectangular, false);
  for (std::size_t i = 0; i < map.codebook.size(); ++i) {
    map.codebook[i] = means[i % 20] + 1e-3 * (map.codebook[i] - 4);
  }
  expect_nearly_nearest(map, rows, "units that lie together");
}

TEST_F(DeviceMapPrecision, TheQuantizationErrorIsNearlyTheLeast) {
  for (const som::metric metric : {som::metric::euclidean, som::metric::cosine}) {
    const table<float> rows = clouds<float>(4099, 40);
    const som::model map = random_map(21, 17, 40, som::lattice::rectangular, false, metric);
    const shoal::view_source<float> source(rows.view());
    const double fact = som::predict(map, source, nullptr);
    for (const auto& [precision, unit] : rough) {
      shoal::device_choice device;
      device.cuda = cuda_devices::first(1);
      device.precision = precision;
      const double error = som::predict(map, source, nullptr, 2, 0, nullptr, {}, device);
      EXPECT_GE(error, fact * (1 - 1e-12));
      EXPECT_LE(error, fact * (precision == shoal::precision::tf32 ? 1.002 : 1.02));
    }
  }
}

}  // namespace
