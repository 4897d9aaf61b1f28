// Rows that come in parts, online training, checkpoints, and what labels say of units.
#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/random/stream.hpp>
#include <shoal/som/fit.hpp>
#include <shoal/som/label_units.hpp>
#include <shoal/som/predict.hpp>
#include <shoal/som/update.hpp>

#include "som_reference.hpp"

namespace {

namespace som = shoal::som;
using som_reference::apart;
using som_reference::clouds;
using som_reference::options_from;
using som_reference::random_map;
using som_reference::table;

TEST(SomUpdate, OfAllRowsIsAnEpoch) {
  const table<float> rows = clouds<float>(900, 4);
  for (const som::neighborhood neighborhood : {som::neighborhood::gaussian, som::neighborhood::mexican_hat}) {
    som::model map = random_map(6, 4, 4, som::lattice::hexagonal, true);
    som::options options = options_from(map);
    options.neighborhood = neighborhood;
    options.radius = som::range{1.2, 1.2};
    const som::fit_result epoch = som::fit(rows.view(), options);
    std::vector<std::int32_t> units(rows.rows, -1), expected(rows.rows);
    const shoal::view_source<float> source(rows.view());
    const double error = som::predict(map, source, expected.data());
    const som::model before = map;
    som::update_options step;
    step.neighborhood = neighborhood;
    step.radius = 1.2;
    EXPECT_NEAR(som::update(map, source, step, units.data()), error, 1e-12);
    EXPECT_EQ(units, expected);
    EXPECT_EQ(map.codebook, epoch.model.codebook);
    // A quarter of the way.
    som::model slow = before;
    step.rate = 0.25;
    som::update(slow, source, step);
    std::vector<double> quarter = before.codebook;
    for (std::size_t i = 0; i < quarter.size(); ++i) quarter[i] += 0.25 * (map.codebook[i] - quarter[i]);
    EXPECT_LT(apart(slow.codebook, quarter), 1e-14);
  }
}

TEST(SomUpdate, RefusesAndLeavesTheModelAsItWas) {
  som::model map = random_map(3, 3, 2, som::lattice::rectangular, false);
  const som::model before = map;
  table<double> rows = clouds<double>(20, 2);
  const auto refused = [&](const som::update_options& options) {
    EXPECT_THROW(som::update(map, shoal::view_source<double>(rows.view()), options), shoal::error);
    EXPECT_EQ(map.codebook, before.codebook);
  };
  refused({.rate = 0});
  refused({.rate = 1.5});
  refused({.radius = -1});
  refused({.cutoff = std::nan("")});
  rows.values[3] = std::nan("");
  refused({});
  rows = clouds<double>(20, 3);
  refused({});
}

// By hand: one row, rate ½ and a bubble over all of a 2 × 1 map: every epoch halves the way to the row.
TEST(SomOnline, ByHand) {
  const table<double> rows{1, 1, {8}};
  som::model map{2, 1, 1, som::lattice::rectangular, false, som::metric::euclidean, {0, 4}, {}};
  som::options options = options_from(map);
  options.training = som::training::online;
  options.neighborhood = som::neighborhood::bubble;
  options.radius = som::range{1, 1};
  options.rate = {0.5, 0.5};
  options.epochs = 3;
  const som::fit_result done = som::fit(rows.view(), options);
  EXPECT_EQ(done.model.codebook, (std::vector<double>{7, 7.5}));
  EXPECT_EQ(done.history, (std::vector<double>{4, 2, 1}));
  // A weight of 3 is three visits.
  options.epochs = 1;
  const double three = 3;
  const shoal::view_source<double> source(rows.view()), weight({&three, 1, 1});
  EXPECT_LT(apart(som::fit(source, options, &weight).model.codebook, {7, 7.5}), 1e-15);
}

// The same steps in the same order, by the plain reference's distances and h.
TEST(SomOnline, EqualsTheStepsOneByOne) {
  const table<double> rows = clouds<double>(37, 3);
  for (const som::lattice lattice : {som::lattice::rectangular, som::lattice::hexagonal}) {
    for (const auto metric :
         {som::metric::euclidean, som::metric::taxicab, som::metric::cosine, som::metric::chebyshev}) {
      for (const auto kind : {som::neighborhood::gaussian, som::neighborhood::bubble, som::neighborhood::mexican_hat,
                              som::neighborhood::triangle}) {
        som::model map = random_map(5, 4, 3, lattice, true, metric);
        som::options options = options_from(map);
        options.training = som::training::online;
        options.neighborhood = kind;
        options.cutoff = 2;
        options.radius = som::range{1.5, 1.5};
        options.rate = {0.3, 0.3};
        options.seed = 9;
        const som::fit_result done = som::fit(rows.view(), options);
        // Steps do not commute: the rows come in the order that the seed draws for the only block.
        std::vector<std::size_t> order(rows.rows);
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
        const std::uint64_t id = shoal::random::mix(0x736f6d, 4);
        shoal::random::stream stream(9, shoal::random::mix(shoal::random::mix(id, 0), 0));
        for (std::size_t i = order.size(); i > 1; --i) {
          std::swap(order[i - 1], order[static_cast<std::size_t>(stream.uniform() * static_cast<double>(i))]);
        }
        double error = 0;
        for (const std::size_t i : order) {
          const double* const x = rows.values.data() + 3 * i;
          std::size_t best = 0;
          for (std::size_t u = 1; u < map.units(); ++u) {
            if (som_reference::distance(metric, x, map.codebook.data() + 3 * u, 3) <
                som_reference::distance(metric, x, map.codebook.data() + 3 * best, 3)) {
              best = u;
            }
          }
          error += som_reference::distance(metric, x, map.codebook.data() + 3 * best, 3);
          for (std::size_t u = 0; u < map.units(); ++u) {
            const double pull = 0.3 * som_reference::h(kind, som_reference::lattice_distance(map, u, best), 1.5, 2);
            for (std::size_t j = 0; j < 3; ++j) map.codebook[3 * u + j] += pull * (x[j] - map.codebook[3 * u + j]);
          }
        }
        EXPECT_LT(apart(done.model.codebook, map.codebook), 1e-12)
            << static_cast<int>(metric) << ", " << static_cast<int>(kind);
        EXPECT_NEAR(done.history[0], error / 37, 1e-12);
      }
    }
  }
}

TEST(SomOnline, LearnsAndRepeats) {
  const table<float> rows = clouds<float>(3000, 3);
  som::options options;
  options.training = som::training::online;
  options.epochs = 4;
  options.init = som::initialization::random_values;
  const som::fit_result first = som::fit(rows.view(), options), again = som::fit(rows.view(), options);
  EXPECT_EQ(first.model.codebook, again.model.codebook);
  EXPECT_LT(first.quality.quantization_error, 0.8 * first.history[0]);
  EXPECT_LT(first.quality.topographic_error, 0.2);
  options.seed = 1;
  EXPECT_NE(som::fit(rows.view(), options).model.codebook, first.model.codebook);
}

// Pushing apart may have no end; it is named instead of handed out.
TEST(SomOnline, NamesTheUnitThatLeavesTheRange) {
  const table<double> rows = clouds<double>(400, 2);
  som::options options;
  options.training = som::training::online;
  options.neighborhood = som::neighborhood::mexican_hat;
  options.radius = som::range{2, 2};
  options.rate = {1, 1};
  options.epochs = 200;
  try {
    som::fit(rows.view(), options);
    FAIL() << "nothing left the range";
  } catch (const shoal::numerical_error& failure) {
    EXPECT_NE(std::string(failure.what()).find("without negative parts"), std::string::npos) << failure.what();
  }
}

TEST(SomCheckpoint, AFitThatWasStoppedEndsInTheSameBits) {
  const table<float> rows = clouds<float>(3000, 3);
  const shoal::view_source<float> source(rows.view());
  const auto file = (std::filesystem::path(testing::TempDir()) / "som_checkpoint_test").string();
  for (const som::training training : {som::training::batch, som::training::online}) {
    std::filesystem::remove(file);
    som::options options;
    options.training = training;
    options.epochs = 8;
    const som::fit_result expected = som::fit(source, options);
    options.checkpoint = file;
    options.checkpoint_seconds = 0;
    for (const std::size_t epochs : {1, 4}) {
      std::stop_source stop;
      std::size_t seen = 0;
      const shoal::control control{[&](const shoal::progress& now) {
                                     EXPECT_EQ(now.phase, "som");
                                     if (++seen == epochs) stop.request_stop();
                                   },
                                   stop.get_token()};
      EXPECT_THROW(som::fit(source, options, nullptr, control), shoal::interrupted);
      EXPECT_EQ(seen, epochs);
    }
    const som::fit_result resumed = som::fit(source, options);
    EXPECT_EQ(resumed.loop_epochs, 3u);
    for (const som::fit_result& result : {resumed, som::fit(source, options)}) {  // then finished already
      EXPECT_EQ(result.model.codebook, expected.model.codebook);
      EXPECT_EQ(result.history, expected.history);
      EXPECT_EQ(result.epochs, 8u);
      EXPECT_EQ(result.quality.quantization_error, expected.quality.quantization_error);
    }
    options.radius_decay = som::decay::exponential;
    EXPECT_THROW(som::fit(source, options), shoal::bad_argument);
  }
  std::filesystem::remove(file);
}

TEST(SomLabels, MajorityAndPurityByHand) {
  const som::model map = random_map(2, 2, 1, som::lattice::rectangular, false);
  const std::vector<std::int32_t> units{0, 0, 0, 1, 1, 3};
  const std::vector<std::int64_t> labels{5, 2, 5, 9, 4, 7};
  const som::unit_labels found = som::label_units(map, units.data(), labels.data(), units.size());
  EXPECT_EQ(found.majority, (std::vector<std::int64_t>{5, 4, -1, 7}));
  EXPECT_EQ(found.purity, (std::vector<double>{2.0 / 3, 0.5, 0, 1}));
  EXPECT_EQ(found.overall_purity, 4.0 / 6);
  const std::vector<std::int32_t> outside{4};
  const std::vector<std::int64_t> negative{-1};
  EXPECT_THROW(som::label_units(map, outside.data(), labels.data(), 1), shoal::bad_argument);
  EXPECT_THROW(som::label_units(map, units.data(), negative.data(), 1), shoal::bad_argument);
}

}  // namespace
