// Maps on GPUs against the host's and the plain reference: units, quality, epochs, streaming, several GPUs, bits.
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/som/cuda/sum_by_label.hpp>
#include <shoal/som/fit.hpp>
#include <shoal/som/predict.hpp>

#include "../../cuda_devices.hpp"
#include "../som_reference.hpp"

namespace {

namespace som = shoal::som;
using som_reference::apart;
using som_reference::clouds;
using som_reference::metrics;
using som_reference::neighborhoods;
using som_reference::options_from;
using som_reference::random_map;
using som_reference::table;

shoal::device_choice gpus(std::size_t count, std::size_t memory = 0,
                          shoal::precision precision = shoal::precision::float32) {
  shoal::device_choice choice;
  choice.cuda = cuda_devices::first(count);
  choice.memory = memory;
  choice.precision = precision;
  return choice;
}

// Rows with weights, or without.
template <class Scalar>
struct given_rows {
  given_rows(table<Scalar> made, std::vector<Scalar> some_weights = {})
      : rows(std::move(made)),
        weights(std::move(some_weights)),
        source(rows.view()),
        weight_source({weights.data(), weights.size(), 1}) {}
  const shoal::row_source<Scalar>* weighting() const { return weights.empty() ? nullptr : &weight_source; }

  table<Scalar> rows;
  std::vector<Scalar> weights;
  shoal::view_source<Scalar> source;
  shoal::view_source<Scalar> weight_source;
};

template <class Scalar>
std::vector<Scalar> some_weights(std::size_t rows) {
  std::vector<Scalar> weights;
  for (std::size_t i = 0; i < rows; ++i) weights.push_back(static_cast<Scalar>(i % 4) / 3);
  return weights;
}

struct matched {
  std::vector<std::int32_t> units;
  double error = 0;
  som::quality quality;
};

template <class Scalar>
matched match(const som::model& map, const given_rows<Scalar>& data, const shoal::device_choice& device) {
  matched found;
  found.units.resize(data.rows.rows, -7);
  found.error = som::predict(map, data.source, found.units.data(), 2, 0, data.weighting(), {}, device);
  found.quality = som::score(map, data.source, 2, 0, data.weighting(), {}, device);
  return found;
}

// The host decides by the same definition, so units are the same; sums differ in their order.
template <class Scalar>
void expect_like_host(const som::model& map, const given_rows<Scalar>& data, const std::string& what,
                      const shoal::device_choice& device = gpus(1)) {
  const matched got = match(map, data, device), fact = match(map, data, {});
  std::size_t different = 0;
  for (std::size_t i = 0; i < got.units.size(); ++i) different += got.units[i] != fact.units[i];
  ASSERT_EQ(different, 0u) << what;
  const double small = 1e-12 * (1 + std::abs(fact.error));
  EXPECT_NEAR(got.error, fact.error, small) << what;
  EXPECT_NEAR(got.quality.quantization_error, fact.quality.quantization_error, small) << what;
  EXPECT_NEAR(got.quality.topographic_error, fact.quality.topographic_error, 1e-12) << what;
  EXPECT_LE(apart(got.quality.hits, fact.quality.hits), 1e-9 * static_cast<double>(data.rows.rows)) << what;
}

template <class Scalar>
class DeviceMap : public cuda_devices::on_one_device {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(DeviceMap, scalars);

TYPED_TEST(DeviceMap, UnitsAndQualityAreTheHosts) {
  for (const som::metric metric : metrics) {
    for (const std::size_t columns :
         {1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 15, 16, 17, 33, 60, 64, 65, 93, 127, 128, 129, 192, 200, 257, 768}) {
      for (const std::size_t rows : {1, 63, 257, 4099}) {
        if (rows > 257 && columns > 64 && columns % 64 > 1) continue;  // keep the host's part short
        const std::size_t side = columns % 2 == 0 ? 17 : 8;
        const auto lattice = columns % 3 == 0 ? som::lattice::hexagonal : som::lattice::rectangular;
        const bool toroidal = columns % 4 == 0;
        const given_rows<TypeParam> data(clouds<TypeParam>(rows, columns, 0, rows + columns),
                                         rows % 2 == 0 ? some_weights<TypeParam>(rows) : std::vector<TypeParam>{});
        expect_like_host(
            random_map(side, 18, columns, lattice, toroidal, metric), data,
            std::to_string(static_cast<int>(metric)) + ": " + std::to_string(rows) + " x " + std::to_string(columns));
      }
    }
  }
}

// More rows than a GPU has blocks for, and more tiles of units than shared memory holds.
TEST(DeviceMapShapes, ManyRowsAndManyUnits) {
  SHOAL_NEEDS_DEVICES(1);
  for (const std::size_t columns : {12, 24, 40, 64, 80, 128, 144, 256}) {
    const given_rows<float> data(clouds<float>(40'009, columns));
    expect_like_host(random_map(47, 40, columns, som::lattice::rectangular, false), data, std::to_string(columns));
  }
}

TYPED_TEST(DeviceMap, NearTiesAndFarData) {
  for (const som::metric metric : metrics) {
    // Units that are rows, some of them twice, and units of one value far from zero: many exact and near ties.
    const given_rows<TypeParam> data(clouds<TypeParam>(3001, 7));
    som::model map = random_map(40, 30, 7, som::lattice::rectangular, false, metric);
    for (std::size_t u = 0; u < map.units(); ++u) {
      for (std::size_t j = 0; j < 7; ++j) {
        map.codebook[u * 7 + j] = static_cast<double>(data.rows.values[(u / 2) * 7 + j]);
      }
    }
    expect_like_host(map, data, "units that are rows");
    for (std::size_t u = 0; u < map.units(); ++u) {
      for (std::size_t j = 0; j < 7; ++j) map.codebook[u * 7 + j] = 1 + 1e-9 * static_cast<double>((u * 31 + j) % 97);
    }
    expect_like_host(map, data, "units that are nearly the same");
    for (const double offset : {1e4, 1e6}) {
      const given_rows<TypeParam> far(clouds<TypeParam>(1025, 20, offset));
      expect_like_host(random_map(9, 31, 20, som::lattice::hexagonal, false, metric, offset), far, "far from zero");
    }
    for (const double scale : {1e-22, 1e-36, 3e18, 1e30}) {
      auto made = clouds<TypeParam>(515, 20);
      for (TypeParam& value : made.values) value = static_cast<TypeParam>(static_cast<double>(value) * scale);
      som::model scaled = random_map(9, 31, 20, som::lattice::rectangular, false, metric);
      for (double& value : scaled.codebook) value *= scale;
      const given_rows<TypeParam> given(std::move(made));
      const matched got = match(scaled, given, gpus(1)), fact = match(scaled, given, {});
      EXPECT_EQ(got.units, fact.units) << scale;
    }
  }
}

// Beyond 128 columns a search lists the units that may be nearest; here it lists many, or all.
TYPED_TEST(DeviceMap, NearTiesAndFarDataOfWideRows) {
  const std::size_t columns = 200;
  for (const som::metric metric : {som::metric::euclidean, som::metric::cosine}) {
    const given_rows<TypeParam> data(clouds<TypeParam>(1031, columns));
    som::model map = random_map(30, 20, columns, som::lattice::rectangular, false, metric);
    for (std::size_t u = 0; u < map.units(); ++u) {
      for (std::size_t j = 0; j < columns; ++j) {
        map.codebook[u * columns + j] = static_cast<double>(data.rows.values[(u / 2) * columns + j]);
      }
    }
    expect_like_host(map, data, "units that are rows");
    for (const double spread : {1e-9, 1e-4, 0.02}) {
      for (std::size_t u = 0; u < map.units(); ++u) {
        for (std::size_t j = 0; j < columns; ++j) {
          map.codebook[u * columns + j] = 1 + spread * static_cast<double>((u * 31 + j * j) % 97);
        }
      }
      expect_like_host(map, data, "units that are nearly the same");
    }
    for (const double offset : {1e4, 1e6}) {
      const given_rows<TypeParam> far(clouds<TypeParam>(515, columns, offset));
      expect_like_host(random_map(9, 31, columns, som::lattice::hexagonal, false, metric, offset), far,
                       "far from zero");
    }
    for (const double scale : {1e-22, 1e-36, 3e18, 1e30}) {
      auto made = clouds<TypeParam>(515, columns);
      for (TypeParam& value : made.values) value = static_cast<TypeParam>(static_cast<double>(value) * scale);
      som::model scaled = random_map(9, 31, columns, som::lattice::rectangular, false, metric);
      for (double& value : scaled.codebook) value *= scale;
      const given_rows<TypeParam> given(std::move(made));
      const matched got = match(scaled, given, gpus(1)), fact = match(scaled, given, {});
      EXPECT_EQ(got.units, fact.units) << scale;
    }
  }
}

// Rows that are kept as float16 numbers and rows that are converted anew in each epoch.
TYPED_TEST(DeviceMap, StreamedWideRowsGiveTheBitsOfResidentOnes) {
  const std::size_t rows = 3 * 4096 + 17, columns = 200;
  const given_rows<TypeParam> data(clouds<TypeParam>(rows, columns), some_weights<TypeParam>(rows));
  som::options options;
  options.width = 20;
  options.height = 16;
  options.epochs = 4;
  options.device = gpus(1);
  const som::fit_result resident = som::fit(data.source, options, data.weighting());
  options.device.memory = 2 * 4096 * (columns + 1) * sizeof(TypeParam);
  const som::fit_result streamed = som::fit(data.source, options, data.weighting());
  EXPECT_EQ(streamed.model.codebook, resident.model.codebook);
  EXPECT_EQ(streamed.history, resident.history);
}

TYPED_TEST(DeviceMap, EpochsAreTheReferences) {
  for (const som::metric metric : metrics) {
    for (const som::neighborhood kind : neighborhoods) {
      for (const auto lattice : {som::lattice::rectangular, som::lattice::hexagonal}) {
        for (const bool toroidal : {false, true}) {
          for (const double cutoff : {0.0, 1.5}) {
            const bool weighted = toroidal != (cutoff > 0);
            const std::size_t columns = toroidal ? 3 : 5;
            const given_rows<TypeParam> data(clouds<TypeParam>(701, columns),
                                             weighted ? some_weights<TypeParam>(701) : std::vector<TypeParam>{});
            const som::model map = random_map(9, 8, columns, lattice, toroidal, metric);
            for (const double radius : {2.3, 0.7, 0.0}) {
              som::options options = options_from(map);
              options.neighborhood = kind;
              options.cutoff = cutoff;
              options.radius = som::range{radius, radius};
              options.device = gpus(1);
              const som::fit_result got = som::fit(data.source, options, data.weighting());
              const matched fact = match(map, data, {});
              const std::vector<double> expected =
                  som_reference::batch_epoch(map, data.rows.view(), fact.units,
                                             data.weights.empty() ? nullptr : &data.weights, kind, radius, cutoff);
              EXPECT_LE(apart(got.model.codebook, expected), 1e-11)
                  << static_cast<int>(metric) << ", " << static_cast<int>(kind) << ", radius " << radius
                  << (lattice == som::lattice::hexagonal ? ", hexagonal" : "") << (toroidal ? ", toroidal" : "");
              EXPECT_NEAR(got.history.at(0), fact.error, 1e-12 * (1 + fact.error));
            }
          }
        }
      }
    }
  }
}

TYPED_TEST(DeviceMap, WholeFitsEndWhereTheHostsDo) {
  for (const som::metric metric : metrics) {
    for (const auto init : {som::initialization::principal_plane, som::initialization::sampled_rows,
                            som::initialization::random_values}) {
      const given_rows<TypeParam> data(clouds<TypeParam>(2003, 6, 3), some_weights<TypeParam>(2003));
      som::options options;
      options.width = 13;
      options.height = 11;
      options.metric = metric;
      options.init = init;
      options.seed = 5;
      options.epochs = 12;
      const som::fit_result fact = som::fit(data.source, options, data.weighting());
      options.device = gpus(1);
      const som::fit_result got = som::fit(data.source, options, data.weighting());
      EXPECT_EQ(got.epochs, 12u);
      ASSERT_EQ(got.history.size(), fact.history.size());
      // Rounding may give single rows to other units on the way.
      for (std::size_t e = 0; e < fact.history.size(); ++e) {
        EXPECT_NEAR(got.history[e], fact.history[e], 2e-3 * fact.history[e]) << "epoch " << e;
      }
      EXPECT_NEAR(got.quality.quantization_error, fact.quality.quantization_error,
                  5e-3 * fact.quality.quantization_error);
      EXPECT_EQ(som::fit(data.source, options, data.weighting()).model.codebook, got.model.codebook);
    }
  }
}

TYPED_TEST(DeviceMap, PrincipalPlanesAreTheHosts) {
  for (const std::size_t columns : {1, 2, 63, 64, 65, 130}) {
    const given_rows<TypeParam> data(clouds<TypeParam>(3 * 4096 + 5, columns, 100),
                                     some_weights<TypeParam>(3 * 4096 + 5));
    som::options options;
    options.width = 9;
    options.height = 4;
    options.epochs = 1;
    options.radius = som::range{2, 2};
    const som::fit_result fact = som::fit(data.source, options, data.weighting());
    for (const std::size_t memory : {std::size_t{0}, 2 * 4096 * (columns + 1) * sizeof(TypeParam)}) {
      options.device = gpus(1, memory);
      const som::fit_result got = som::fit(data.source, options, data.weighting());
      EXPECT_NEAR(got.history.at(0), fact.history.at(0), 1e-9 * fact.history.at(0)) << columns;
      EXPECT_LE(apart(got.model.codebook, fact.model.codebook), 1e-6) << columns;
    }
  }
}

TYPED_TEST(DeviceMap, StreamedRowsGiveTheBitsOfResidentOnes) {
  const std::size_t rows = 5 * 4096 + 17, columns = 10;
  for (const som::metric metric : {som::metric::euclidean, som::metric::chebyshev}) {
    const given_rows<TypeParam> data(clouds<TypeParam>(rows, columns), some_weights<TypeParam>(rows));
    som::options options;
    options.width = 20;
    options.height = 16;
    options.lattice = som::lattice::hexagonal;
    options.metric = metric;
    options.epochs = 5;
    options.device = gpus(1);
    const som::fit_result resident = som::fit(data.source, options, data.weighting());
    options.device.memory = 2 * 4096 * (columns + 1) * sizeof(TypeParam);
    const som::fit_result streamed = som::fit(data.source, options, data.weighting());
    EXPECT_EQ(streamed.model.codebook, resident.model.codebook);
    EXPECT_EQ(streamed.history, resident.history);
    EXPECT_EQ(streamed.quality.topographic_error, resident.quality.topographic_error);
    std::vector<std::int32_t> here(rows), there(rows);
    som::predict(resident.model, data.source, here.data(), 2, 0, nullptr, {}, gpus(1));
    som::predict(resident.model, data.source, there.data(), 2, 0, nullptr, {}, options.device);
    EXPECT_EQ(here, there);
  }
}

// Of so many resident rows those of one label are added up before they go to the sums; pieces of a stream are so short
// that their rows go there one by one.
TYPED_TEST(DeviceMap, RowsThatAreAddedByLabelGiveTheBitsOfRowsOneByOne) {
  const std::size_t rows = 8 * 4096 + 4099;
  for (const std::size_t columns : {1, 3, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 96, 97, 128, 129, 200, 257, 300}) {
    const given_rows<TypeParam> data(
        clouds<TypeParam>(rows, columns, columns % 3 == 0 ? 1e4 : 0, columns),
        columns % 2 == 0 || columns == 97 ? some_weights<TypeParam>(rows) : std::vector<TypeParam>{});
    for (const std::size_t units : {1, 2, 10, 33, 256, 257}) {
      if (units > 33 && columns % 8 != 1) continue;
      som::options options;
      options.metric = units == 10 && columns > 64 ? som::metric::cosine : som::metric::euclidean;
      options.width = units;
      options.height = 1;
      options.epochs = 2;
      options.radius = som::range{1, 1};
      options.init = som::initialization::codebook;
      options.codebook =
          random_map(units, 1, columns, som::lattice::rectangular, false, options.metric, columns % 3 == 0 ? 1e4 : 0)
              .codebook;
      options.device = gpus(1);
      const som::fit_result by_label = som::fit(data.source, options, data.weighting());
      options.device.memory = 2 * 4096 * (columns + 1) * sizeof(TypeParam);
      const som::fit_result one_by_one = som::fit(data.source, options, data.weighting());
      const std::string what = std::to_string(columns) + " columns, " + std::to_string(units) + " units";
      EXPECT_EQ(one_by_one.model.codebook, by_label.model.codebook) << what;
      EXPECT_EQ(one_by_one.history, by_label.history) << what;
      EXPECT_EQ(one_by_one.quality.hits, by_label.quality.hits) << what;
    }
  }
}

// Beside few units searches decide rows that are added by label, and what they leave in doubt is measured: by narrow
// tiles and wide ones, with units that several warps prepare, and exact and near ties of two units and of more.
TYPED_TEST(DeviceMap, FewUnitsOfWideRowsAreTheHosts) {
  const std::size_t rows = 8 * 4096 + 41;
  const std::vector<std::pair<std::size_t, std::vector<std::size_t>>> shapes = {{17, {2, 16, 17, 64, 65, 128, 129}},
                                                                                {65, {3, 64, 65}},
                                                                                {129, {16, 17, 64, 65, 127}},
                                                                                {257, {33, 63}},
                                                                                {513, {2, 31}},
                                                                                {1025, {15}}};
  for (const auto& [columns, counts] : shapes) {
    const auto made = clouds<TypeParam>(rows, columns);
    const shoal::view_source<TypeParam> source(made.view());
    for (const std::size_t units : counts) {
      som::model map = random_map(units, 1, columns, som::lattice::rectangular, false);
      const auto expect_the_hosts = [&](const char* what) {
        std::vector<std::int32_t> here(rows, -1), there(rows, -2);
        som::predict(map, source, here.data(), 2);
        som::predict(map, source, there.data(), 1, 0, nullptr, {}, gpus(1));
        EXPECT_EQ(there, here) << what << ", " << columns << " columns, " << units << " units";
      };
      expect_the_hosts("random units");
      for (const std::size_t alike : {2, 3}) {
        for (std::size_t u = 0; u < units; ++u) {
          for (std::size_t j = 0; j < columns; ++j) {
            map.codebook[u * columns + j] = static_cast<double>(made.values[u / alike * columns + j]);
          }
        }
        expect_the_hosts("units that are rows");
      }
      for (const double spread : {1e-9, 1e-4}) {
        for (std::size_t u = 0; u < units; ++u) {
          for (std::size_t j = 0; j < columns; ++j) {
            map.codebook[u * columns + j] = 1 + spread * static_cast<double>((u * 31 + j * j) % 97);
          }
        }
        expect_the_hosts("units that are nearly the same");
      }
    }
  }
}

// Wide rows of whole 16 bytes are fetched ahead where they are added by label: on both sides of the numbers of columns
// from which on they are, and at which warps share them otherwise, with long runs of a label and short ones.
TYPED_TEST(DeviceMap, FetchedRowsGiveTheBitsOfStreamedRows) {
  for (const std::size_t columns : {256, 260, 516, 896, 900, 1152, 1156, 1920, 1924}) {
    const std::size_t rows = 8 * 4096 + 67, units = columns % 128 == 0 ? 10 : 150;
    table<TypeParam> made{rows, columns, std::vector<TypeParam>(rows * columns)};
    for (std::size_t i = 0; i < made.values.size(); ++i) {
      made.values[i] = static_cast<TypeParam>(i * 2654435761U % 4294967291U >> 12) / 65536;
    }
    const given_rows<TypeParam> data(std::move(made),
                                     columns % 128 == 0 ? std::vector<TypeParam>{} : some_weights<TypeParam>(rows));
    som::options options;
    options.width = units / 2;
    options.height = 2;
    options.epochs = 2;
    options.radius = som::range{1, 1};
    options.init = som::initialization::codebook;
    options.codebook = random_map(units / 2, 2, columns, som::lattice::rectangular, false).codebook;
    options.device = gpus(1);
    const som::fit_result at_once = som::fit(data.source, options, data.weighting());
    options.device.memory = 2 * 4096 * (columns + 1) * sizeof(TypeParam);
    const som::fit_result streamed = som::fit(data.source, options, data.weighting());
    EXPECT_EQ(streamed.history, at_once.history) << columns;
    EXPECT_EQ(streamed.model.codebook, at_once.model.codebook) << columns;
    EXPECT_EQ(streamed.quality.hits, at_once.quality.hits) << columns;
  }
}

// Tiles of rows are cut so that all multiprocessors end together, whatever the number of rows.
TYPED_TEST(DeviceMap, TilesOfAnySizeGiveTheBitsOfStreamedRows) {
  for (const std::size_t columns : {65, 129, 769}) {
    const std::size_t rows = 9 * 4096 + 4099, units = 10;
    const given_rows<TypeParam> data(clouds<TypeParam>(rows, columns), some_weights<TypeParam>(rows));
    som::options options = options_from(random_map(units / 2, 2, columns, som::lattice::rectangular, false));
    options.epochs = 3;
    options.device = gpus(1);
    const som::fit_result at_once = som::fit(data.source, options, data.weighting());
    options.device.memory = 4 * 4096 * (columns + 1) * sizeof(TypeParam);
    const som::fit_result streamed = som::fit(data.source, options, data.weighting());
    EXPECT_EQ(streamed.history, at_once.history) << columns;
    EXPECT_EQ(streamed.model.codebook, at_once.model.codebook) << columns;
  }
}

// Of so many rows that tiles are long half a warp adds up one of 17 to 32 columns, with the bits of a whole one.
TYPED_TEST(DeviceMap, LongTilesGiveTheBitsOfStreamedRows) {
  const std::size_t rows = 4 * 132 * 1024 + 4099, units = 10;
  for (const std::size_t columns : {17, 32}) {
    const given_rows<TypeParam> data(clouds<TypeParam>(rows, columns),
                                     columns == 17 ? some_weights<TypeParam>(rows) : std::vector<TypeParam>{});
    som::options options = options_from(random_map(units / 2, 2, columns, som::lattice::rectangular, false));
    options.epochs = 2;
    options.device = gpus(1);
    const som::fit_result at_once = som::fit(data.source, options, data.weighting());
    options.device.memory = 4 * 4096 * (columns + 1) * sizeof(TypeParam);
    const som::fit_result streamed = som::fit(data.source, options, data.weighting());
    EXPECT_EQ(streamed.history, at_once.history) << columns;
    EXPECT_EQ(streamed.model.codebook, at_once.model.codebook) << columns;
  }
}

// Beyond the columns that are measured by label, beside so few units that a search decides them.
TYPED_TEST(DeviceMap, FewUnitsOfVeryManyColumnsAreMeasured) {
  const std::size_t rows = 8 * 4096 + 4099, columns = 2049, units = 4;
  const given_rows<TypeParam> data(clouds<TypeParam>(rows, columns));
  som::options options;
  options.width = units;
  options.height = 1;
  options.epochs = 2;
  options.radius = som::range{1, 1};
  options.init = som::initialization::codebook;
  options.codebook =
      random_map(units, 1, columns, som::lattice::rectangular, false, som::metric::euclidean, 0).codebook;
  options.device = gpus(1);
  const som::fit_result at_once = som::fit(data.source, options, data.weighting());
  options.device.memory = 2 * 4096 * (columns + 1) * sizeof(TypeParam);
  const som::fit_result streamed = som::fit(data.source, options, data.weighting());
  EXPECT_GT(at_once.quality.quantization_error, 0);
  EXPECT_EQ(streamed.history, at_once.history);
  EXPECT_EQ(streamed.model.codebook, at_once.model.codebook);
}

// Tiles grow with the rows; what a block keeps of a tile grows with the columns too.
TEST(SumByLabel, TilesFitIntoSharedMemory) {
  for (const std::size_t shared_bytes : {99U << 10, 163U << 10, 227U << 10}) {
    for (const std::size_t rows : {32768U, 540672U, 1081344U, 2162688U, 10000000U}) {
      for (const int columns : {1, 128, 129, 513, 768, 769, 1024, 1664, 1665, 2048, 2049, 4096}) {
        const int chunk = som::distance_columns(columns);
        const int chunks = som::measures_by_label(som::metric::euclidean, columns) ? (columns + chunk - 1) / chunk : 0;
        for (const std::size_t bytes : {sizeof(float), sizeof(double)}) {
          for (const bool fetches : {false, true}) {
            const auto values = static_cast<std::size_t>(
                som::summed_tile_rows(rows, 200, columns, som::metric::euclidean, bytes, 132, shared_bytes, fetches));
            EXPECT_GE(values, 256U);
            const auto tile_rows = [&](std::size_t of_rows, int units) {
              return som::summed_tile_rows(of_rows, units, columns, som::metric::euclidean, bytes, 132, shared_bytes,
                                           fetches);
            };
            EXPECT_EQ(tile_rows(32767, 65), 0);
            EXPECT_EQ(tile_rows(8191, 9), 0);
            EXPECT_GE(tile_rows(8192, 64), 64);
            EXPECT_EQ(tile_rows(4095, 8), 0);
            EXPECT_GE(tile_rows(4096, 8), 64);
            EXPECT_LE((values + 200) * 4 + static_cast<std::size_t>(chunks) * values * 8, shared_bytes)
                << rows << " rows, " << columns << " columns";
          }
        }
      }
    }
  }
}

// Small maps are smoothed by one kernel, a block of which has 31 columns: on both sides of the most units, and of that.
TYPED_TEST(DeviceMap, SmallMapsAreSmoothedLikeTheHosts) {
  const std::size_t rows = 700;
  const std::vector<std::pair<std::size_t, std::size_t>> shapes = {{1, 1},  {2, 1},  {5, 2},  {3, 11}, {33, 1},
                                                                   {1, 33}, {17, 2}, {1, 34}, {8, 8}};
  for (const std::size_t columns : {1, 30, 31, 32, 63}) {
    const given_rows<TypeParam> data(clouds<TypeParam>(rows, columns), some_weights<TypeParam>(rows));
    for (const auto& [width, height] : shapes) {
      for (const bool toroidal : {false, true}) {
        som::options options;
        options.width = width;
        options.height = height;
        options.toroidal = toroidal;
        options.epochs = 6;
        options.radius = som::range{2, 0.5};
        options.init = som::initialization::codebook;
        options.codebook = random_map(width, height, columns, som::lattice::rectangular, toroidal).codebook;
        const som::fit_result host = som::fit(data.source, options, data.weighting());
        options.device = gpus(1);
        const som::fit_result device = som::fit(data.source, options, data.weighting());
        EXPECT_LE(apart(device.model.codebook, host.model.codebook), 1e-10)
            << width << " x " << height << " units, " << columns << " columns";
        EXPECT_EQ(device.history.size(), host.history.size());
      }
    }
  }
}

TYPED_TEST(DeviceMap, TwoGpusAgreeWithOne) {
  SHOAL_NEEDS_DEVICES(2);
  const std::size_t rows = 7 * 4096 + 17, columns = 10;
  const given_rows<TypeParam> data(clouds<TypeParam>(rows, columns), some_weights<TypeParam>(rows));
  for (const som::neighborhood kind : {som::neighborhood::gaussian, som::neighborhood::mexican_hat}) {
    som::options options;
    options.width = 20;
    options.height = 16;
    options.neighborhood = kind;
    options.epochs = 5;
    options.device = gpus(1);
    const som::fit_result one = som::fit(data.source, options, data.weighting());
    options.device = gpus(2);
    const som::fit_result two = som::fit(data.source, options, data.weighting());
    EXPECT_LE(apart(two.model.codebook, one.model.codebook), 1e-9);
    EXPECT_EQ(som::fit(data.source, options, data.weighting()).model.codebook, two.model.codebook);
    expect_like_host(one.model, data, "two GPUs", gpus(2));
  }
}

TYPED_TEST(DeviceMap, DegenerateData) {
  // One row, and more units than rows.
  const given_rows<TypeParam> one(table<TypeParam>{1, 3, {1, 2, 3}});
  som::options options;
  options.width = 7;
  options.height = 5;
  options.device = gpus(1);
  const som::fit_result fitted = som::fit(one.source, options);
  EXPECT_EQ(fitted.quality.quantization_error, 0);
  for (std::size_t i = 0; i < fitted.model.codebook.size(); ++i) {
    EXPECT_EQ(fitted.model.codebook[i], static_cast<double>(i % 3 + 1));
  }
  // A constant column, rows of zeros under the cosine.
  table<TypeParam> made = clouds<TypeParam>(500, 4);
  for (std::size_t i = 0; i < made.rows; ++i) made.values[i * 4 + 2] = static_cast<TypeParam>(0.1);
  for (std::size_t i = 0; i < made.rows; i += 3) {
    for (std::size_t j = 0; j < 4; ++j) made.values[i * 4 + j] = 0;
  }
  const given_rows<TypeParam> data(std::move(made));
  for (const som::metric metric : metrics) {
    som::model map = random_map(6, 6, 4, som::lattice::rectangular, false, metric);
    for (std::size_t j = 0; j < 4; ++j) map.codebook[4 * 4 + j] = 0;
    expect_like_host(map, data, "rows of zeros");
  }
  // A map of one unit.
  expect_like_host(random_map(1, 1, 4, som::lattice::rectangular, false), data, "one unit");
  // What is refused.
  options.training = som::training::online;
  EXPECT_THROW(som::fit(data.source, options), shoal::bad_argument);
  options.training = som::training::batch;
  table<TypeParam> broken = clouds<TypeParam>(50, 4);
  broken.values[77] = std::numeric_limits<TypeParam>::quiet_NaN();
  const given_rows<TypeParam> bad(std::move(broken));
  EXPECT_THROW(som::fit(bad.source, options), shoal::bad_data);
}

// The device says that a number is not finite, the host which.
TEST(DeviceMapRange, NamesTheUnitThatLeavesIt) {
  SHOAL_NEEDS_DEVICES(1);
  const table<float> rows = clouds<float>(400, 2);
  const shoal::view_source<float> source(rows.view());
  som::options options;
  options.width = 6;
  options.height = 5;
  options.neighborhood = som::neighborhood::mexican_hat;
  options.radius = som::range{2, 2};
  options.epochs = 5000;
  options.device = gpus(1);
  try {
    som::fit(source, options);
    FAIL() << "nothing left the range";
  } catch (const shoal::numerical_error& failure) {
    EXPECT_NE(std::string(failure.what()).find("without negative parts"), std::string::npos) << failure.what();
  }
}

// Sums are whole numbers: an outlier takes no digits from the other rows.
TEST(DeviceMapSums, KeepSmallRowsBesideOutliers) {
  SHOAL_NEEDS_DEVICES(1);
  table<float> made = clouds<float>(4099, 3);
  made.values[0] = 1e9f;
  const given_rows<float> data(std::move(made));
  som::model map = random_map(5, 4, 3, som::lattice::rectangular, false);
  map.codebook[0] = 1e9;
  som::options options = options_from(map);
  options.radius = som::range{0, 0};
  const som::fit_result fact = som::fit(data.source, options);
  options.device = gpus(1);
  const som::fit_result got = som::fit(data.source, options);
  EXPECT_LE(apart(got.model.codebook, fact.model.codebook), 1e-6);
}

TEST(DeviceMapPrecision, ValuesBeyondFloat32sRangeStillHaveUnits) {
  SHOAL_NEEDS_DEVICES(1);
  for (const double scale : {1e-22, 3e18, 1e30}) {
    auto made = clouds<float>(515, 20);
    for (float& value : made.values) value = static_cast<float>(static_cast<double>(value) * scale);
    const given_rows<float> data(std::move(made));
    som::model map = random_map(5, 3, 20, som::lattice::rectangular, false);
    for (double& value : map.codebook) value *= scale;
    for (const auto precision : {shoal::precision::tf32, shoal::precision::bf16}) {
      for (const std::int32_t unit : match(map, data, gpus(1, 0, precision)).units) {
        ASSERT_GE(unit, 0);
        ASSERT_LT(unit, 15);
      }
    }
  }
}

TEST(DeviceMapCheckpoint, AFitThatWasStoppedEndsAsOneThatWasNot) {
  SHOAL_NEEDS_DEVICES(1);
  const given_rows<float> data(clouds<float>(2003, 6));
  som::options options;
  options.epochs = 9;
  options.device = gpus(1);
  const som::fit_result whole = som::fit(data.source, options);
  options.checkpoint = testing::TempDir() + "device_map.checkpoint";
  std::filesystem::remove(options.checkpoint);
  std::stop_source stop;
  shoal::control control;
  control.stop = stop.get_token();
  control.report = [&](const shoal::progress&) { stop.request_stop(); };
  EXPECT_THROW(som::fit(data.source, options, nullptr, control), shoal::interrupted);
  const som::fit_result resumed = som::fit(data.source, options);
  EXPECT_LT(resumed.loop_epochs, 9u);
  EXPECT_EQ(resumed.history, whole.history);
  EXPECT_EQ(resumed.model.codebook, whole.model.codebook);
  std::filesystem::remove(options.checkpoint);
}

}  // namespace
