// Batch training, quality and prediction against the plain reference: sizes, weights, lattices, threads, degenerate
// data.
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/kmeans/fit.hpp>
#include <shoal/som/backend.hpp>
#include <shoal/som/distances.hpp>
#include <shoal/som/fit.hpp>
#include <shoal/som/predict.hpp>
#include <shoal/som/u_matrix.hpp>

#include "../copying_source.hpp"
#include "../thread_sanitizer.hpp"
#include "som_reference.hpp"

namespace {

namespace som = shoal::som;
using som_reference::apart;
using som_reference::clouds;
using som_reference::metrics;
using som_reference::neighborhoods;
using som_reference::options_from;
using som_reference::random_map;
using som_reference::table;

template <class Scalar>
som::fit_result fit(const table<Scalar>& rows, const som::options& options, const std::vector<Scalar>& weights = {}) {
  const shoal::view_source<Scalar> source(rows.view());
  const shoal::view_source<Scalar> weight_source({weights.data(), weights.size(), 1});
  return som::fit(source, options, weights.empty() ? nullptr : &weight_source);
}

template <class Scalar>
class SomFit : public testing::Test {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(SomFit, scalars);

// By hand: rows at the corners of a 2 × 2 map, h = e^(−δ²/2) with σ = 1. Every unit matches one row, so unit 0 goes to
// (1·(0,0) + a·(4,0) + a·(0,4) + b·(4,4)) / (1 + 2a + b) with a = e^(−1/2), b = e^(−1).
TYPED_TEST(SomFit, TwoByTwoByHand) {
  const table<TypeParam> rows{4, 2, {0, 0, 4, 0, 0, 4, 4, 4}};
  som::model map{2, 2, 2, som::lattice::rectangular, false, som::metric::euclidean, {1, 1, 3, 1, 1, 3, 3, 3}, {}};
  som::options options = options_from(map);
  options.radius = som::range{1, 1};
  const som::fit_result done = fit(rows, options);
  const double a = std::exp(-0.5), b = std::exp(-1.0), low = (4 * a + 4 * b) / (1 + 2 * a + b), high = 4 - low;
  EXPECT_LT(apart(done.model.codebook, {low, low, high, low, low, high, high, high}), 1e-15);
  ASSERT_EQ(done.history.size(), 1u);
  EXPECT_NEAR(done.history[0], std::sqrt(2.0), 1e-15);
  EXPECT_NEAR(done.quality.quantization_error, std::sqrt(2.0) * low, 1e-15);
  EXPECT_EQ(done.quality.topographic_error, 0);
  EXPECT_EQ(done.quality.hits, (std::vector<double>{1, 1, 1, 1}));
  EXPECT_EQ(done.rows, 4u);
  EXPECT_EQ(done.epochs, 1u);
}

// By hand: one column, a 3 × 3 map with a bubble of radius 1 (the four nearest and itself), rows at units 0 and 8.
TYPED_TEST(SomFit, ThreeByThreeByHand) {
  const table<TypeParam> rows{3, 1, {0, 0, 80}};
  som::model map{3, 3, 1, som::lattice::rectangular, false, som::metric::euclidean, {0, 10, 20, 30, 40, 50, 60, 70, 80},
                 {}};
  som::options options = options_from(map);
  options.neighborhood = som::neighborhood::bubble;
  options.radius = som::range{1, 1};
  // Units 0, 1 and 3 are near unit 0's two rows; 5, 7 and 8 near unit 8's; nobody pulls at 2, 4 and 6.
  EXPECT_EQ(fit(rows, options).model.codebook, (std::vector<double>{0, 0, 20, 0, 40, 80, 60, 80, 80}));
  options.toroidal = true;
  // Unit 0's neighbours on the torus are 1, 2, 3 and 6, unit 8's are 7, 6, 5 and 2; only 4 is nobody's.
  const double both = 80.0 / 3;
  EXPECT_LT(apart(fit(rows, options).model.codebook, {0, 0, both, 0, 40, 80, both, 80, 80}), 1e-13);
  options.toroidal = false;
  options.radius = som::range{2.5, 2.5};  // all but the opposite corner
  EXPECT_LT(apart(fit(rows, options).model.codebook, {0, both, both, both, both, both, both, both, 80}), 1e-13);
}

// Every lattice, neighbourhood and metric, from the same units as the kernels match.
TYPED_TEST(SomFit, OneEpochEqualsTheReference) {
  const table<TypeParam> rows = clouds<TypeParam>(523, 3);
  std::vector<TypeParam> weights;
  for (std::size_t i = 0; i < rows.rows; ++i) weights.push_back(static_cast<TypeParam>(i % 4));
  for (const som::lattice lattice : {som::lattice::rectangular, som::lattice::hexagonal}) {
    for (const bool toroidal : {false, true}) {
      for (const som::neighborhood neighborhood : neighborhoods) {
        for (const double cutoff : {0.0, 2.0}) {
          for (const double radius : {0.0, 0.8, 3.0}) {
            const som::model map = random_map(7, 6, 3, lattice, toroidal, metrics[static_cast<int>(radius * 3) % 4]);
            som::options options = options_from(map);
            options.neighborhood = neighborhood;
            options.cutoff = cutoff;
            options.radius = som::range{radius, radius};
            options.threads = 2;
            const som::fit_result done = fit(rows, options, weights);
            const auto best = som_reference::match(map, rows.view()).best;
            const auto expected =
                som_reference::batch_epoch(map, rows.view(), best, &weights, neighborhood, radius, cutoff);
            EXPECT_LT(apart(done.model.codebook, expected), 1e-11)
                << static_cast<int>(lattice) << toroidal << static_cast<int>(neighborhood) << " radius " << radius
                << " cutoff " << cutoff;
          }
        }
      }
    }
  }
}

TYPED_TEST(SomFit, AwkwardSizes) {
  for (const std::size_t count : {1, 7, 8, 9, 511, 512, 513, 1031}) {
    for (const std::size_t columns : {1, 2, 9}) {
      const table<TypeParam> rows = clouds<TypeParam>(count, columns);
      const som::model map = random_map(5, 11, columns, som::lattice::hexagonal, false);
      som::options options = options_from(map);
      options.radius = som::range{1.5, 1.5};
      const som::fit_result done = fit(rows, options);
      const auto best = som_reference::match(map, rows.view()).best;
      const auto expected =
          som_reference::batch_epoch<TypeParam>(map, rows.view(), best, nullptr, options.neighborhood, 1.5, 0);
      EXPECT_LT(apart(done.model.codebook, expected), 1e-11) << count << " x " << columns;
    }
  }
}

TYPED_TEST(SomFit, QualityEqualsTheReference) {
  const table<TypeParam> rows = clouds<TypeParam>(700, 4);
  std::vector<TypeParam> weights;
  for (std::size_t i = 0; i < rows.rows; ++i) weights.push_back(static_cast<TypeParam>(1 + i % 3));
  const shoal::view_source<TypeParam> source(rows.view());
  const shoal::view_source<TypeParam> weight_source({weights.data(), weights.size(), 1});
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (const som::metric metric : metrics) {
    for (const som::lattice lattice : {som::lattice::rectangular, som::lattice::hexagonal}) {
      const som::model map = random_map(6, 8, 4, lattice, true, metric);
      const som_reference::matched expected = som_reference::match(map, rows.view());
      double error = 0, torn = 0;
      std::vector<double> hits(map.units());
      for (std::size_t i = 0; i < rows.rows; ++i) {
        const double w = static_cast<double>(weights[i]);
        error += w * expected.distances[i] / total;
        hits[static_cast<std::size_t>(expected.best[i])] += w;
        const auto around = som::neighbors(map, static_cast<std::size_t>(expected.best[i]));
        if (std::find(around.begin(), around.end(), static_cast<std::size_t>(expected.second[i])) == around.end()) {
          torn += w / total;
        }
      }
      const som::quality got = som::score(map, source, 2, 0, &weight_source);
      EXPECT_NEAR(got.quantization_error, error, 1e-12 * (1 + error));
      EXPECT_NEAR(got.topographic_error, torn, 1e-12);
      EXPECT_EQ(got.hits, hits);
      EXPECT_GT(torn, 0);
      std::vector<std::int32_t> units(rows.rows, -1);
      EXPECT_EQ(som::predict(map, source, units.data(), 1, 0, &weight_source), got.quantization_error);
      EXPECT_EQ(units, expected.best);
    }
  }
}

TYPED_TEST(SomFit, DistancesAndUMatrixAreThoseOfTheMetric) {
  const table<TypeParam> rows = clouds<TypeParam>(21, 3);
  for (const som::metric metric : metrics) {
    const som::model map = random_map(4, 3, 3, som::lattice::hexagonal, false, metric);
    std::vector<TypeParam> all(rows.rows * map.units());
    som::distances(map, shoal::view_source<TypeParam>(rows.view()), all.data(), 1);
    for (std::size_t i = 0; i < rows.rows; ++i) {
      const std::vector<double> row(rows.values.begin() + static_cast<std::ptrdiff_t>(3 * i),
                                    rows.values.begin() + static_cast<std::ptrdiff_t>(3 * i + 3));
      for (std::size_t u = 0; u < map.units(); ++u) {
        const double expected = som_reference::distance(metric, row.data(), map.codebook.data() + 3 * u, 3);
        EXPECT_NEAR(static_cast<double>(all[i * map.units() + u]), expected, sizeof(TypeParam) == 4 ? 1e-5 : 1e-14);
      }
    }
    const std::vector<double> heights = som::u_matrix(map);
    for (std::size_t u = 0; u < map.units(); ++u) {
      double mean = 0;
      const auto around = som::neighbors(map, u);
      for (const std::size_t other : around) {
        mean += som_reference::distance(metric, map.codebook.data() + 3 * u, map.codebook.data() + 3 * other, 3) /
                static_cast<double>(around.size());
      }
      EXPECT_NEAR(heights[u], mean, 1e-13);
    }
  }
}

TYPED_TEST(SomFit, RadiusZeroIsALloydStep) {
  const table<TypeParam> rows = clouds<TypeParam>(2000, 5);
  const som::model map = random_map(3, 2, 5, som::lattice::rectangular, false, som::metric::euclidean, 0, 3);
  som::options options = options_from(map);
  options.epochs = 5;
  options.radius = som::range{0, 0};
  const som::fit_result done = fit(rows, options);

  shoal::kmeans::options lloyd;
  lloyd.clusters = map.units();
  lloyd.init = shoal::kmeans::seeding::centroids;
  lloyd.centroids = map.codebook;
  lloyd.max_iterations = 5;
  lloyd.tolerance = 0;
  lloyd.threads = 1;
  const auto expected = shoal::kmeans::fit(rows.view(), lloyd);
  EXPECT_EQ(expected.relocated, 0u);
  EXPECT_LT(apart(done.model.codebook, expected.model.centroids), 1e-12);
  EXPECT_EQ(done.quality.hits, expected.cluster_weights);
  // The decay ends in 0 too: the last epoch of a linear one from 2 is such a step.
  options.radius = som::range{2, 0};
  const som::fit_result cooled = fit(rows, options);
  som::options but_last = options;
  but_last.epochs = 4;
  but_last.radius = som::range{2, 0.5};
  som::options last = options_from(fit(rows, but_last).model);
  last.radius = som::range{0, 0};
  EXPECT_EQ(cooled.model.codebook, fit(rows, last).model.codebook);
}

TYPED_TEST(SomFit, ThreadsStridesAndMemoryLimitsLeaveNoTrace) {
  const table<TypeParam> rows = clouds<TypeParam>(3001, 6);
  std::vector<TypeParam> weights;
  for (std::size_t i = 0; i < rows.rows; ++i)
    weights.push_back(static_cast<TypeParam>(0.5 + static_cast<double>(i % 5)));
  for (const som::training training : {som::training::batch, som::training::online}) {
    for (const som::initialization init : {som::initialization::principal_plane, som::initialization::sampled_rows,
                                           som::initialization::random_values}) {
      // The large map has so large statistics that its rows are few, so that threads share one lane.
      for (const std::size_t side : {6, 60}) {
        if (side == 60 && training == som::training::online) continue;
        som::options options;
        options.width = side;
        options.height = side;
        options.lattice = som::lattice::hexagonal;
        options.init = init;
        options.training = training;
        options.epochs = 3;
        options.seed = 5;
        options.threads = 1;
        const som::fit_result expected = fit(rows, options, weights);
        const shoal::view_source<TypeParam> weight_source({weights.data(), weights.size(), 1});
        const copied_rows::copying_source<TypeParam> copied(rows.view()),
            copied_weights({weights.data(), weights.size(), 1});
        for (const std::size_t threads : {3, 2, 5}) {
          if (under_thread_sanitizer && threads != 3) continue;
          options.threads = threads;
          options.memory_limit = 0;
          const som::fit_result shared = fit(rows, options, weights);
          EXPECT_EQ(shared.model.codebook, expected.model.codebook);
          EXPECT_EQ(shared.history, expected.history);
          EXPECT_EQ(shared.quality.quantization_error, expected.quality.quantization_error);
          options.memory_limit = 512 * 6 * sizeof(TypeParam) * threads;
          const som::fit_result streamed = som::fit(copied, options, &copied_weights);
          EXPECT_EQ(streamed.model.codebook, expected.model.codebook);
          EXPECT_EQ(streamed.quality.hits, expected.quality.hits);
        }
        // Rows with gaps between them.
        table<TypeParam> gaps{rows.rows, 9, std::vector<TypeParam>(rows.rows * 9, TypeParam{99})};
        for (std::size_t i = 0; i < rows.rows; ++i) {
          for (std::size_t j = 0; j < 6; ++j) gaps.values[i * 9 + j] = rows.values[i * 6 + j];
        }
        const shoal::view_source<TypeParam> strided({gaps.values.data(), rows.rows, 6, 9});
        EXPECT_EQ(som::fit(strided, options, &weight_source).model.codebook, expected.model.codebook);
      }
    }
  }
}

TYPED_TEST(SomFit, WeightsAreRepeatedRowsAndTheirScaleDoesNotMatter) {
  const table<TypeParam> rows = clouds<TypeParam>(300, 3);
  table<TypeParam> repeated{0, 3, {}};
  std::vector<TypeParam> weights;
  for (std::size_t i = 0; i < rows.rows; ++i) {
    weights.push_back(static_cast<TypeParam>(i % 3));
    for (std::size_t copy = 0; copy < i % 3; ++copy, ++repeated.rows) {
      for (std::size_t j = 0; j < 3; ++j) repeated.values.push_back(rows.values[3 * i + j]);
    }
  }
  som::options options;
  options.width = 5;
  options.height = 4;
  options.epochs = 4;
  const som::fit_result weighted = fit(rows, options, weights), plain = fit(repeated, options);
  EXPECT_LT(apart(weighted.model.codebook, plain.model.codebook), sizeof(TypeParam) == 4 ? 1e-5 : 1e-11);
  EXPECT_EQ(weighted.total_weight, plain.total_weight);
  EXPECT_EQ(weighted.quality.hits, plain.quality.hits);
  EXPECT_NEAR(weighted.quality.topographic_error, plain.quality.topographic_error, 1e-12);
  for (const double scale : {std::ldexp(1.0, 40), std::ldexp(1.0, -40)}) {
    std::vector<TypeParam> scaled = weights;
    for (TypeParam& weight : scaled) weight *= static_cast<TypeParam>(scale);
    EXPECT_EQ(fit(rows, options, scaled).model.codebook, weighted.model.codebook);
  }
}

TYPED_TEST(SomFit, PermutingShiftingAndScalingTheRows) {
  const table<TypeParam> rows = clouds<TypeParam>(1200, 3);
  for (const som::metric metric : {som::metric::euclidean, som::metric::taxicab, som::metric::chebyshev}) {
    const som::model map = random_map(6, 5, 3, som::lattice::hexagonal, false, metric);
    som::options options = options_from(map);
    options.epochs = 4;
    const som::fit_result plain = fit(rows, options);
    const auto changed = [&](auto change_row, auto change_value) {
      table<TypeParam> other = rows;
      som::options from = options;
      for (std::size_t i = 0; i < rows.rows; ++i) {
        for (std::size_t j = 0; j < 3; ++j) {
          other.values[3 * i + j] =
              static_cast<TypeParam>(change_value(static_cast<double>(rows.values[3 * change_row(i) + j])));
        }
      }
      for (double& value : from.codebook) value = change_value(value);
      return fit(other, from);
    };
    const auto same_row = [](std::size_t i) { return i; };
    const som::fit_result permuted = changed([](std::size_t i) { return i * 7 % 1200; }, [](double x) { return x; });
    EXPECT_LT(apart(permuted.model.codebook, plain.model.codebook), 1e-11);
    EXPECT_EQ(permuted.quality.hits, plain.quality.hits);
    const som::fit_result scaled = changed(same_row, [](double x) { return 4 * x; });
    for (std::size_t i = 0; i < plain.model.codebook.size(); ++i) {
      EXPECT_EQ(scaled.model.codebook[i], 4 * plain.model.codebook[i]);
    }
    EXPECT_EQ(scaled.quality.quantization_error, 4 * plain.quality.quantization_error);
    const som::fit_result shifted = changed(same_row, [](double x) { return x + 64; });
    for (std::size_t i = 0; i < plain.model.codebook.size(); ++i) {
      EXPECT_NEAR(shifted.model.codebook[i], 64 + plain.model.codebook[i], sizeof(TypeParam) == 4 ? 1e-4 : 1e-10);
    }
  }
}

// A torus looks the same from everywhere: turned maps stay turned.
TYPED_TEST(SomFit, TurningATorusTurnsTheResult) {
  const table<TypeParam> rows = clouds<TypeParam>(800, 2);
  for (const som::lattice lattice : {som::lattice::rectangular, som::lattice::hexagonal}) {
    for (const som::neighborhood neighborhood : neighborhoods) {
      const som::model map = random_map(7, 6, 2, lattice, true);
      som::options options = options_from(map);
      options.neighborhood = neighborhood;
      options.epochs = 3;
      const auto turn = [](const std::vector<double>& codebook) {  // by two rows and three columns
        std::vector<double> turned(codebook.size());
        for (std::size_t u = 0; u < 42; ++u) {
          const std::size_t to = (u / 7 + 2) % 6 * 7 + (u % 7 + 3) % 7;
          turned[2 * to] = codebook[2 * u];
          turned[2 * to + 1] = codebook[2 * u + 1];
        }
        return turned;
      };
      const som::fit_result plain = fit(rows, options);
      options.codebook = turn(map.codebook);
      const som::fit_result turned = fit(rows, options);
      EXPECT_LT(apart(turned.model.codebook, turn(plain.model.codebook)), 1e-11);
      EXPECT_NEAR(turned.quality.topographic_error, plain.quality.topographic_error, 1e-12);
    }
  }
}

// float32 at offset 10⁶ with unit spread: as float64 on the same values, to 1e-3 of the spread.
TEST(SomFit, LargeOffsetsInFloat32) {
  const table<float> rows = clouds<float>(4000, 4, 1e6);
  const table<double> same{rows.rows, 4, std::vector<double>(rows.values.begin(), rows.values.end())};
  for (const som::initialization init : {som::initialization::principal_plane, som::initialization::sampled_rows}) {
    som::options options;
    options.init = init;
    options.epochs = 6;
    const som::fit_result narrow = fit(rows, options), wide = fit(same, options);
    EXPECT_LT(apart(narrow.model.codebook, wide.model.codebook), 1e-3);
    EXPECT_NEAR(narrow.quality.quantization_error, wide.quality.quantization_error, 1e-3);
  }
}

TYPED_TEST(SomFit, DegenerateData) {
  som::options options;
  options.width = 6;
  options.height = 4;
  options.epochs = 4;
  const auto finite = [](const som::fit_result& result) {
    for (const double value : result.model.codebook) {
      if (!std::isfinite(value)) return false;
    }
    return std::isfinite(result.quality.quantization_error) && std::isfinite(result.quality.topographic_error);
  };
  for (const som::training training : {som::training::batch, som::training::online}) {
    for (const som::initialization init : {som::initialization::principal_plane, som::initialization::sampled_rows,
                                           som::initialization::random_values}) {
      for (const som::metric metric : metrics) {
        options.training = training;
        options.init = init;
        options.metric = metric;
        // One row, more units than rows, one column, a constant column, all rows equal, rows of zeros.
        const table<TypeParam> one{1, 2, {3, 4}};
        const som::fit_result single = fit(one, options);
        EXPECT_TRUE(finite(single));
        EXPECT_EQ(single.quality.hits[0] + 1, 2) << "of equal units the first";
        EXPECT_TRUE(finite(fit(clouds<TypeParam>(5, 3), options)));
        EXPECT_TRUE(finite(fit(clouds<TypeParam>(40, 1), options)));
        table<TypeParam> constant = clouds<TypeParam>(40, 3);
        for (std::size_t i = 0; i < 40; ++i) constant.values[3 * i + 1] = 7;
        const som::fit_result with_constant = fit(constant, options);
        EXPECT_TRUE(finite(with_constant));
        for (std::size_t u = 0; u < 24; ++u) EXPECT_NEAR(with_constant.model.codebook[3 * u + 1], 7, 1e-5);
        EXPECT_TRUE(finite(fit(table<TypeParam>{3, 2, {5, 6, 5, 6, 5, 6}}, options)));
        EXPECT_TRUE(finite(fit(table<TypeParam>{3, 2, {0, 0, 0, 0, 0, 0}}, options)));
        EXPECT_TRUE(finite(fit(table<TypeParam>{3, 2, {0, 0, 1, 2, 0, 0}}, options)));
      }
    }
  }
  options.width = options.height = 1;
  const som::fit_result alone = fit(clouds<TypeParam>(9, 2), options);
  EXPECT_EQ(alone.quality.topographic_error, 0);
  EXPECT_EQ(alone.quality.hits[0], 9);
}

TYPED_TEST(SomFit, OneSearchGivesQualityAndUnits) {
  const som::model map = random_map(5, 4, 3, som::lattice::hexagonal, false);
  const table<TypeParam> rows = clouds<TypeParam>(700, 3);
  const shoal::view_source<TypeParam> source(rows.view());
  const auto workers = shoal::make_sequential();
  const auto on = som::make_backend<TypeParam>({}, {{workers.get(), 0, {}}, &source, nullptr});
  std::vector<std::int32_t> expected(rows.rows, -1), units(rows.rows, -2);
  EXPECT_EQ(on->score(map, units.data()).quantization_error, on->predict(map, expected.data()));
  EXPECT_EQ(units, expected);
  EXPECT_EQ(on->score(map).topographic_error, on->score(map, units.data()).topographic_error);
}

TEST(SomFit, ASpreadWhoseSquaresFloat64CannotHoldIsRefused) {
  table<double> data{50, 2, {}};
  for (int i = 0; i < 50; ++i) data.values.insert(data.values.end(), {1.0 * i, i % 2 == 0 ? 1e308 : -1e308});
  som::options options;
  options.width = options.height = 2;
  for (const som::training training : {som::training::batch, som::training::online}) {
    options.training = training;
    try {
      fit(data, options);
      FAIL() << "nothing was refused";
    } catch (const shoal::bad_data& refusal) {
      EXPECT_EQ(std::string(refusal.what()).find("column 1 spans"), 0) << refusal.what();
    }
  }
  const table<double> near{4, 2, {0, 0, 1e-170, 0, 4e-170, 0, 5e-170, 1e-170}};
  EXPECT_THROW(fit(near, options), shoal::bad_data);
  const som::model map = random_map(2, 2, 2, som::lattice::rectangular, false);
  const table<double> far{2, 2, {1, 1e308, 2, 1e308}};
  for (const table<double>& rows : {data, far}) {
    const shoal::view_source<double> source(rows.view());
    EXPECT_THROW(som::predict(map, source, nullptr), shoal::bad_data);
    EXPECT_THROW(som::score(map, source), shoal::bad_data);
  }
}

TYPED_TEST(SomFit, RefusesWhatNoMapCanUse) {
  som::options options;
  const auto refused = [&](const table<TypeParam>& rows, const std::string& part) {
    try {
      fit(rows, options);
      ADD_FAILURE() << "accepted: " << part;
    } catch (const shoal::error& failure) {
      EXPECT_NE(std::string(failure.what()).find(part), std::string::npos) << failure.what();
    }
  };
  table<TypeParam> rows = clouds<TypeParam>(30, 2);
  rows.values[13] = std::numeric_limits<TypeParam>::quiet_NaN();
  refused(rows, "row 6, column 1 (counting from 0): the value is NaN");
  refused({0, 2, {}}, "no rows");
  rows = clouds<TypeParam>(30, 2);
  const auto with = [&](auto change, const std::string& part) {
    options = {};
    change();
    refused(rows, part);
  };
  with([&] { options.width = 0; }, "at least one unit");
  with([&] { options.width = options.height = std::size_t{1} << 20; }, "at most");
  with([&] { options.epochs = 0; }, "epochs must be at least 1");
  with([&] { options.cutoff = -1; }, "cut-off");
  with([&] { options.radius = som::range{-1, 1}; }, "the radius must be finite");
  with([&] { options.radius = som::range{3, 0}, options.radius_decay = som::decay::exponential; }, "reaches 0");
  with([&] { options.training = som::training::online, options.rate = {1.5, 0.1}; }, "the rate must be above 0");
  with([&] { options.training = som::training::online, options.device.cuda = {0}; },
       "online training runs on the host");
  with(
      [&] {
        options.lattice = som::lattice::hexagonal;
        options.toroidal = true;
        options.height = 5;
      },
      "even height");
  with([&] { options.init = som::initialization::codebook; }, "100 units x 2 columns");
  with(
      [&] {
        options.init = som::initialization::codebook;
        options.codebook.assign(200, 0.0);
        options.codebook[7] = std::numeric_limits<double>::infinity();
      },
      "unit 3, column 1");
}

// Options under which the first codebook is also the last: steps of 1e-300 of the way change no bit.
som::options only_the_start(som::initialization init) {
  som::options options;
  options.init = init;
  options.training = som::training::online;
  options.epochs = 1;
  options.rate = {1e-300, 1e-300};
  return options;
}

// On rows whose principal axes are the coordinate axes, the wider one along the longer side.
TYPED_TEST(SomFit, PrincipalPlaneByHand) {
  const table<TypeParam> rows{4, 2, {10, 3, 14, 3, 12, 2, 12, 4}};  // variances 2 and ½
  som::options options = only_the_start(som::initialization::principal_plane);
  options.width = 3;
  options.height = 2;
  const double s = std::sqrt(2.0), t = std::sqrt(0.5);
  EXPECT_LT(apart(fit(rows, options).model.codebook,
                  {12 - s, 3 - t, 12, 3 - t, 12 + s, 3 - t, 12 - s, 3 + t, 12, 3 + t, 12 + s, 3 + t}),
            1e-14);
  options.width = 2;
  options.height = 3;
  EXPECT_LT(apart(fit(rows, options).model.codebook,
                  {12 - s, 3 - t, 12 - s, 3 + t, 12, 3 - t, 12, 3 + t, 12 + s, 3 - t, 12 + s, 3 + t}),
            1e-14);
  // Odd hexagonal rows stand half a column to the right of the even ones: at −3/5, 1/5 and 1, not −1, −1/5 and 3/5.
  options.width = 3;
  options.height = 2;
  options.lattice = som::lattice::hexagonal;
  EXPECT_LT(apart(fit(rows, options).model.codebook, {12 - s, 3 - t, 12 - s / 5, 3 - t, 12 + s * 3 / 5, 3 - t,
                                                      12 - s * 3 / 5, 3 + t, 12 + s / 5, 3 + t, 12 + s, 3 + t}),
            1e-14);
  // Weights count: without the first two rows the second axis has the only variance, 1.
  const std::vector<TypeParam> weights{0, 0, 3, 3};
  options.lattice = som::lattice::rectangular;
  options.width = 2;
  options.height = 1;
  EXPECT_LT(apart(fit(rows, options, weights).model.codebook, {12, 2, 12, 4}), 1e-14);
}

// Rows on a line, or in one column: the second axis adds nothing.
TYPED_TEST(SomFit, PrincipalPlaneOfALine) {
  som::options options = only_the_start(som::initialization::principal_plane);
  options.width = 2;
  options.height = 2;
  const table<TypeParam> line{4, 2, {0, 0, 1, 2, 2, 4, 3, 6}}, column{2, 1, {-5, 1}};
  const double s = std::sqrt(1.25);
  EXPECT_LT(apart(fit(line, options).model.codebook,
                  {1.5 - s, 3 - 2 * s, 1.5 + s, 3 + 2 * s, 1.5 - s, 3 - 2 * s, 1.5 + s, 3 + 2 * s}),
            1e-14);
  EXPECT_LT(apart(fit(column, options).model.codebook, {-5, 1, -5, 1}), 1e-14);
}

TYPED_TEST(SomFit, SampledRowsAreRowsAndRandomValuesLieBetweenTheExtremes) {
  const table<TypeParam> rows = clouds<TypeParam>(50, 2);
  som::options options = only_the_start(som::initialization::sampled_rows);
  options.width = 5;
  options.height = 5;
  const std::vector<double> sampled = fit(rows, options).model.codebook;
  std::vector<std::size_t> chosen;
  for (std::size_t u = 0; u < 25; ++u) {
    for (std::size_t i = 0; i < rows.rows; ++i) {
      if (sampled[2 * u] == static_cast<double>(rows.values[2 * i]) &&
          sampled[2 * u + 1] == static_cast<double>(rows.values[2 * i + 1])) {
        chosen.push_back(i);
      }
    }
  }
  std::sort(chosen.begin(), chosen.end());
  EXPECT_EQ(chosen.size(), 25u);
  EXPECT_EQ(std::unique(chosen.begin(), chosen.end()), chosen.end()) << "distinct while there are enough";
  options.seed = 1;
  EXPECT_NE(fit(rows, options).model.codebook, sampled);

  options.init = som::initialization::random_values;
  const std::vector<double> random = fit(rows, options).model.codebook;
  for (std::size_t j = 0; j < 2; ++j) {
    double low = 1e9, high = -1e9, least = 1e9, greatest = -1e9;
    for (std::size_t i = 0; i < rows.rows; ++i) {
      low = std::min(low, static_cast<double>(rows.values[2 * i + j]));
      high = std::max(high, static_cast<double>(rows.values[2 * i + j]));
    }
    for (std::size_t u = 0; u < 25; ++u) {
      least = std::min(least, random[2 * u + j]);
      greatest = std::max(greatest, random[2 * u + j]);
    }
    EXPECT_GE(least, low);
    EXPECT_LE(greatest, high);
    EXPECT_GT(greatest - least, (high - low) / 2);
  }
}

}  // namespace
