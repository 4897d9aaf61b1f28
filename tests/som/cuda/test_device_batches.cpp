// Batches of rows and distances to all units on a GPU against the host's.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/som/distances.hpp>
#include <shoal/som/fit.hpp>
#include <shoal/som/predict.hpp>
#include <shoal/som/update.hpp>

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

shoal::device_choice gpus(std::size_t count = 1, std::size_t memory = 0) {
  return {cuda_devices::first(count), memory};
}

template <class Scalar>
class DeviceMapBatches : public cuda_devices::on_one_device {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(DeviceMapBatches, scalars);

TYPED_TEST(DeviceMapBatches, LeadToTheHostsUnits) {
  for (const som::metric metric : metrics) {
    for (const som::neighborhood kind : {som::neighborhood::gaussian, som::neighborhood::mexican_hat}) {
      for (const double rate : {1.0, 0.3}) {
        const table<TypeParam> rows = clouds<TypeParam>(701, 5);
        std::vector<TypeParam> weights;
        for (std::size_t i = 0; i < rows.rows; ++i) weights.push_back(static_cast<TypeParam>(i % 4) / 3);
        const shoal::view_source<TypeParam> source(rows.view()), weighting({weights.data(), rows.rows, 1});
        som::model here = random_map(9, 8, 5, som::lattice::hexagonal, true, metric), there = here;
        som::update_options options;
        options.neighborhood = kind;
        options.radius = 1.3;
        options.rate = rate;
        std::vector<std::int32_t> here_units(rows.rows, -1), there_units(rows.rows, -2);
        const double fact = som::update(here, source, options, here_units.data(), &weighting);
        options.device = gpus();
        EXPECT_NEAR(som::update(there, source, options, there_units.data(), &weighting), fact, 1e-12 * (1 + fact));
        EXPECT_EQ(there_units, here_units);
        EXPECT_LE(apart(there.codebook, here.codebook), 1e-11) << static_cast<int>(metric) << ", rate " << rate;
      }
    }
  }
}

enum class far_units { none, some, all, at_the_limit };

// Of an update with a mexican hat, which drives some units away from the data, or all; the search leaves out those that
// no row can be near.
template <class Scalar>
void expect_the_hosts_update(const table<Scalar>& rows, double offset, far_units far) {
  const std::size_t columns = rows.columns;
  const shoal::view_source<Scalar> source(rows.view());
  som::model here = random_map(9, 8, columns, som::lattice::rectangular, false, som::metric::euclidean, offset);
  for (std::size_t u = 0; u < here.units(); ++u) {
    // Units in twos have ties.
    for (std::size_t j = 0; j < columns; ++j) {
      double& value = here.codebook[u * columns + j];
      if (u % 2 == 1) value = here.codebook[(u - 1) * columns + j];
      if (u % 2 == 1) continue;
      const double about = offset + 4;
      if (far == far_units::some && u % 6 == 0) value = about + (value - about) * (u == 0 ? 1e30 : 1e3);
      if (far == far_units::all) value = about + 1e5 + 1e3 * (value - about);
      if (far == far_units::at_the_limit) value = about + (value - about) * (1 + 0.1 * static_cast<double>(u));
    }
  }
  som::model there = here;
  std::vector<std::int32_t> here_units(rows.rows, -1), there_units(rows.rows, -2);
  som::update_options options;
  options.neighborhood = som::neighborhood::mexican_hat;
  options.radius = 1.3;
  const double fact = som::update(here, source, options, here_units.data());
  options.device = gpus();
  EXPECT_NEAR(som::update(there, source, options, there_units.data()), fact, 1e-12 * (1 + fact));
  EXPECT_EQ(there_units, here_units) << columns << " columns, " << offset << ", " << static_cast<int>(far);
}

TYPED_TEST(DeviceMapBatches, UnitsFarFromAllRowsHideNoOthers) {
  for (const std::size_t columns : {3, 8, 20, 64, 140, 200}) {
    for (const double offset : {0.0, 1e4}) {
      const table<TypeParam> rows = clouds<TypeParam>(523, columns, offset);
      for (const far_units far : {far_units::none, far_units::some, far_units::all, far_units::at_the_limit}) {
        expect_the_hosts_update(rows, offset, far);
      }
    }
  }
}

// Beside so many rows searches of few units decide them.
TYPED_TEST(DeviceMapBatches, UnitsFarFromManyRowsHideNoOthers) {
  for (const std::size_t columns : {20, 64, 140}) {
    const table<TypeParam> rows = clouds<TypeParam>(32768 + 9, columns);
    for (const far_units far : {far_units::some, far_units::all, far_units::at_the_limit}) {
      expect_the_hosts_update(rows, 0, far);
    }
  }
}

// A fit with a mexican hat leaves them out of the search of the two best units too, which there always are.
TYPED_TEST(DeviceMapBatches, FarUnitsAreNoneOfTheTwoBest) {
  for (const std::size_t columns : {3, 16, 17, 64, 140, 200}) {
    for (const std::size_t near : {0, 1, 2, 70}) {
      const table<TypeParam> rows = clouds<TypeParam>(523, columns);
      const shoal::view_source<TypeParam> source(rows.view());
      som::options options = options_from(random_map(9, 8, columns, som::lattice::rectangular, false));
      for (std::size_t i = near * columns; i < options.codebook.size(); ++i) options.codebook[i] *= 1e3;
      options.neighborhood = som::neighborhood::mexican_hat;
      options.radius = som::range{1.3, 1.3};
      options.epochs = 2;
      options.device = gpus();
      const som::fit_result fitted = som::fit(source, options);
      const som::quality fact = som::score(fitted.model, source);
      EXPECT_NEAR(fitted.quality.topographic_error, fact.topographic_error, 1e-12) << columns << ", " << near;
      EXPECT_NEAR(fitted.quality.quantization_error, fact.quantization_error, 1e-12 * fact.quantization_error);
    }
  }
}

TYPED_TEST(DeviceMapBatches, OfAllRowsIsAnEpoch) {
  const table<TypeParam> rows = clouds<TypeParam>(2 * 4096 + 9, 4);
  const shoal::view_source<TypeParam> source(rows.view());
  som::model map = random_map(6, 4, 4, som::lattice::hexagonal, true);
  som::options options = options_from(map);
  options.radius = som::range{1.2, 1.2};
  options.device = gpus();
  const som::fit_result epoch = som::fit(source, options);
  som::model streamed = map;
  som::update_options step;
  step.radius = 1.2;
  step.device = gpus();
  som::update(map, source, step);
  EXPECT_EQ(map.codebook, epoch.model.codebook);
  step.device = gpus(1, 2 * 4096 * 5 * sizeof(TypeParam));
  som::update(streamed, source, step);
  EXPECT_EQ(streamed.codebook, epoch.model.codebook);
}

TYPED_TEST(DeviceMapBatches, RefuseAndLeaveTheModelAsItWas) {
  som::model map = random_map(3, 3, 2, som::lattice::rectangular, false);
  const som::model before = map;
  table<TypeParam> rows = clouds<TypeParam>(20, 2);
  som::update_options options;
  options.device = gpus();
  options.rate = 0;
  EXPECT_THROW(som::update(map, shoal::view_source<TypeParam>(rows.view()), options), shoal::bad_argument);
  options.rate = 1;
  rows.values[3] = std::numeric_limits<TypeParam>::quiet_NaN();
  EXPECT_THROW(som::update(map, shoal::view_source<TypeParam>(rows.view()), options), shoal::bad_data);
  rows = clouds<TypeParam>(20, 3);
  EXPECT_THROW(som::update(map, shoal::view_source<TypeParam>(rows.view()), options), shoal::bad_argument);
  EXPECT_EQ(map.codebook, before.codebook);
}

template <class Scalar>
void expect_the_hosts_distances(const som::model& map, const table<Scalar>& rows, const shoal::device_choice& device) {
  const shoal::view_source<Scalar> source(rows.view());
  std::vector<Scalar> here(rows.rows * map.units(), -1), there(here.size(), -2);
  som::distances(map, source, here.data());
  som::distances(map, source, there.data(), 2, 0, {}, device);
  std::size_t different = 0;
  for (std::size_t i = 0; i < here.size(); ++i) different += here[i] != there[i];
  EXPECT_EQ(different, 0u) << static_cast<int>(map.metric) << ": " << rows.rows << " x " << rows.columns;
}

TYPED_TEST(DeviceMapBatches, DistancesHaveTheHostsBits) {
  for (const som::metric metric : metrics) {
    for (const std::size_t columns : {1, 15, 16, 17, 65}) {
      for (const std::size_t count : {1, 63, 65, 1031}) {
        table<TypeParam> rows = clouds<TypeParam>(count, columns);
        for (std::size_t j = 0; j < columns; ++j) rows.values[count / 2 * columns + j] = 0;  // the cosine's own case
        expect_the_hosts_distances(random_map(13, 7, columns, som::lattice::rectangular, false, metric), rows, gpus());
      }
    }
    const table<TypeParam> rows = clouds<TypeParam>(3 * 4096 + 5, 9);
    const som::model map = random_map(11, 11, 9, som::lattice::rectangular, false, metric);
    expect_the_hosts_distances(map, rows, gpus(1, 2 * 4096 * 9 * sizeof(TypeParam)));
  }
}

TYPED_TEST(DeviceMapBatches, TwoGpusGiveTheBitsOfDistancesToo) {
  SHOAL_NEEDS_DEVICES(2);
  const table<TypeParam> rows = clouds<TypeParam>(3 * 4096 + 5, 9);
  const som::model map = random_map(11, 11, 9, som::lattice::rectangular, false);
  expect_the_hosts_distances(map, rows, gpus(2));
  som::model here = map, there = map;
  som::update_options options;
  som::update(here, shoal::view_source<TypeParam>(rows.view()), options);
  options.device = gpus(2);
  som::update(there, shoal::view_source<TypeParam>(rows.view()), options);
  EXPECT_LE(apart(there.codebook, here.codebook), 1e-11);
}

}  // namespace
