// The search by a bound for every row and centroid: labels are those of the float64 definition, and each bound is one.
#define SHOAL_INTEGER_PRODUCTS
#include <shoal/core/simd_targets.hpp>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <shoal/nearest/bounded_search.hpp>
#include <shoal/nearest/nearest.hpp>

#include "../kmeans/kmeans_reference.hpp"

namespace {

using kmeans_reference::clouds;
using rows_view = shoal::matrix_view<const float>;

double distance(rows_view rows, std::size_t i, const double* centroid) {
  double squared = 0;
  for (std::size_t j = 0; j < rows.columns(); ++j) {
    squared += (static_cast<double>(rows(i, j)) - centroid[j]) * (static_cast<double>(rows(i, j)) - centroid[j]);
  }
  return std::sqrt(squared);
}

// Searches again and again while the centroids move; some far, some a little, some not at all.
class moving_search {
 public:
  moving_search(rows_view rows, std::vector<double> centroids, double unit)
      : rows_(rows),
        clusters_(centroids.size() / rows.columns()),
        centroids_(std::move(centroids)),
        origin_(rows.columns()),
        labels_(kmeans_reference::nearest(rows_, centroids_)) {
    kept_.grow(rows.rows(), clusters_, rows.columns());
    kept_.forget_bounds(static_cast<float>(unit));
    kept_.clear_bounds(0, rows.rows());
    choose_origin();
  }

  void choose_origin() {
    for (std::size_t j = 0; j < rows_.columns(); ++j) origin_[j] = static_cast<float>(centroids_[j]);
    kept_.forget_bytes();
  }

  void move(double most, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    for (std::size_t k = 0; k < clusters_; ++k) {
      const double way = k % 3 == 0 ? 0 : k % 3 == 1 ? most : most / 30;
      for (std::size_t j = 0; j < rows_.columns(); ++j) {
        next_.push_back(centroids_[k * rows_.columns() + j] +
                        way * normal(random) / std::sqrt(static_cast<double>(rows_.columns())));
      }
    }
    std::vector<double> moved(clusters_);
    for (std::size_t k = 0; k < clusters_; ++k) {
      double squared = 0;
      for (std::size_t j = k * rows_.columns(); j < (k + 1) * rows_.columns(); ++j) {
        squared += (next_[j] - centroids_[j]) * (next_[j] - centroids_[j]);
      }
      moved[k] = std::sqrt(squared);
    }
    centroids_.swap(next_);
    next_.clear();
    kept_.set_drifts(moved);
  }

  // Returns how many of all pairs were compared.
  double search_and_check(const std::string& what) {
    const shoal::centroid_index<float> index = [&] {
      shoal::centroid_index<float> made;
      made.set(centroids_, clusters_, rows_.columns(), rows_.rows(), nullptr, origin_, true);
      return made;
    }();
    EXPECT_TRUE(shoal::byte_centroids::may_be(index)) << what;
    shoal::byte_centroids bytes;
    bytes.set(index, nullptr);
    std::vector<float> rounded(centroids_.begin(), centroids_.end());
    double largest = 0;
    for (std::size_t k = 0; k < clusters_; ++k) {
      double norm = 0;
      for (std::size_t j = k * rows_.columns(); j < (k + 1) * rows_.columns(); ++j)
        norm += centroids_[j] * centroids_[j];
      largest = std::max(largest, norm);
    }
    const auto norm = static_cast<float>(std::sqrt(largest) * 1.0001);
    const std::vector<std::int32_t> expected = kmeans_reference::nearest(rows_, centroids_);
    scratch_.compared = 0;
    // In two calls, as a fit makes them.
    for (const auto& [first, count] : {std::pair<std::size_t, std::size_t>{0, rows_.rows() / 3},
                                       {rows_.rows() / 3, rows_.rows() - rows_.rows() / 3}}) {
      const shoal::bounded_call call{
          &index, &bytes, rounded.data(), norm, rows_.middle_rows(first, count), first, rows_.rows() - first - count};
      const std::size_t doubts = shoal::find_nearest_bounded(call, labels_.data() + first, kept_, scratch_);
      doubts_ += doubts;
      for (std::size_t n = 0; n < doubts; ++n) {
        const std::size_t i = first + static_cast<std::size_t>(scratch_.doubtful[n]);
        labels_[i] = expected[i];
      }
    }
    EXPECT_EQ(labels_, expected) << what;
    for (std::size_t i = 0; i < rows_.rows(); ++i) {
      for (std::size_t k = 0; k < clusters_; ++k) {
        if (static_cast<std::int32_t>(k) == labels_[i]) continue;
        const double bound = static_cast<double>(kept_.bounds(i)[k]) * static_cast<double>(kept_.unit());
        EXPECT_LE(bound, distance(rows_, i, centroids_.data() + k * rows_.columns()))
            << what << " row " << i << " k " << k;
      }
    }
    return static_cast<double>(scratch_.compared) / static_cast<double>(rows_.rows() * clusters_);
  }

