// The same bits for any number of threads and any memory limit; the same model on every instruction set; degenerate
// data; checkpoints.
#define SHOAL_INTEGER_PRODUCTS
#include <shoal/core/simd_targets.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/kmeans/accumulate.hpp>
#include <shoal/kmeans/fit.hpp>
#include <shoal/kmeans/lloyd.hpp>
#include <shoal/kmeans/predict.hpp>
#include <shoal/kmeans/update.hpp>
#include <shoal/nearest/nearest.hpp>

#include "../copying_source.hpp"
#include "../thread_sanitizer.hpp"
#include "kmeans_reference.hpp"

namespace {

namespace kmeans = shoal::kmeans;
using copied_rows::copying_source;
using kmeans_reference::clouds;
using kmeans_reference::spread_rows;
using kmeans_reference::table;

kmeans::options from(const std::vector<double>& centroids, std::size_t clusters, std::size_t iterations) {
  kmeans::options options;
  options.clusters = clusters;
  options.init = kmeans::seeding::centroids;
  options.centroids = centroids;
  options.max_iterations = iterations;
  options.tolerance = 0;
  return options;
}

void expect_same_bits(const kmeans::fit_result& a, const kmeans::fit_result& b, const std::string& what) {
  EXPECT_EQ(a.model.centroids, b.model.centroids) << what;
  EXPECT_EQ(a.history, b.history) << what;
  EXPECT_EQ(a.inertia, b.inertia) << what;
  EXPECT_EQ(a.bic, b.bic) << what;
}

template <class Scalar>
class KmeansBits : public testing::Test {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(KmeansBits, scalars);

TYPED_TEST(KmeansBits, DoNotDependOnThreadsOrMemory) {
  struct shape {
    std::size_t rows, columns, clusters;
  };
  for (const shape s : {shape{70001, 2, 3}, shape{30011, 5, 20}, shape{9001, 33, 70}}) {
    const auto data = clouds<TypeParam>(s.rows, s.columns, 7, 2);
    std::vector<TypeParam> weight_values(s.rows);
    for (std::size_t i = 0; i < s.rows; ++i) weight_values[i] = static_cast<TypeParam>(0.1 * (i % 6));
    const shoal::view_source<TypeParam> rows(data.view()), weights({weight_values.data(), s.rows, 1});
    const copying_source<TypeParam> streamed(data.view()), streamed_weights({weight_values.data(), s.rows, 1});
    kmeans::options options;
    options.clusters = s.clusters;
    options.max_iterations = 4;
    options.tolerance = 0;
    options.threads = 1;
    const auto expected = kmeans::fit(rows, options, &weights);
    std::vector<std::int32_t> labels(s.rows), others(s.rows);
    kmeans::predict(expected.model, rows, labels.data(), 1);
    for (const std::size_t threads : {3, 2, 8}) {
      if (under_thread_sanitizer && threads != 3) continue;
      options.threads = threads;
      options.memory_limit = 0;
      expect_same_bits(kmeans::fit(rows, options, &weights), expected, std::to_string(threads) + " threads");
      options.memory_limit = threads * 3 * 512 * s.columns * sizeof(TypeParam);
      expect_same_bits(kmeans::fit(streamed, options, &streamed_weights), expected, "streamed");
      kmeans::predict(expected.model, streamed, others.data(), threads, options.memory_limit);
      EXPECT_EQ(labels, others);
    }
  }
}

TYPED_TEST(KmeansBits, DoNotDependOnTheTeamThatSharesALane) {
  // A team appears when statistics are so large that there are fewer lanes than threads; here one is made by hand.
  const auto data = clouds<TypeParam>(5000, 6, 5, 2);
  const auto start = spread_rows(data.view(), 50);
  kmeans::prepared_centroids<TypeParam> centroids;
  centroids.set(start, 50, 6);
  const kmeans::statistics_monoid monoid{50, 6};
  std::vector<kmeans::statistics> all;
  for (const std::size_t size : {1, 2, 3}) {
    const auto workers = shoal::make_threads(size);
    kmeans::statistics into = monoid.identity();
    typename kmeans::accumulate_body<TypeParam>::scratch memory;
    const kmeans::accumulate_body<TypeParam> body{&centroids, nullptr};
    workers->run(1, size, [&](std::size_t, const shoal::team_member& member) {
      for (std::size_t first = 0; first < 5000; first += 2048) {
        const shoal::row_block<TypeParam> piece{
            data.view().middle_rows(first, std::min<std::size_t>(2048, 5000 - first)), nullptr, first};
        body(piece, member, memory, into);
        member.wait();
      }
    });
    all.push_back(into);
  }
  for (const auto& other : all) {
    EXPECT_EQ(other.sums, all[0].sums);
    EXPECT_EQ(other.weights, all[0].weights);
    EXPECT_EQ(other.inertia, all[0].inertia);
    EXPECT_EQ(other.fingerprint, all[0].fingerprint);
  }
}

// From the fourth step on threads meet nowhere else.
constexpr int most_remembered_steps = under_thread_sanitizer ? 4 : 25;

TYPED_TEST(KmeansBits, DoNotDependOnWhatIsRemembered) {
  struct shape {
    std::size_t rows, columns, clusters;
    double separation, offset, away = 0;  // of the first centroids
  };
  // Of the last six, rows are kept as bytes, or those of many columns with a bound for each centroid.
  for (const shape s : {shape{20000, 16, 40, 3, 0}, shape{20000, 16, 40, 0, 0}, shape{6000, 5, 130, 8, 1e6},
                        shape{5000, 70, 9, 1e6, 0}, shape{4000, 2, 300, 1e-3, 50}, shape{2500, 300, 64, 0, 0},
                        shape{5000, 70, 256, 0, 0}, shape{3001, 41, 420, 0.5, 1e3}, shape{3001, 41, 420, 0.5, 0, 100},
                        shape{1500, 200, 16, 5, 1e4}, shape{900, 769, 33, 0, 0, 100}}) {
    const auto data = clouds<TypeParam>(s.rows, s.columns, 11, s.separation, s.offset);
    const shoal::view_source<TypeParam> rows(data.view());
    const auto workers = shoal::make_threads(2);
    auto start = spread_rows(data.view(), s.clusters);
    for (double& value : start) value += s.away;
    std::vector<std::vector<double>> results;
    for (const std::size_t memory : {std::size_t{0}, s.rows * 4, std::size_t{1} << 30}) {
      kmeans::lloyd<TypeParam> fit(
          {workers.get(), 0, {}}, {&rows, nullptr, 1}, s.clusters, [&](std::size_t) { return start; }, memory);
      std::vector<double> result;
      for (std::size_t restart = 0; restart < 2; ++restart) {
        fit.seed(restart);
        for (int step = 0; step < most_remembered_steps; ++step) {
          const auto record = fit.advance(1).front();
          result.push_back(record.objective);
          result.push_back(record.change);
          if (record.settled) break;
        }
      }
      const auto saved = fit.save();
      result.insert(result.end(), saved.begin(), saved.end());
      results.push_back(result);
    }
    EXPECT_EQ(results[1], results[0]);
    EXPECT_EQ(results[2], results[0]);
  }
}

TYPED_TEST(KmeansBits, EveryInstructionSetFindsTheSameClusters) {
  for (const std::size_t clusters : {2, 4, 8, 13}) {
    for (const std::size_t columns : {1, 2, 3, 4, 7}) {
      const auto data = clouds<TypeParam>(2500, columns, 5, 3, 100);
      const auto start = spread_rows(data.view(), clusters);
      const auto expected = kmeans_reference::lloyd(data.view(), {}, start, 5, 0);
      kmeans::options options = from(start, clusters, 5);
      for (std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS; targets != 0; targets &= targets - 1) {
        hwy::SetSupportedTargetsForTest(targets & -targets);
        const auto result = kmeans::fit(data.view(), options);
        EXPECT_EQ(result.hardware, shoal::simd_target());
        EXPECT_NEAR(result.inertia, expected.inertia, (sizeof(TypeParam) == 4 ? 1e-6 : 1e-12) * expected.inertia)
            << result.hardware << " K " << clusters << " d " << columns;
        std::vector<std::int32_t> labels(2500);
        kmeans::predict(result.model, shoal::view_source<TypeParam>(data.view()), labels.data());
        EXPECT_EQ(labels, kmeans_reference::nearest(data.view(), result.model.centroids)) << result.hardware;
        hwy::SetSupportedTargetsForTest(0);
      }
    }
  }
}

TYPED_TEST(KmeansBits, TheFingerprintSeesEveryChangeOfALabel) {
  const auto data = clouds<TypeParam>(3000, 2, 3, 4);
  const auto fingerprint = [&](const std::vector<double>& values) {
    kmeans::prepared_centroids<TypeParam> centroids;
    centroids.set(values, values.size() / 2, 2);
    const kmeans::statistics_monoid monoid{values.size() / 2, 2};
    const auto workers = shoal::make_sequential();
    const shoal::view_source<TypeParam> rows(data.view());
    return shoal::fold<TypeParam>({workers.get(), 0, {}}, {&rows, nullptr, 1}, monoid,
                                  kmeans::accumulate_body<TypeParam>{&centroids, nullptr})
        .fingerprint;
  };
  const auto start = spread_rows(data.view(), 3);
  EXPECT_EQ(fingerprint(start), fingerprint(start));
  // One row of its own centroid: a single label differs.
  for (const std::size_t row : {1, 511, 512, 2999}) {
    std::vector<double> more = start;
    more.insert(more.end(), data.view().row(row), data.view().row(row) + 2);
    EXPECT_NE(fingerprint(more), fingerprint(start)) << row;
  }
  // Two labels exchanged over all rows.
  EXPECT_NE(fingerprint({start[2], start[3], start[0], start[1], start[4], start[5]}), fingerprint(start));
}

TEST(KmeansDegenerate, FarFromTheOriginInFloat32) {
  const auto data = clouds<float>(4000, 2, 2, 6, 1e6);
  const auto start = spread_rows(data.view(), 2);
  const auto expected = kmeans_reference::lloyd(data.view(), {}, start, 30, 0);
  kmeans::options options = from(start, 2, 30);
  const auto result = kmeans::fit(data.view(), options);
  EXPECT_NEAR(result.inertia, expected.inertia, 1e-6 * expected.inertia);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(result.model.centroids[i], expected.centroids[i], 1e-3);
}

TEST(KmeansDegenerate, ClustersAMillionApart) {
  for (const std::size_t clusters : {3, 12}) {
    const auto data = clouds<float>(6000, 3, 3, 1e6);
    const auto start = spread_rows(data.view(), clusters);
    const auto expected = kmeans_reference::lloyd(data.view(), {}, start, 10, 0);
    kmeans::options options = from(start, clusters, 10);
    const auto result = kmeans::fit(data.view(), options);
    EXPECT_NEAR(result.inertia, expected.inertia, 1e-6 * expected.inertia);
    std::vector<std::int32_t> labels(6000);
    kmeans::predict(result.model, shoal::view_source<float>(data.view()), labels.data());
    EXPECT_EQ(labels, kmeans_reference::nearest(data.view(), result.model.centroids));
  }
}

TEST(KmeansDegenerate, ValuesAtTheEndsOfFloat32) {
  for (const double scale : {2e38, 1e20, 1e-21, 1e-38, 1e-42}) {
    for (const std::size_t columns : {2, 6}) {
      const auto unit = clouds<double>(1200, columns, 2, 8);
      table<float> data{1200, columns, {}};
      for (const double value : unit.values) data.values.push_back(static_cast<float>((value - 4) / 16 * scale));
      const auto start = spread_rows(data.view(), 3);
      const auto expected = kmeans_reference::lloyd(data.view(), {}, start, 5, 0);
      kmeans::options options = from(start, 3, 5);
      const auto result = kmeans::fit(data.view(), options);
      EXPECT_NEAR(result.inertia / expected.inertia, 1, 1e-6) << scale << " " << columns;
      options.init = kmeans::seeding::plus_plus;
      EXPECT_TRUE(std::isfinite(kmeans::fit(data.view(), options).inertia));
    }
  }
}

TEST(KmeansDegenerate, ASpreadWhoseSquaresVanishIsRefused) {
  kmeans::options options;
  options.clusters = 2;
  for (const double unit : {1e-140, 1e-155, 1e-170, 5e-324}) {
    SCOPED_TRACE(unit);
    const table<double> data{4, 2, {0, 0, unit, unit, 4 * unit, 0, 5 * unit, unit}};
    if (unit > 1e-150) {
      EXPECT_EQ(kmeans::fit(data.view(), options).cluster_weights, (std::vector<double>{2, 2}));
      continue;
    }
    try {
      kmeans::fit(data.view(), options);
      FAIL() << "nothing was refused";
    } catch (const shoal::bad_data& refusal) {
      EXPECT_EQ(std::string(refusal.what()).find("no column spans more than"), 0) << refusal.what();
    }
    const table<double> beside{4, 2, {0, 0, unit, 1, 4 * unit, 2, 5 * unit, 7}};  // another column tells them apart
    EXPECT_EQ(kmeans::fit(beside.view(), options).model.clusters, 2u);
  }
  const table<double> same{4, 2, {3, 3, 3, 3, 3, 3, 3, 3}};
  options.clusters = 1;
  EXPECT_EQ(kmeans::fit(same.view(), options).inertia, 0);
}

TEST(KmeansDegenerate, ASpreadWhoseSquaresFloat64CannotHoldIsRefused) {
  table<double> data{100, 2, {}};
  for (int i = 0; i < 100; ++i) data.values.insert(data.values.end(), {1.0 * i, i % 2 == 0 ? 1e308 : -1e308});
  kmeans::options options;
  options.clusters = 2;
  const auto expect_refusal = [](const auto& run) {
    try {
      run();
      FAIL() << "nothing was refused";
    } catch (const shoal::bad_data& refusal) {
      EXPECT_EQ(std::string(refusal.what()).find("column 1 spans"), 0) << refusal.what();
    }
  };
  for (const auto init : {kmeans::seeding::plus_plus, kmeans::seeding::random_rows}) {
    options.init = init;
    expect_refusal([&] { kmeans::fit(data.view(), options); });
  }
  kmeans::model model{2, 2, {1, 2, 3, 4}, {}};
  std::vector<double> seen(2, 0.0);
  expect_refusal([&] { kmeans::update(model, seen, shoal::view_source<double>(data.view()), nullptr); });
  EXPECT_EQ(model.centroids, (std::vector<double>{1, 2, 3, 4}));
  std::vector<std::int32_t> labels(data.rows);
  expect_refusal([&] { kmeans::predict(model, shoal::view_source<double>(data.view()), labels.data()); });

  // Rows that lie near each other, and far from the centroids.
  const table<double> far{2, 2, {1, 1e308, 2, 1e308}};
  expect_refusal([&] { kmeans::predict(model, shoal::view_source<double>(far.view()), labels.data()); });
  expect_refusal([&] { kmeans::update(model, seen, shoal::view_source<double>(far.view()), nullptr); });
  kmeans::options from_far = options;
  from_far.init = kmeans::seeding::centroids;
  from_far.centroids = model.centroids;
  expect_refusal([&] { kmeans::fit(far.view(), from_far); });

  // The widest that is not refused.
  for (double& value : data.values) value = std::clamp(value, -0.5e150, 0.5e150);
  EXPECT_TRUE(std::isfinite(kmeans::fit(data.view(), options).inertia));
}

TEST(KmeansDegenerate, OneRowOneColumnConstantColumnsAndIntegers) {
  kmeans::options options;
  options.clusters = 1;
  const table<float> one_row{1, 3, {4, 5, 6}};
  const auto single = kmeans::fit(one_row.view(), options);
  EXPECT_EQ(single.model.centroids, (std::vector<double>{4, 5, 6}));
  EXPECT_EQ(single.inertia, 0);

  table<float> constant{300, 2, {}};
  for (int i = 0; i < 300; ++i) constant.values.insert(constant.values.end(), {7.0f, static_cast<float>(i % 2 * 100)});
  options.clusters = 2;
  const auto two = kmeans::fit(constant.view(), options);
  EXPECT_EQ(two.inertia, 0);
  EXPECT_EQ(two.model.centroids[0], 7);

  table<double> same{50, 2, std::vector<double>(100, 3.25)};
  options.clusters = 4;
  const auto all_alike = kmeans::fit(same.view(), options);
  EXPECT_EQ(all_alike.inertia, 0);
  EXPECT_TRUE(all_alike.converged);
  EXPECT_EQ(all_alike.model.centroids, std::vector<double>(8, 3.25));

  table<float> column{1000, 1, {}};
  for (int i = 0; i < 1000; ++i) column.values.push_back(static_cast<float>(i % 10 * 3));
  options.clusters = 10;
  options.restarts = 5;
  EXPECT_EQ(kmeans::fit(column.view(), options).inertia, 0);
}

TEST(KmeansCheckpoint, AFitThatWasStoppedEndsInTheSameBits) {
  const auto data = clouds<float>(20000, 3, 8, 1.5);
  const shoal::view_source<float> rows(data.view());
  const auto file = (std::filesystem::path(testing::TempDir()) / "kmeans_checkpoint_test").string();
  std::filesystem::remove(file);
  kmeans::options options;
  options.clusters = 12;
  options.tolerance = 0;
  options.max_iterations = 25;
  options.restarts = 2;
  const auto expected = kmeans::fit(rows, options);
  options.checkpoint = file;
  options.checkpoint_seconds = 0;
  for (const std::size_t steps : {1, 7, 30}) {
    std::stop_source stop;
    std::size_t seen = 0;
    const shoal::control control{[&](const shoal::progress&) {
                                   if (++seen == steps) stop.request_stop();
                                 },
                                 stop.get_token()};
    EXPECT_THROW(kmeans::fit(rows, options, nullptr, control), shoal::interrupted) << steps;
  }
  const auto resumed = kmeans::fit(rows, options);
  expect_same_bits(resumed, expected, "resumed");
  EXPECT_EQ(resumed.relocated, expected.relocated);
  expect_same_bits(kmeans::fit(rows, options), expected, "finished already");
  options.seed = 1;
  EXPECT_THROW(kmeans::fit(rows, options), shoal::bad_argument);
  std::filesystem::remove(file);
}

}  // namespace
