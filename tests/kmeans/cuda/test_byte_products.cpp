// k-means in bf16 whose rows are searched by products of bytes first: the promise of bf16 for every row, whether bytes
// decide it or leave it to float16, and the same bits however rows and steps are cut.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/kmeans/cuda/lloyd.hpp>
#include <shoal/kmeans/cuda/tuning.hpp>

#include "../../cuda_devices.hpp"
#include "../kmeans_reference.hpp"

namespace {

namespace kmeans = shoal::kmeans;
using kmeans_reference::clouds;
using kmeans_reference::spread_rows;
using kmeans_reference::table;

enum class made { uniform, shorts, spikes, normal, clustered, offset, outliers, cube, constant };

table<float> make_rows(made kind, std::size_t rows, std::size_t columns) {
  if (kind == made::normal) return clouds<float>(rows, columns, 1, 0);
  if (kind == made::clustered) return clouds<float>(rows, columns, 5, 2.5);
  kmeans_reference::uniform u(columns);
  table<float> all{rows, columns, {}};
  all.values.resize(rows * columns);
  for (std::size_t i = 0; i < all.values.size(); ++i) {
    const std::size_t row = i / columns;
    double value = 2 * u() - 1;
    if (kind == made::offset) value += 1e4;
    // One row in a thousand is short, or has an entry that leaves few digits to the others; a few rows are far.
    if (kind == made::spikes && row % 1009 == 5 && i % columns == row % columns) value = 5;
    if (kind == made::shorts && row % 1000 == 7) value /= 50;
    if (kind == made::outliers && row % 10007 == 5) value *= 300;
    if (kind == made::cube) value = value * value * value;
    if (kind == made::constant) value = 0.25;
    all.values[i] = static_cast<float>(value);
  }
  return all;
}

struct data {
  explicit data(const table<float>& from, shoal::precision products, std::size_t memory = 0)
      : source(from.view()),
        workers(shoal::make_threads(2)),
        context{workers.get(), 0, {}},
        group(devices, products),
        rows(group, context, {&source, nullptr, 1}, memory) {
    const std::size_t columns = from.columns;
    mean.assign(columns, 0.0);
    for (std::size_t i = 0; i < from.values.size(); ++i) mean[i % columns] += static_cast<double>(from.values[i]);
    for (double& sum : mean) sum /= static_cast<double>(from.rows);
    double squares = 0;
    for (std::size_t i = 0; i < from.values.size(); ++i) {
      const double difference = static_cast<double>(from.values[i]) - mean[i % columns];
      extent.largest = std::max(extent.largest, std::abs(difference));
      squares += difference * difference;
    }
    extent.norm = std::sqrt(squares / static_cast<double>(from.rows));
    extent.any = true;
  }

