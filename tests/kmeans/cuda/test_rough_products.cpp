// k-means with TF32 and bf16 products: how far from the nearest centroid a row's own may be, and what becomes of fits.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/kmeans/cuda/lloyd.hpp>

#include "../../cuda_devices.hpp"
#include "../kmeans_reference.hpp"

namespace {

namespace kmeans = shoal::kmeans;
using kmeans_reference::clouds;
using kmeans_reference::spread_rows;
using kmeans_reference::table;

struct rough {
  shoal::precision products;
  double unit;     // what rounding a factor loses at most, relative
  double share;    // of rows that may have another label, at most
  double inertia;  // relative change at most
};
// Inertia: three times the most that was seen, which was at 5 columns and 300 clusters.
constexpr rough kinds[] = {{shoal::precision::tf32, 0x1p-11, 0.02, 1e-4}, {shoal::precision::bf16, 0x1p-8, 0.1, 1e-2}};

struct on_device {
  on_device(const table<float>& made, shoal::precision products)
      : source(made.view()),
        workers(shoal::make_threads(2)),
        context{workers.get(), 0, {}},
        group(devices, products),
        rows(group, context, {&source, nullptr, 1}) {}

  std::vector<int> devices{0};
  shoal::view_source<float> source;
  std::unique_ptr<shoal::executor> workers;
  shoal::fold_context context;
  shoal::cuda::device_group group;
  shoal::cuda::device_rows<float> rows;
};

std::vector<std::int32_t> labels_of(const table<float>& made, const std::vector<double>& centroids,
                                    shoal::precision products, double& inertia) {
  on_device data(made, products);
  std::vector<std::int32_t> labels(made.rows, -1);
  inertia = kmeans::predict_on_device(data.rows, {centroids.size() / made.columns, made.columns, centroids, {}},
                                      labels.data())
                .inertia;
  return labels;
}

double length(const std::vector<double>& of) {
  double sum = 0;
  for (const double value : of) sum += value * value;
  return std::sqrt(sum);
}

// Labels are nearest up to the rounding of factors.
void check_labels(const rough& kind, std::size_t rows, std::size_t columns, std::size_t clusters, double offset) {
  const auto made = clouds<float>(rows, columns, 5, 2.5, offset, columns + clusters);
  const std::vector<double> centroids = spread_rows(made.view(), clusters);
  const std::string what = std::string(shoal::precision_name(kind.products)) + ", " + std::to_string(columns) +
                           " columns, K = " + std::to_string(clusters) + ", offset " + std::to_string(offset);
  double inertia = 0, fact = 0;
  const auto labels = labels_of(made, centroids, kind.products, inertia);
  const auto nearest = labels_of(made, centroids, shoal::precision::float32, fact);
  // Factors are of differences to the mean of the centroids.
  std::vector<double> origin(columns);
  for (std::size_t i = 0; i < centroids.size(); ++i) {
    origin[i % columns] += centroids[i] / static_cast<double>(clusters);
  }
  const auto from_origin = [&](const auto* at) {
    std::vector<double> shifted(columns);
    for (std::size_t j = 0; j < columns; ++j) shifted[j] = static_cast<double>(at[j]) - origin[j];
    return length(shifted);
  };
  double largest = 0;
  for (std::size_t k = 0; k < clusters; ++k) largest = std::max(largest, from_origin(&centroids[k * columns]));
  std::size_t different = 0;
  for (std::size_t i = 0; i < made.rows; ++i) {
    ASSERT_GE(labels[i], 0) << what;
    ASSERT_LT(labels[i], static_cast<std::int32_t>(clusters)) << what;
    if (labels[i] == nearest[i]) continue;
    ++different;
    const float* row = &made.values[i * columns];
    const auto distance = [&](std::int32_t k) {
      return kmeans_reference::squared_distance(row, &centroids[static_cast<std::size_t>(k) * columns], columns);
    };
    // Two scores, each with two factors rounded, twice for squared distances; and as much again for sums.
    const double magnitude = from_origin(row) * largest + largest * largest / 2;
    ASSERT_LE(distance(labels[i]) - distance(nearest[i]), 2 * 4.1 * kind.unit * magnitude) << what << ", row " << i;
  }
  EXPECT_LE(static_cast<double>(different), kind.share * static_cast<double>(made.rows)) << what;
  EXPECT_NEAR(inertia, fact, kind.inertia * fact) << what;
}

TEST(RoughProducts, LabelsAreNearestUpToTheRoundingOfFactors) {
  SHOAL_NEEDS_DEVICES(1);
  for (const rough& kind : kinds) {
    for (const std::size_t columns : {5, 16, 17, 32, 48, 64, 65, 100, 127, 128, 129, 145, 300}) {
      for (const std::size_t clusters : {1, 9, 64, 65, 129, 300}) {
        for (const double offset : {0.0, 1e4}) {
          check_labels(kind, 4099, columns, clusters, offset);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// As many rows as some precisions have another search for.
TEST(RoughProducts, LabelsOfManyRowsAreNearestToo) {
  SHOAL_NEEDS_DEVICES(1);
  for (const rough& kind : kinds) check_labels(kind, 70001, 120, 970, 0);
}

// The same on so few rows that compute-sanitizer's racecheck can follow.
TEST(RoughProducts, FewRowsOfEveryWidth) {
  SHOAL_NEEDS_DEVICES(1);
  for (const rough& kind : kinds) {
    for (const std::size_t columns : {16, 40, 64, 100, 128, 200}) check_labels(kind, 259, columns, 9, 0);
  }
}

// A fit's bits are those of another whose steps the host looks at one by one, and of one that went on from a
// checkpoint.
TEST(RoughProducts, FitsEndNearFloat32sWithTheSameBitsHoweverTheyAreCut) {
  SHOAL_NEEDS_DEVICES(1);
  for (const std::size_t columns : {40, 150}) {
    const auto made = clouds<float>(20011, columns, 9, 1.5);
    const std::vector<double> first = spread_rows(made.view(), 90);
    std::vector<double> mean(columns);
    for (std::size_t i = 0; i < made.values.size(); ++i) {
      mean[i % columns] += static_cast<double>(made.values[i]) / static_cast<double>(made.rows);
    }
    const auto fit = [&](shoal::precision products, std::size_t most_steps, std::size_t stop = 0) {
      on_device data(made, products);
      const auto seed = [&](std::size_t) { return first; };
      auto stepper = kmeans::make_device_lloyd<float>(data.rows, data.context, 90, seed, {}, mean);
      stepper->seed(0);
      for (std::size_t done = 0; done < 15;) {
        const auto steps = stepper->advance(std::min(most_steps, (done < stop ? stop : 15) - done));
        done += steps.size();
        if (steps.back().settled) break;
        if (done != stop) continue;
        const std::vector<double> saved = stepper->save();
        stepper = kmeans::make_device_lloyd<float>(data.rows, data.context, 90, seed, {}, mean);
        stepper->restore(saved);
      }
      return stepper->centroids();
    };
    double fact = 0, inertia = 0;
    labels_of(made, fit(shoal::precision::float32, 15), shoal::precision::float32, fact);
    for (const rough& kind : kinds) {
      const std::vector<double> centroids = fit(kind.products, 15);
      EXPECT_EQ(centroids, fit(kind.products, 15));
      EXPECT_EQ(centroids, fit(kind.products, 1));
      EXPECT_EQ(centroids, fit(kind.products, 4, 6));
      labels_of(made, centroids, shoal::precision::float32, inertia);
      EXPECT_NEAR(inertia, fact, 0.1 * fact);  // Lloyd's algorithm may end in another optimum; 5 % were seen
    }
  }
}

TEST(RoughProducts, ValuesBeyondFloat32sRangeStillHaveLabels) {
  SHOAL_NEEDS_DEVICES(1);
  for (const double scale : {1e-22, 3e18, 1e30}) {
    auto made = clouds<float>(3001, 20, 5, 3);
    for (float& value : made.values) value = static_cast<float>(value * scale);
    for (const rough& kind : kinds) {
      double inertia = 0;
      for (const std::int32_t label : labels_of(made, spread_rows(made.view(), 70), kind.products, inertia)) {
        ASSERT_GE(label, 0);
        ASSERT_LT(label, 70);
      }
    }
  }
}

}  // namespace