  std::size_t doubts() const { return doubts_; }

 private:
  rows_view rows_;
  std::size_t clusters_;
  std::vector<double> centroids_;
  std::vector<double> next_;
  std::vector<float> origin_;
  std::vector<std::int32_t> labels_;
  shoal::bounded_rows kept_;
  shoal::bounded_scratch scratch_;
  std::size_t doubts_ = 0;
};

class BoundedSearch : public testing::Test {
 protected:
  void SetUp() override {
    if ((hwy::SupportedTargets() & HWY_TARGETS & HWY_AVX2) == 0) GTEST_SKIP() << "no AVX2 here";
    hwy::SetSupportedTargetsForTest(HWY_AVX2);
    ASSERT_TRUE(shoal::has_bounded_search());
  }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
};

TEST_F(BoundedSearch, IsExactWhileCentroidsMove) {
  for (const std::size_t columns : {1, 31, 32, 33, 100, 255, 257, 300, 521}) {
    for (const std::size_t clusters : {1, 2, 31, 32, 33, 130}) {
      const std::string what = std::to_string(columns) + " columns, K " + std::to_string(clusters);
      const auto data = clouds<float>(131, columns, 9, 0.2, 0, columns);
      moving_search search(data.view(), clouds<double>(clusters, columns, 9, 0.2, 0, 78).values,
                           4 * std::sqrt(static_cast<double>(columns)) / 65534);
      for (std::uint32_t step = 0; step < 6; ++step) {
        search.move(step == 3 ? 5 : 0.3, step);
        if (step == 4) search.choose_origin();
        search.search_and_check(what + " step " + std::to_string(step));
      }
    }
  }
}

TEST_F(BoundedSearch, ComparesFewAgainWhereLittleMoves) {
  const auto data = clouds<float>(300, 300, 64, 0, 0, 5);
  moving_search search(data.view(), clouds<double>(64, 300, 64, 0, 0, 78).values, 50.0 / 65534);
  search.move(0.1, 0);
  EXPECT_GT(search.search_and_check("first"), 0.98);
  search.move(0.01, 1);
  EXPECT_LT(search.search_and_check("then"), 0.1);
  search.move(0.01, 2);
  EXPECT_LT(search.search_and_check("again"), 0.1);
}

TEST_F(BoundedSearch, IsExactFarFromTheOriginForClustersFarApartAndForAnyUnit) {
  for (const double offset : {0.0, 1e4}) {
    for (const double separation : {0.0, 3.0, 1e3}) {
      for (const double unit : {1e-5, 1e-2, 10.0}) {
        const auto data = clouds<float>(150, 200, 20, separation, offset, 3);
        moving_search search(data.view(), clouds<double>(40, 200, 20, separation, offset, 3).values, unit);
        for (std::uint32_t step = 0; step < 3; ++step) {
          search.move(0.1, step);
          search.search_and_check("offset " + std::to_string(offset) + " separation " + std::to_string(separation));
        }
      }
    }
  }
}

// All columns as large as any: sums of 16 bits are as near to their ends as they can be.
TEST_F(BoundedSearch, IsExactWhereSumsAreLargest) {
  for (const std::size_t columns : {64, 256, 300, 768}) {
    std::vector<float> rows(50 * columns);
    std::vector<double> centroids(20 * columns);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::size_t row = i / columns;
      rows[i] = (i % columns >> row % 5) % 2 == 0 ? 1.0F : -1.0F;
      if (row % 2 == 1) rows[i] *= 1 + static_cast<float>(row) / 64;
    }
    for (std::size_t i = 0; i < centroids.size(); ++i) {
      const std::size_t k = i / columns;
      centroids[i] =
          ((i % columns >> k % 5) % 2 == 0 ? 1.0 : -1.0) * (k % 3 == 0 ? -1 : 1) + 0.001 * static_cast<double>(k);
    }
    for (std::size_t j = 0; j < columns; ++j) centroids[j] = 0;  // the origin
    moving_search search({rows.data(), 50, columns}, centroids, 0.002);
    for (std::uint32_t step = 0; step < 3; ++step) {
      search.move(0.01, step);
      search.search_and_check(std::to_string(columns));
    }
  }
}