  std::vector<int> devices{0};
  shoal::view_source<float> source;
  std::unique_ptr<shoal::executor> workers;
  shoal::fold_context context;
  shoal::cuda::device_group group;
  shoal::cuda::device_rows<float> rows;
  std::vector<double> mean;
  shoal::rows_extent extent;
};

// The share of rows that products of bytes leave open, by 16.
double label(const table<float>& from, const std::vector<double>& centroids, shoal::precision products,
             std::vector<std::int32_t>& labels, std::size_t memory = 0) {
  data on(from, products, memory);
  labels.assign(from.rows, -5);
  kmeans::device_fold<float> fold(on.rows, centroids.size() / from.columns, on.extent);
  fold.upload(centroids, on.mean);
  fold.begin({});
  fold.enqueue([&](const shoal::cuda::device_piece<float>& piece, const std::int32_t* got, cudaStream_t stream) {
    shoal::cuda::check(cudaMemcpyAsync(labels.data() + piece.first, got, piece.count * sizeof(std::int32_t),
                                       cudaMemcpyDefault, stream),
                       "copy labels");
  });
  fold.read_statistics();
  on.group.synchronize();
  return fold.share_left();
}

// `steps` from rows as centroids on; of the rows at least and at most such a share is left open.
void check(made kind, std::size_t columns, std::size_t clusters, std::size_t steps, double least, double most,
           std::size_t rows = 9001) {
  const auto from = make_rows(kind, rows, columns);
  std::vector<double> centroids = spread_rows(from.view(), clusters);
  const std::string what = "rows " + std::to_string(static_cast<int>(kind)) + ", " + std::to_string(columns) +
                           " columns, K = " + std::to_string(clusters) + ", step " + std::to_string(steps);
  const data on(from, shoal::precision::float32);
  for (std::size_t step = 0; step < steps; ++step) {
    std::vector<std::int32_t> nearest;
    label(from, centroids, shoal::precision::float32, nearest);
    std::vector<double> sums(centroids.size()), counts(clusters);
    for (std::size_t i = 0; i < rows; ++i) {
      const auto k = static_cast<std::size_t>(nearest[i]);
      counts[k] += 1;
      for (std::size_t j = 0; j < columns; ++j) {
        sums[k * columns + j] += static_cast<double>(from.values[i * columns + j]);
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (counts[i / columns] > 0) centroids[i] = sums[i] / counts[i / columns];
    }
  }
  std::vector<std::int32_t> labels, nearest;
  const double left = label(from, centroids, shoal::precision::bf16, labels);
  label(from, centroids, shoal::precision::float32, nearest);
  EXPECT_GE(left, least) << what;
  EXPECT_LE(left, most) << what;
  const auto from_mean = [&](const auto* at) {
    double squares = 0;
    for (std::size_t j = 0; j < columns; ++j) {
      const double difference = static_cast<double>(at[j]) - on.mean[j];
      squares += difference * difference;
    }
    return std::sqrt(squares);
  };
  double largest = 0;
  for (std::size_t k = 0; k < clusters; ++k) largest = std::max(largest, from_mean(&centroids[k * columns]));
  for (std::size_t i = 0; i < rows; ++i) {
    ASSERT_GE(labels[i], 0) << what << ", row " << i;
    ASSERT_LT(labels[i], static_cast<std::int32_t>(clusters)) << what;
    if (labels[i] == nearest[i]) continue;
    const float* const row = &from.values[i * columns];
    const auto distance = [&](std::int32_t k) {
      return kmeans_reference::squared_distance(row, &centroids[static_cast<std::size_t>(k) * columns], columns);
    };
    const double promised = 8.2 * 0x1p-8 * (from_mean(row) * largest + largest * largest / 2);
    ASSERT_LE(distance(labels[i]) - distance(nearest[i]), promised) << what << ", row " << i;
  }
}

TEST(ByteProducts, KeepThePromiseOfBf16OnUniformRowsOfEveryWidth) {
  SHOAL_NEEDS_DEVICES(1);
  for (const std::size_t columns : {33, 64, 65, 96, 100, 127, 128}) {
    check(made::uniform, columns, 97, 0, 0, 0.01);
    check(made::uniform, columns, 257, columns == 128 ? 3 : 1, 0, 0.01);
    if (HasFatalFailure()) return;
  }
}

TEST(ByteProducts, KeepThePromiseWithManyClusters) {
  SHOAL_NEEDS_DEVICES(1);
  for (const std::size_t clusters : {1000, 1793, 3000}) {
    for (const std::size_t columns : {100, 128}) {
      check(made::uniform, columns, clusters, 1, 0, 0.01);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(ByteProducts, KeepThePromiseOnRowsOfAnyKind) {
  SHOAL_NEEDS_DEVICES(1);
  for (const made kind :
       {made::shorts, made::normal, made::clustered, made::offset, made::outliers, made::cube, made::constant}) {
    check(kind, 100, 300, 0, 0, 1);
    check(kind, 128, 300, 2, 0, 1);
    check(kind, 65, 111, 1, 0, 1);
    check(kind, 129, 111, 0, 1, 1);
    if (HasFatalFailure()) return;
  }
}

// The same on so few rows that compute-sanitizer can follow.
TEST(ByteProducts, KeepThePromiseOnFewRows) {
  SHOAL_NEEDS_DEVICES(1);
  check(made::uniform, 100, 9, 0, 0, 0.01, 259);
  check(made::spikes, 70, 130, 0, 0, 1, 259);
  check(made::normal, 40, 9, 1, 0, 1, 259);
}

TEST(ByteProducts, LeaveFewRowsOpenWhereOthersAreDecided) {
  SHOAL_NEEDS_DEVICES(1);
  for (const std::size_t columns : {64, 96, 128}) {
    check(made::spikes, columns, 300, 0, 0.001, 0.1, 70'001);
    if (HasFatalFailure()) return;
  }
}

TEST(ByteProducts, LabelStreamedRowsAsThoseThatStay) {
  SHOAL_NEEDS_DEVICES(1);
  for (const made kind : {made::uniform, made::spikes, made::normal}) {
    const auto from = make_rows(kind, 2 * kmeans::least_float16_rows + 77, 100);
    const std::vector<double> centroids = spread_rows(from.view(), 200);
    std::vector<std::int32_t> labels, streamed;
    label(from, centroids, shoal::precision::bf16, labels);
    label(from, centroids, shoal::precision::bf16, streamed, std::size_t{12} << 20);
    EXPECT_EQ(labels, streamed);
  }
}

TEST(ByteProducts, RepeatTheBitsOfFitsHoweverTheyAreCut) {
  SHOAL_NEEDS_DEVICES(1);
  const auto from = make_rows(made::uniform, kmeans::least_float16_rows + 3, 100);
  const std::vector<double> first = spread_rows(from.view(), 130);
  const auto fit = [&](std::size_t most_steps, std::size_t stop = 0) {
    data on(from, shoal::precision::bf16);
    const auto make = [&] {
      return kmeans::make_device_lloyd<float>(
          on.rows, on.context, 130, [&](std::size_t) { return first; }, {}, on.mean, on.extent);
    };
    auto stepper = make();
    stepper->seed(0);
    for (std::size_t done = 0; done < 12;) {
      const auto steps = stepper->advance(std::min(most_steps, (done < stop ? stop : 12) - done));
      done += steps.size();
      if (steps.back().settled) break;
      if (done != stop) continue;
      const std::vector<double> saved = stepper->save();
      stepper = make();
      stepper->restore(saved);
    }
    return stepper->centroids();
  };
  const std::vector<double> centroids = fit(12);
  EXPECT_EQ(centroids, fit(12));
  EXPECT_EQ(centroids, fit(1));
  EXPECT_EQ(centroids, fit(4, 6));
}

}  // namespace
