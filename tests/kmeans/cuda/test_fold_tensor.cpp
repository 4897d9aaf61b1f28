// Rows of a few dozen columns that are labelled on the tensor cores and summed in the same pass: labels are those of
// the separate search, sums those of float64, and bits do not depend on how rows are cut.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/kmeans/cuda/fold.hpp>
#include <shoal/kmeans/cuda/fold_tensor.hpp>
#include <shoal/kmeans/cuda/lloyd.hpp>

#include "../../cuda_devices.hpp"
#include "../kmeans_reference.hpp"

namespace {

namespace kmeans = shoal::kmeans;
using kmeans_reference::spread_rows;
using kmeans_reference::table;
using shoal::precision;

constexpr precision kinds[] = {precision::float32, precision::tf32, precision::bf16};

struct on_device {
  on_device(const table<float>& made, precision products, std::size_t memory = 0, std::size_t shards = 1)
      : source(made.view()),
        workers(shoal::make_threads(2)),
        context{workers.get(), 0, {}},
        group(devices, products),
        rows(group, context, {&source, nullptr, 1}, memory, {.exactly = shards}) {}

  std::vector<int> devices{0};
  shoal::view_source<float> source;
  std::unique_ptr<shoal::executor> workers;
  shoal::fold_context context;
  shoal::cuda::device_group group;
  shoal::cuda::device_rows<float> rows;
};

// Exact labels of more columns are found in a pass of their own.
bool has_pass(precision products, std::size_t columns) {
  return products != precision::float32 || columns <= kmeans::most_exact_tensor_fold_columns;
}

struct folded {
  kmeans::statistics sums;
  std::vector<std::int32_t> labels;
};

folded fold(on_device& data, const std::vector<double>& centroids, double largest) {
  const std::size_t columns = data.rows.columns();
  kmeans::device_fold<float> fold(data.rows, centroids.size() / columns, {.largest = largest, .norm = largest});
  EXPECT_EQ(fold.sums_while_searching(), largest > 0 && has_pass(data.rows.group().precision(), columns));
  fold.upload(centroids);
  fold.begin({});
  folded got;
  got.labels.assign(data.rows.rows(), -1);
  fold.enqueue([&](const shoal::cuda::device_piece<float>& piece, const std::int32_t* labels, cudaStream_t stream) {
    shoal::cuda::check(cudaMemcpyAsync(got.labels.data() + piece.first, labels, piece.count * sizeof(std::int32_t),
                                       cudaMemcpyDefault, stream),
                       "copy labels");
  });
  got.sums = fold.read_statistics();
  data.rows.group().synchronize();
  return got;
}

// Rows enough, and some more, so that the last tile is not full.
std::size_t enough_rows() {
  const table<float> row{1, 1, {0}};
  const on_device data(row, precision::float32);
  return data.rows.group()[0].multiprocessors * kmeans::least_tensor_fold_rows + 777;
}

// Uniform rows about as many middles as there are of `groups`, `spread` wide. One row in 1000 is three times as far.
table<float> make_rows(std::size_t rows, std::size_t columns, std::size_t groups, double spread, double offset) {
  kmeans_reference::uniform u(columns + groups);
  table<float> made{rows, columns, {}};
  made.values.reserve(rows * columns);
  for (std::size_t i = 0; i < rows; ++i) {
    const double width = i % 1000 == 7 ? 3 * spread : spread;
    for (std::size_t j = 0; j < columns; ++j) {
      const auto middle = static_cast<double>((i * 7 + j * (i % 3)) % groups);
      made.values.push_back(static_cast<float>(offset + middle + width * (2 * u() - 1)));
    }
  }
  return made;
}

// What float64 makes of these labels.
kmeans::statistics sums_of(const table<float>& made, const std::vector<std::int32_t>& labels,
                           const std::vector<double>& centroids) {
  kmeans::statistics all;
  all.weights.assign(centroids.size() / made.columns, 0.0);
  all.sums.assign(centroids.size(), 0.0);
  all.inertia = 0;
  for (std::size_t i = 0; i < made.rows; ++i) {
    const auto k = static_cast<std::size_t>(labels[i]);
    all.weights[k] += 1;
    for (std::size_t j = 0; j < made.columns; ++j) {
      const double apart = static_cast<double>(made.values[i * made.columns + j]) - centroids[k * made.columns + j];
      all.sums[k * made.columns + j] += apart;
      all.inertia += apart * apart;
    }
  }
  return all;
}

void expect_same_bits(const folded& got, const folded& expected, const std::string& what) {
  EXPECT_EQ(got.labels, expected.labels) << what;
  EXPECT_EQ(got.sums.fingerprint, expected.sums.fingerprint) << what;
  EXPECT_EQ(got.sums.weights, expected.sums.weights) << what;
  EXPECT_EQ(got.sums.sums, expected.sums.sums) << what;
  EXPECT_EQ(got.sums.inertia, expected.sums.inertia) << what;
}

// Labels and fingerprint are those of the search alone, which other tests hold against the host; sums are float64's.
void expect_right(const table<float>& made, const std::vector<double>& centroids, precision products,
                  const std::string& what, double largest = 10) {
  on_device data(made, products);
  const folded got = fold(data, centroids, largest), apart = fold(data, centroids, 0);
  std::size_t different = 0;
  for (std::size_t i = 0; i < made.rows; ++i) different += got.labels[i] != apart.labels[i];
  ASSERT_EQ(different, 0U) << what;
  ASSERT_EQ(got.sums.fingerprint, apart.sums.fingerprint) << what;
  const kmeans::statistics fact = sums_of(made, got.labels, centroids);
  EXPECT_EQ(got.sums.weights, fact.weights) << what;
  EXPECT_NEAR(got.sums.inertia, fact.inertia, 1e-6 * fact.inertia) << what;
  const double deviation = std::sqrt(fact.inertia / static_cast<double>(made.rows));
  for (std::size_t i = 0; i < centroids.size(); ++i) {
    const double scale = fact.weights[i / made.columns] * deviation;
    ASSERT_NEAR(got.sums.sums[i], fact.sums[i], 1e-6 * scale + 1e-300) << what << ", sum " << i;
  }
  expect_same_bits(fold(data, centroids, largest), got, what + ", again");
}

TEST(FoldTensor, LabelsAreThoseOfTheSearchAndSumsThoseOfFloat64) {
  SHOAL_NEEDS_DEVICES(1);
  const std::size_t rows = enough_rows();
  struct shape {
    std::size_t columns, clusters;
  };
  // Columns and clusters on both sides of a chunk and of a tile, and as many as there is room for.
  for (const shape& s : {shape{13, 2}, shape{16, 128}, shape{17, 65}, shape{31, 1}, shape{32, 10}, shape{24, 64},
                         shape{33, 64}, shape{47, 33}, shape{48, 64}}) {
    const bool far = s.clusters % 2 == 0;  // from the origin, and wide
    const table<float> made = make_rows(rows + s.clusters, s.columns, 5, far ? 3 : 0.7, far ? 1e4 : 0);
    const std::vector<double> centroids = spread_rows(made.view(), s.clusters);
    for (const precision products : kinds) {
      expect_right(made, centroids, products,
                   std::to_string(s.columns) + " columns, K = " + std::to_string(s.clusters) + ", " +
                       std::string(shoal::precision_name(products)));
      if (HasFatalFailure()) return;
    }
  }
}

// Rows of a lattice between twins, and between centroids that only float64 tells apart.
TEST(FoldTensor, TiesGoToTheLowestIndex) {
  SHOAL_NEEDS_DEVICES(1);
  for (const std::size_t columns : {16, 31}) {
    for (const std::size_t clusters : {7, 40}) {
      kmeans_reference::uniform u(columns);
      table<float> lattice{enough_rows(), columns, {}};
      for (std::size_t i = 0; i < lattice.rows * columns; ++i) {
        lattice.values.push_back(static_cast<float>(std::floor(2 * u())));
      }
      std::vector<double> centroids = spread_rows(lattice.view(), clusters);
      for (std::size_t j = 0; j < columns; ++j) {
        centroids[(clusters - 1) * columns + j] = centroids[j];
        centroids[2 * columns + j] = std::nextafter(centroids[columns + j], 100.0);
      }
      expect_right(lattice, centroids, precision::float32, "lattice of " + std::to_string(columns));
    }
  }
}

// Centroids so far away that squares of distances leave float32, and clusters that no row is in.
TEST(FoldTensor, CentroidsMayBeFarAway) {
  SHOAL_NEEDS_DEVICES(1);
  const table<float> made = make_rows(enough_rows(), 24, 3, 0.7, 0);
  for (const double far : {1e6, 1e18, 1e25}) {
    std::vector<double> centroids = spread_rows(made.view(), 9);
    for (std::size_t i = 0; i < centroids.size(); ++i) centroids[i] += i / 24 % 3 == 0 ? far : 0;
    for (const precision products : kinds) expect_right(made, centroids, products, std::to_string(far));
    for (double& value : centroids) value = far;
    for (const precision products : kinds) expect_right(made, centroids, products, "all " + std::to_string(far));
  }
}

TEST(FoldTensor, BitsAreThoseOfRowsInPiecesAndOfShards) {
  SHOAL_NEEDS_DEVICES(1);
  struct shape {
    std::size_t columns, clusters;
  };
  const std::size_t rows = 3 * enough_rows() + 777;
  for (const shape& s : {shape{16, 100}, shape{33, 10}, shape{33, 60}, shape{32, 33}}) {
    const table<float> made = make_rows(rows, s.columns, 5, 0.7, 100);
    const std::vector<double> centroids = spread_rows(made.view(), s.clusters);
    for (const std::size_t shards : {1, 3}) {
      for (const precision products : kinds) {
        on_device resident(made, products, 0, shards);
        const folded expected = fold(resident, centroids, 10);
        for (const std::size_t parts : {3, 7}) {
          on_device streamed(made, products, made.values.size() * sizeof(float) / parts, shards);
          ASSERT_FALSE(streamed.rows.resident());
          expect_same_bits(fold(streamed, centroids, 10), expected, std::to_string(s.columns) + " columns in pieces");
        }
      }
    }
  }
}

TEST(FoldTensorShape, HasRoomForTheSumsOfItsWarps) {
  const auto warps = [](std::size_t rows, std::size_t columns, std::size_t clusters, precision products) {
    return kmeans::make_tensor_fold_plan({rows, rows, rows}, clusters, columns, products, 132, 227 << 10).warps;
  };
  const std::size_t enough = 132 * kmeans::least_tensor_fold_rows;
  for (const precision products : kinds) {
    EXPECT_EQ(warps(enough - 1, 32, 10, products), 0);
    EXPECT_EQ(warps(enough, 32, 10, products), 16);
    EXPECT_EQ(warps(enough, 16, 100, products), 16);
    EXPECT_EQ(warps(enough, 16, 128, products), 16);
    EXPECT_EQ(warps(enough, 16, 129, products), 0);
    EXPECT_EQ(warps(enough, 32, 128, products), 0);
    EXPECT_EQ(warps(enough, 12, 10, products), 0);
    EXPECT_EQ(warps(enough, 33, 10, products), products == precision::float32 ? 0 : 16);
    EXPECT_EQ(warps(enough, 48, 64, products), products == precision::float32 ? 0 : 8);
    EXPECT_EQ(warps(enough, 49, 2, products), 0);
  }
}

}  // namespace