TEST_F(BoundedSearch, LeavesTiesAndRowsThatAreTooLargeInDoubt) {
  constexpr std::size_t columns = 210;
  auto data = clouds<float>(90, columns, 3, 1, 0, 4);
  for (std::size_t j = 0; j < columns; ++j) data.values[7 * columns + j] = 1e13F;
  for (std::size_t j = 0; j < columns; ++j) data.values[8 * columns + j] = 0;
  auto centroids = clouds<double>(17, columns, 3, 1, 0, 9).values;
  for (std::size_t j = 0; j < columns; ++j) centroids[5 * columns + j] = centroids[16 * columns + j];
  moving_search search(data.view(), centroids, 1e-3);
  for (std::uint32_t step = 0; step < 3; ++step) {
    if (step > 0) search.move(0, step);
    search.search_and_check("step " + std::to_string(step));
  }
  EXPECT_GT(search.doubts(), 1);
}

TEST(ByteCentroids, KeepEverySumOfALaneWithin16Bits) {
  for (const std::size_t columns : {1, 40, 256, 300, 1000}) {
    std::vector<double> centroids(3 * columns);
    for (std::size_t j = 0; j < columns; ++j) {
      centroids[j] = 1, centroids[columns + j] = std::sin(static_cast<double>(j)), centroids[2 * columns + j] = j == 0;
    }
    shoal::centroid_index<float> index;
    index.set(centroids, 3, columns, 1, nullptr, std::vector<float>(columns, 0.0F));
    shoal::byte_centroids bytes;
    bytes.set(index, nullptr);
    const shoal::byte_shape& shape = bytes.shape();
    EXPECT_GE(shape.row_bytes(), columns);
    const std::int8_t* at = bytes.bytes();
    for (std::size_t chunk = 0; chunk < 3 * shape.chunks; ++chunk) {
      at += shoal::byte_shape::vector;
      for (std::size_t lane = 0; lane < shoal::byte_shape::lanes; ++lane) {
        int sum = 0;
        for (std::size_t v = 0; v < shape.chunk; ++v) {
          sum += std::abs(at[v * shoal::byte_shape::vector + 2 * lane]);
          sum += std::abs(at[v * shoal::byte_shape::vector + 2 * lane + 1]);
        }
        EXPECT_LE(shoal::byte_centroids::most_row * sum, 32767) << columns;
      }
      at += shape.chunk * shoal::byte_shape::vector;
    }
  }
}

}  // namespace
