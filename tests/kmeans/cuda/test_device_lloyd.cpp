// Lloyd's algorithm on a GPU against the CPU's: labels and statistics. Whole fits: test_device_fits.cpp.
#include <cmath>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <shoal/execution/cuda/device_piece.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/kmeans/cuda/fold.hpp>
#include <shoal/kmeans/cuda/lloyd.hpp>
#include <shoal/kmeans/fit.hpp>
#include <shoal/kmeans/lloyd.hpp>
#include <shoal/kmeans/predict.hpp>

#include "../../cuda_devices.hpp"
#include "../kmeans_reference.hpp"
#include "rows_on_device.hpp"

namespace {

namespace kmeans = shoal::kmeans;
using kmeans_on_device::on_device;
using kmeans_reference::clouds;
using kmeans_reference::spread_rows;
using kmeans_reference::table;

kmeans::statistics fold_once(auto& data, const std::vector<double>& centroids, std::size_t clusters) {
  kmeans::device_fold fold(data.rows, clusters);
  fold.upload(centroids);
  fold.begin({});
  fold.enqueue();
  return fold.read_statistics();
}

template <class Scalar>
void expect_like_cpu(const table<Scalar>& made, const std::vector<double>& centroids, const std::string& what,
                     const std::vector<Scalar>* weights = nullptr) {
  const std::size_t clusters = centroids.size() / made.columns;
  on_device<Scalar> data(made.view(), weights);
  const kmeans::model model{clusters, made.columns, centroids, {}};
  std::vector<std::int32_t> labels(made.rows, -1), expected(made.rows, -2);
  const double inertia = kmeans::predict_on_device(data.rows, model, labels.data()).inertia;
  const double expected_inertia =
      kmeans::predict(model, data.source, expected.data(), 2, 0, data.weight_source.get(), {});
  std::size_t different = 0;
  for (std::size_t i = 0; i < made.rows; ++i) different += labels[i] != expected[i];
  ASSERT_EQ(different, 0u) << what;
  EXPECT_NEAR(inertia, expected_inertia, 1e-6 * expected_inertia) << what;

  const kmeans::statistics got = fold_once(data, centroids, clusters);
  kmeans::prepared_centroids<Scalar> prepared;
  prepared.set(centroids, clusters, made.columns);
  const kmeans::statistics fact =
      shoal::fold<Scalar>(data.context, data.scaled.data(), kmeans::statistics_monoid{clusters, made.columns},
                          kmeans::accumulate_body<Scalar>{&prepared});
  ASSERT_EQ(got.fingerprint, fact.fingerprint) << what;
  EXPECT_NEAR(got.inertia, fact.inertia, 1e-6 * fact.inertia) << what;
  for (std::size_t k = 0; k < clusters; ++k) {
    ASSERT_NEAR(got.weights[k], fact.weights[k], 1e-6 * fact.weights[k]) << what << ", cluster " << k;
    const double scale = fact.weights[k] * std::sqrt(fact.inertia / static_cast<double>(made.rows));
    for (std::size_t j = 0; j < made.columns; ++j) {
      ASSERT_NEAR(got.sums[k * made.columns + j], fact.sums[k * made.columns + j], 1e-6 * scale + 1e-300)
          << what << ", cluster " << k << ", column " << j;
    }
  }
}

template <class Scalar>
class DeviceLloyd : public testing::Test {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(DeviceLloyd, scalars);

TYPED_TEST(DeviceLloyd, LabelsAndSumsAreTheCpus) {
  SHOAL_NEEDS_DEVICES(1);
  for (const std::size_t columns : {1, 2, 3, 7, 16, 31, 33, 128, 257}) {
    for (const std::size_t clusters : {1, 2, 3, 16, 17, 64, 129, 1000}) {
      for (const std::size_t rows : {1, 31, 33, 255, 4095, 4097, 7919}) {
        if (rows < clusters) continue;
        if (rows > 4095 && columns * clusters > 40000 && rows != 7919) continue;  // keep the CPU's part short
        const auto made = clouds<TypeParam>(rows, columns, 5, 2.5, 0, rows + columns);
        expect_like_cpu(made, spread_rows(made.view(), clusters),
                        std::to_string(rows) + " x " + std::to_string(columns) + ", K = " + std::to_string(clusters));
      }
    }
  }
}

// Shapes in which a block cannot hold all clusters, or not all columns of one, or shared memory not all centroids.
TYPED_TEST(DeviceLloyd, ManyClustersAndManyColumns) {
  SHOAL_NEEDS_DEVICES(1);
  struct shape {
    std::size_t rows, columns, clusters;
  };
  for (const shape& s : {shape{6007, 3, 3000}, shape{5003, 100, 600}, shape{607, 5000, 20}, shape{4099, 3000, 2}}) {
    const auto made = clouds<TypeParam>(s.rows, s.columns, 5, 2.5);
    expect_like_cpu(made, spread_rows(made.view(), s.clusters),
                    std::to_string(s.rows) + " x " + std::to_string(s.columns));
  }
}

// So many rows that up to 128 columns are multiplied in float16 too: by half a tile of 256 clusters at a time, with
// clusters on both sides of halves and tiles, and rows on both sides of a tile of rows.
TYPED_TEST(DeviceLloyd, ManyRowsOfAtMost128Columns) {
  SHOAL_NEEDS_DEVICES(1);
  struct shape {
    std::size_t rows, columns, clusters;
  };
  for (const shape& s : {shape{65'536, 65, 256}, shape{65'537, 128, 470}, shape{65'599, 96, 512},
                         shape{65'601, 97, 700}, shape{65'664, 80, 931}, shape{65'665, 128, 641}}) {
    const auto made = clouds<TypeParam>(s.rows, s.columns, 5, 2.5, s.columns % 2 == 0 ? 0 : 100, s.rows);
    expect_like_cpu(made, spread_rows(made.view(), s.clusters),
                    std::to_string(s.rows) + " x " + std::to_string(s.columns) + ", K = " + std::to_string(s.clusters));
  }
}

// Widths on both sides of a slab of columns, with rows on both sides of a tile of rows.
TYPED_TEST(DeviceLloyd, RowsOfAnyWidth) {
  SHOAL_NEEDS_DEVICES(1);
  for (const std::size_t columns :
       {5, 48, 49, 64, 65, 129, 130, 144, 145, 192, 256, 300, 512, 513, 768, 1000, 1535, 1536, 1537, 4096}) {
    for (const std::size_t clusters : {9, 33, 100, 257}) {
      for (const std::size_t rows : {127, 128, 129, 300, 2501}) {
        if (rows < clusters || (rows > 129 && columns * clusters > 100000)) continue;
        const auto made = clouds<TypeParam>(rows, columns, 5, 2.5, columns % 2 == 0 ? 0 : 100, rows + columns);
        expect_like_cpu(made, spread_rows(made.view(), clusters),
                        std::to_string(rows) + " x " + std::to_string(columns) + ", K = " + std::to_string(clusters));
      }
    }
  }
}

// Clusters on both sides of a narrow tile, with rows on both sides of a lane's and columns on both sides of a block's.
TYPED_TEST(DeviceLloyd, FewWideClustersOfFewRows) {
  SHOAL_NEEDS_DEVICES(1);
  for (const std::size_t columns : {255, 256, 257, 640, 1025}) {
    for (const std::size_t clusters : {2, 63, 64, 65, 127, 128, 129}) {
      for (const std::size_t rows : {511, 513, 1030}) {
        if (columns * clusters > 70000) continue;
        const auto made = clouds<TypeParam>(rows, columns, 5, 2.5, columns % 2 == 0 ? 0 : 100, rows + columns);
        expect_like_cpu(made, spread_rows(made.view(), clusters),
                        std::to_string(rows) + " x " + std::to_string(columns) + ", K = " + std::to_string(clusters));
      }
    }
  }
}

// Centroids that only float64 tells apart, some of them not at all: rows are in doubt between many of them.
TYPED_TEST(DeviceLloyd, RowsInDoubtAmongManyCentroids) {
  SHOAL_NEEDS_DEVICES(1);
  for (const std::size_t columns : {127, 128, 129, 511, 512, 513, 1537}) {
    for (const std::size_t clusters : {2, 5, 32, 33, 63, 64, 65}) {
      const auto made = clouds<TypeParam>(2503, columns, 5, 2.5, 0, columns);
      const std::size_t distinct = clusters < 5 ? 1 : 2;
      std::vector<double> centroids(clusters * columns);
      const std::vector<double> some = spread_rows(made.view(), distinct);
      for (std::size_t k = 0; k < clusters; ++k) {
        for (std::size_t j = 0; j < columns; ++j) {
          const double apart = k % 7 == 3 ? 0 : 1e-9 * static_cast<double>((k * 37 + j * 11) % 13);
          centroids[k * columns + j] = some[k % distinct * columns + j] + apart;
        }
      }
      const kmeans::model model{clusters, columns, centroids, {}};
      on_device<TypeParam> data(made.view());
      std::vector<std::int32_t> labels(made.rows), expected(made.rows);
      kmeans::predict_on_device(data.rows, model, labels.data());
      kmeans::predict(model, data.source, expected.data());
      EXPECT_EQ(labels, expected) << columns << " columns, K = " << clusters;
    }
  }
}

// So many rows that every block of a search has several tiles of them, one after another.
TYPED_TEST(DeviceLloyd, ManyTilesOfRows) {
  SHOAL_NEEDS_DEVICES(1);
  for (const std::size_t columns : {65, 130}) {
    const auto made = clouds<TypeParam>(90001, columns, 5, 2.5);
    expect_like_cpu(made, spread_rows(made.view(), 256), std::to_string(columns) + " columns");
  }
}

// Rows whose first columns do not tell how large they are, rows of zeros, and rows far larger than all centroids.
TYPED_TEST(DeviceLloyd, RowsOfManySizes) {
  SHOAL_NEEDS_DEVICES(1);
  auto made = clouds<TypeParam>(2003, 200, 5, 2.5);
  for (std::size_t i = 0; i < made.rows; ++i) {
    const double factor = i % 7 == 0 ? 0 : std::pow(10.0, static_cast<double>(i % 31) - 15);
    for (std::size_t j = 0; j < made.columns; ++j) {
      TypeParam& value = made.values[i * made.columns + j];
      value = static_cast<TypeParam>(i % 3 == 0 && j < 150 ? 0 : static_cast<double>(value) * factor);
    }
  }
  std::vector<double> centroids = spread_rows(made.view(), 70);
  for (const double scale : {1e-12, 1.0}) {
    for (double& value : centroids) value *= scale;
    const kmeans::model model{70, made.columns, centroids, {}};
    on_device<TypeParam> data(made.view());
    std::vector<std::int32_t> labels(made.rows), expected(made.rows);
    kmeans::predict_on_device(data.rows, model, labels.data());
    kmeans::predict(model, data.source, expected.data());
    EXPECT_EQ(labels, expected) << scale;
  }
}

// Shapes whose rows a warp takes (is_wide), and their neighbours.
TYPED_TEST(DeviceLloyd, FewClustersAndManyColumns) {
  SHOAL_NEEDS_DEVICES(1);
  for (const std::size_t columns : {63, 64, 65, 127, 128, 129, 254, 256, 257}) {
    for (const std::size_t clusters : {1, 2, 3, 4, 5, 8, 9}) {
      for (const double offset : {0.0, 1e5}) {
        const auto made = clouds<TypeParam>(2051, columns, 5, 2.5, offset);
        std::vector<TypeParam> weights;
        for (std::size_t i = 0; i < made.rows; ++i) weights.push_back(static_cast<TypeParam>(i % 3));
        expect_like_cpu(made, spread_rows(made.view(), clusters),
                        std::to_string(columns) + " columns, K = " + std::to_string(clusters),
                        clusters % 2 == 0 ? &weights : nullptr);
      }
    }
  }
}

// Rows enough for sums in shared memory (is_few), and one too few; numbers of columns on both sides of each power of
// two and of each way to find a distance, so many clusters that blocks have 16 warps and fewer, and too many of both.
TYPED_TEST(DeviceLloyd, FewColumnsAndManyRows) {
  SHOAL_NEEDS_DEVICES(1);
  struct shape {
    std::size_t columns, clusters;
  };
  const table<TypeParam> row{1, 1, {0}};
  const on_device<TypeParam> data(row.view());
  const std::size_t enough = data.rows.group()[0].multiprocessors * kmeans::least_few_rows;
  for (const shape& s :
       {shape{1, 9},   shape{1, 41},  shape{1, 120}, shape{1, 300}, shape{1, 400}, shape{2, 11},  shape{2, 40},
        shape{2, 64},  shape{2, 65},  shape{3, 20},  shape{3, 39},  shape{3, 63},  shape{4, 33},  shape{4, 64},
        shape{5, 1},   shape{5, 2},   shape{7, 33},  shape{8, 64},  shape{9, 40},  shape{12, 40}, shape{12, 64},
        shape{13, 17}, shape{2, 66},  shape{2, 129}, shape{2, 190}, shape{3, 97},  shape{3, 190}, shape{4, 65},
        shape{4, 102}, shape{4, 110}, shape{5, 65},  shape{5, 94},  shape{8, 65},  shape{8, 95},  shape{8, 101},
        shape{9, 97},  shape{12, 65}, shape{12, 93}, shape{12, 120}}) {
    const auto made = clouds<TypeParam>(s.clusters == 39 ? enough - 1 : enough + s.clusters, s.columns, 5, 2.5,
                                        s.columns % 2 == 0 ? 0 : 100, s.columns);
    std::vector<TypeParam> weights;
    for (std::size_t i = 0; i < made.rows; ++i) weights.push_back(static_cast<TypeParam>(i % 3));
    expect_like_cpu(made, spread_rows(made.view(), s.clusters),
                    std::to_string(s.columns) + " columns, K = " + std::to_string(s.clusters),
                    s.clusters % 2 == 0 ? &weights : nullptr);
  }
}

// Squares that float32 loses below its normal numbers, and squares and sums beyond its range.
TYPED_TEST(DeviceLloyd, FewColumnsOfAnyMagnitude) {
  SHOAL_NEEDS_DEVICES(1);
  const table<TypeParam> row{1, 1, {0}};
  const on_device<TypeParam> data(row.view());
  const std::size_t rows = data.rows.group()[0].multiprocessors * kmeans::least_few_rows + 77;
  for (const std::size_t columns : {1, 3, 5, 12}) {
    for (const float scale : {1e-30F, 1e-22F, 1e-17F, 1e15F, 1e20F, 1e30F, 1e37F}) {
      auto made = clouds<TypeParam>(rows, columns, 5, 2.5, 0, static_cast<unsigned>(columns));
      for (TypeParam& value : made.values) value *= static_cast<TypeParam>(scale);
      expect_like_cpu(made, spread_rows(made.view(), 9),
                      std::to_string(columns) + " columns times " + std::to_string(static_cast<double>(scale)));
    }
  }
}

// Every search and every way to sum, on so few rows that compute-sanitizer's racecheck can follow: labels, sums, and
// the centroids of two steps.
TYPED_TEST(DeviceLloyd, FewRowsByEveryKernel) {
  SHOAL_NEEDS_DEVICES(1);
  struct shape {
    std::size_t columns, clusters;
  };
  for (const shape& s : {shape{2, 3}, shape{3, 100}, shape{16, 70}, shape{40, 130}, shape{100, 4}, shape{128, 65},
                         shape{130, 70}, shape{200, 257}}) {
    const auto made = clouds<TypeParam>(259, s.columns, 5, 2.5);
    const std::vector<double> first = spread_rows(made.view(), s.clusters);
    const std::string what = std::to_string(s.columns) + " columns, K = " + std::to_string(s.clusters);
    expect_like_cpu(made, first, what);
    kmeans::options options;
    options.clusters = s.clusters;
    options.init = kmeans::seeding::centroids;
    options.centroids = first;
    options.tolerance = 0;
    options.max_iterations = 2;
    const kmeans::model expected = kmeans::fit(made.view(), options).model;
    on_device<TypeParam> data(made.view());
    const auto stepper = kmeans::make_device_lloyd<TypeParam>(
        data.rows, data.context, s.clusters, [&](std::size_t) { return first; }, {}, data.summary.mean);
    stepper->seed(0);
    for (int step = 0; step < 2; ++step) stepper->advance(1);
    const std::vector<double> got = stepper->centroids();
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected.centroids[i], 1e-5) << what;
  }
}

TYPED_TEST(DeviceLloyd, TiesGoToTheLowestIndex) {
  SHOAL_NEEDS_DEVICES(1);
  for (const std::size_t columns : {1, 2, 5, 16, 128}) {
    for (const std::size_t clusters : {2, 7, 40, 200}) {
      kmeans_reference::uniform u(columns);
      table<TypeParam> lattice{5003, columns, {}};
      for (std::size_t i = 0; i < lattice.rows * columns; ++i)
        lattice.values.push_back(static_cast<TypeParam>(std::floor(4 * u())));
      std::vector<double> centroids = spread_rows(lattice.view(), clusters);
      for (std::size_t j = 0; j < columns; ++j) centroids[(clusters - 1) * columns + j] = centroids[j];  // twins
      expect_like_cpu(lattice, centroids, "lattice of " + std::to_string(columns));
    }
  }
}

TYPED_TEST(DeviceLloyd, KeepsDigitsAtALargeOffset) {
  SHOAL_NEEDS_DEVICES(1);
  for (const std::size_t columns : {2, 16, 100}) {
    const auto made = clouds<TypeParam>(9001, columns, 5, 3, 1e6);
    expect_like_cpu(made, spread_rows(made.view(), 50), "offset");
  }
}

TYPED_TEST(DeviceLloyd, HugeAndTinyValuesKeepTheirLabels) {
  SHOAL_NEEDS_DEVICES(1);
  for (const double scale : {1e-22, 1e-19, 1e17, 3e18}) {
    auto made = clouds<TypeParam>(3001, 20, 5, 3);
    for (TypeParam& value : made.values) value = static_cast<TypeParam>(value * scale);
    const kmeans::model model{70, 20, spread_rows(made.view(), 70), {}};
    on_device<TypeParam> data(made.view());
    std::vector<std::int32_t> labels(made.rows), expected(made.rows);
    kmeans::predict_on_device(data.rows, model, labels.data());
    kmeans::predict(model, data.source, expected.data());
    EXPECT_EQ(labels, expected) << scale;
  }
}

TYPED_TEST(DeviceLloyd, WeightsCount) {
  SHOAL_NEEDS_DEVICES(1);
  for (const std::size_t columns : {2, 17, 130}) {
    const auto made = clouds<TypeParam>(6007, columns, 5, 3);
    std::vector<TypeParam> weights;
    kmeans_reference::uniform u(7);
    for (std::size_t i = 0; i < made.rows; ++i) weights.push_back(static_cast<TypeParam>(i % 5 == 0 ? 0 : 7 * u()));
    for (const std::size_t clusters : {33, 99, 100}) {
      expect_like_cpu(made, spread_rows(made.view(), clusters), "weights", &weights);
    }
  }
}

// So many of these rows that warps have several blocks of them and share the last ones; and rows that do not fit, whose
// pieces end anywhere among the blocks of a warp, have the same bits.
TYPED_TEST(DeviceLloyd, ManyRowsOfFewColumnsHaveTheSameBitsInPieces) {
  SHOAL_NEEDS_DEVICES(1);
  const table<TypeParam> row{1, 1, {0}};
  const on_device<TypeParam> data(row.view());
  const std::size_t enough = data.rows.group()[0].multiprocessors * kmeans::least_few_rows;
  for (const std::size_t columns : {1, 3, 10}) {
    const auto made = clouds<TypeParam>(3 * enough + 777, columns, 5, 2.5, 1e4, columns);
    const std::vector<double> centroids = spread_rows(made.view(), 20);
    expect_like_cpu(made, centroids, std::to_string(columns) + " columns");
    on_device<TypeParam> resident(made.view());
    on_device<TypeParam> streamed(made.view(), nullptr, made.values.size() * sizeof(TypeParam) / 3);
    ASSERT_TRUE(resident.rows.resident());
    ASSERT_FALSE(streamed.rows.resident());
    const kmeans::statistics expected = fold_once(resident, centroids, 20), got = fold_once(streamed, centroids, 20);
    EXPECT_EQ(got.fingerprint, expected.fingerprint) << columns;
    EXPECT_EQ(got.weights, expected.weights) << columns;
    EXPECT_EQ(got.sums, expected.sums) << columns;
    EXPECT_EQ(got.inertia, expected.inertia) << columns;
  }
}

// The same of rows enough for sums in shared memory, with twins and with centroids that only float64 tells apart.
TYPED_TEST(DeviceLloyd, TiesOfManyRowsOfFewColumnsGoToTheLowestIndex) {
  SHOAL_NEEDS_DEVICES(1);
  const table<TypeParam> row{1, 1, {0}};
  const on_device<TypeParam> data(row.view());
  const std::size_t enough = data.rows.group()[0].multiprocessors * kmeans::least_few_rows;
  for (const std::size_t columns : {1, 2, 3, 5, 10}) {
    for (const std::size_t clusters : {2, 7, 40}) {
      kmeans_reference::uniform u(columns);
      table<TypeParam> lattice{enough, columns, {}};
      for (std::size_t i = 0; i < enough * columns; ++i) {
        lattice.values.push_back(static_cast<TypeParam>(std::floor((columns == 1 ? 64 : 4) * u())));
      }
      std::vector<double> centroids = spread_rows(lattice.view(), clusters);
      for (std::size_t j = 0; j < columns; ++j) {
        centroids[(clusters - 1) * columns + j] = centroids[j];
        if (clusters > 2) centroids[2 * columns + j] = std::nextafter(centroids[columns + j], 100.0);
      }
      expect_like_cpu(lattice, centroids,
                      "lattice of " + std::to_string(columns) + ", K = " + std::to_string(clusters));
    }
  }
}

TEST(DeviceLloydShape, FewColumnsAndClustersOfManyRowsAreLabelledAndSummedInOnePass) {
  const auto is_few = [](std::size_t rows, std::size_t columns, std::size_t clusters, std::size_t scalar_bytes = 4) {
    return kmeans::is_few({rows, rows, rows}, clusters, columns, scalar_bytes, 132, 227 << 10);
  };
  const std::size_t enough = 132 * kmeans::least_few_rows;
  EXPECT_TRUE(is_few(enough, 3, 20));
  EXPECT_FALSE(is_few(enough - 1, 3, 20));
  for (const std::size_t scalar_bytes : {4, 8}) {
    for (const std::size_t columns : {2, 4, 5, 8, 12}) {
      EXPECT_TRUE(is_few(enough, columns, 64, scalar_bytes)) << columns;
      EXPECT_EQ(is_few(enough, columns, 65, scalar_bytes), scalar_bytes == 4 || columns >= 5) << columns;
      EXPECT_FALSE(is_few(enough, columns, 200, scalar_bytes)) << columns;
    }
    EXPECT_FALSE(is_few(enough, 13, 20, scalar_bytes));
    EXPECT_TRUE(is_few(enough, 1, 96, scalar_bytes));
    EXPECT_FALSE(is_few(enough, 1, 600, scalar_bytes));
    const kmeans::sum_plan plan = kmeans::make_few_plan({enough, enough, enough}, 40, 12, scalar_bytes, 132, 227 << 10);
    EXPECT_EQ(plan.warps, 16);
    EXPECT_EQ(plan.sharers, 1);
    const kmeans::sum_plan most = kmeans::make_few_plan({enough, enough, enough}, 96, 1, scalar_bytes, 132, 227 << 10);
    EXPECT_EQ(most.warps, scalar_bytes == 4 ? 16 : 8);
    EXPECT_EQ(most.sharers, scalar_bytes == 4 ? 2 : 1);
  }
}

}  // namespace
