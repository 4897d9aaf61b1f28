// Every kernel of maps on a GPU, on cases that take little arithmetic: under tools that watch each access they end
// soon.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/som/backend.hpp>
#include <shoal/som/distances.hpp>
#include <shoal/som/fit.hpp>
#include <shoal/som/predict.hpp>

#include "../../cuda_devices.hpp"
#include "../som_reference.hpp"

namespace {

namespace som = shoal::som;
using som_reference::apart;
using som_reference::clouds;
using som_reference::metrics;
using som_reference::options_from;
using som_reference::random_map;
using som_reference::table;

shoal::device_choice gpu(std::size_t memory = 0, shoal::precision precision = shoal::precision::float32) {
  shoal::device_choice choice{cuda_devices::first(1), memory};
  choice.precision = precision;
  return choice;
}

template <class Scalar>
class DeviceMapSmall : public cuda_devices::on_one_device {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(DeviceMapSmall, scalars);

template <class Scalar>
void expect_the_hosts_units(const som::model& map, const table<Scalar>& rows, const shoal::device_choice& device) {
  const shoal::view_source<Scalar> source(rows.view());
  std::vector<std::int32_t> here(rows.rows, -1), there(rows.rows, -2);
  som::predict(map, source, here.data());
  som::predict(map, source, there.data(), 1, 0, nullptr, {}, device);
  EXPECT_EQ(there, here) << static_cast<int>(map.metric) << ": " << rows.rows << " x " << rows.columns;
}

// Two blocks of rows against three groups of tiles: tensor cores with the tail in the last chunk of columns and apart,
// with one stage for a group of tiles, two and four; and lists of near units.
TYPED_TEST(DeviceMapSmall, EverySearchFindsTheHostsUnits) {
  for (const som::metric metric : metrics) {
    for (const std::size_t columns : {5, 16, 40, 70, 140}) {
      if (metric != som::metric::euclidean && columns > 16 && columns < 129) continue;
      expect_the_hosts_units(random_map(27, 20, columns, som::lattice::rectangular, false, metric),
                             clouds<TypeParam>(259, columns), gpu());
    }
  }
}

TYPED_TEST(DeviceMapSmall, OneSearchGivesQualityAndUnits) {
  const som::model map = random_map(9, 8, 3, som::lattice::hexagonal, false);
  const table<TypeParam> rows = clouds<TypeParam>(261, 3);
  const shoal::view_source<TypeParam> source(rows.view());
  const auto workers = shoal::make_sequential();
  const auto on = som::make_backend<TypeParam>(gpu(), {{workers.get(), 0, {}}, &source, nullptr});
  std::vector<std::int32_t> expected(rows.rows, -1), units(rows.rows, -2);
  EXPECT_EQ(on->score(map, units.data()).quantization_error, on->predict(map, expected.data()));
  EXPECT_EQ(units, expected);
  EXPECT_EQ(on->score(map).topographic_error, on->score(map, units.data()).topographic_error);
}

TYPED_TEST(DeviceMapSmall, NearTiesOfEveryMetric) {
  for (const som::metric metric : metrics) {
    som::model map = random_map(9, 8, 3, som::lattice::rectangular, false, metric);
    for (std::size_t i = 0; i < map.codebook.size(); ++i) map.codebook[i] = 1 + 1e-9 * static_cast<double>(i * 31 % 97);
    expect_the_hosts_units(map, clouds<TypeParam>(67, 3), gpu());
  }
}

TYPED_TEST(DeviceMapSmall, EveryLatticeAndNeighborhood) {
  const table<TypeParam> rows = clouds<TypeParam>(70, 3);
  const shoal::view_source<TypeParam> source(rows.view());
  for (const auto lattice : {som::lattice::rectangular, som::lattice::hexagonal}) {
    for (const bool toroidal : {false, true}) {
      for (const auto kind : {som::neighborhood::gaussian, som::neighborhood::bubble, som::neighborhood::mexican_hat}) {
        som::options options = options_from(random_map(5, 4, 3, lattice, toroidal));
        options.neighborhood = kind;
        options.radius = som::range{1.3, 1.3};
        const som::fit_result fact = som::fit(source, options);
        options.device = gpu();
        const som::fit_result got = som::fit(source, options);
        EXPECT_LE(apart(got.model.codebook, fact.model.codebook), 1e-11);
        EXPECT_NEAR(got.quality.topographic_error, fact.quality.topographic_error, 1e-12);
      }
    }
  }
}

TYPED_TEST(DeviceMapSmall, StreamedPiecesFromAPrincipalPlane) {
  const std::size_t count = 2 * 4096 + 17, columns = 2;
  const table<TypeParam> rows = clouds<TypeParam>(count, columns);
  const shoal::view_source<TypeParam> source(rows.view());
  som::options options;
  options.width = 4;
  options.height = 3;
  options.epochs = 1;
  options.device = gpu();
  const som::fit_result resident = som::fit(source, options);
  options.device = gpu(2 * 4096 * (columns + 1) * sizeof(TypeParam));
  EXPECT_EQ(som::fit(source, options).model.codebook, resident.model.codebook);
}

// So many rows that those of one label are added up first, of few units and of more: searched by threads, by tensor
// cores and by float16 products.
TYPED_TEST(DeviceMapSmall, RowsThatAreAddedByLabel) {
  for (const std::size_t columns : {5, 17, 20, 140, 260}) {
    for (const std::size_t count : {4095, 4096, 4105, 32'777}) {
      const table<TypeParam> rows = clouds<TypeParam>(count, columns);
      for (const std::size_t width : {1, 4, 5}) {
        expect_the_hosts_units(random_map(width, 2, columns, som::lattice::rectangular, false), rows, gpu());
      }
    }
  }
}

// Sums are of whole numbers: rows that are added by label, of few units, and one by one, in pieces too short for that,
// have the same bits.
TYPED_TEST(DeviceMapSmall, RowsOfFewUnitsHaveOneSum) {
  for (const std::size_t columns : {17, 140, 260}) {
    const table<TypeParam> rows = clouds<TypeParam>(2 * 4096 + 17, columns);
    const shoal::view_source<TypeParam> source(rows.view());
    for (const std::size_t width : {1, 8, 64, 65}) {
      som::options options = options_from(random_map(width, 1, columns, som::lattice::rectangular, false));
      options.epochs = 3;
      options.radius = som::range{1, 1};
      options.device = gpu();
      const som::fit_result resident = som::fit(source, options);
      EXPECT_EQ(som::fit(source, options).model.codebook, resident.model.codebook);
      options.device = gpu(2 * 4096 * (columns + 1) * sizeof(TypeParam));
      const som::fit_result streamed = som::fit(source, options);
      EXPECT_EQ(streamed.model.codebook, resident.model.codebook) << columns << " columns, " << width << " units";
      EXPECT_EQ(streamed.history, resident.history);
    }
  }
}

TYPED_TEST(DeviceMapSmall, DistancesHaveTheHostsBits) {
  const table<TypeParam> rows = clouds<TypeParam>(66, 17);
  const shoal::view_source<TypeParam> source(rows.view());
  for (const som::metric metric : metrics) {
    const som::model map = random_map(9, 8, 17, som::lattice::rectangular, false, metric);
    std::vector<TypeParam> here(rows.rows * map.units(), -1), there(here.size(), -2);
    som::distances(map, source, here.data());
    som::distances(map, source, there.data(), 1, 0, {}, gpu());
    EXPECT_EQ(there, here);
  }
}

TEST(DeviceMapSmallPrecision, RoughProductsFindUnits) {
  SHOAL_NEEDS_DEVICES(1);
  for (const auto precision : {shoal::precision::tf32, shoal::precision::bf16}) {
    for (const std::size_t columns : {5, 16, 40, 70}) {
      const table<float> rows = clouds<float>(259, columns);
      const som::model map = random_map(27, 20, columns, som::lattice::rectangular, false);
      const shoal::view_source<float> source(rows.view());
      const double fact = som::predict(map, source, nullptr);
      EXPECT_LE(som::predict(map, source, nullptr, 1, 0, nullptr, {}, gpu(0, precision)), 1.02 * fact);
    }
  }
}

}  // namespace
