// k-means on any number of GPUs, of which each owns whole shards of rows: the same bits.
#include <string>
#include <vector>

#include <shoal/kmeans/backend_fit.hpp>
#include <shoal/kmeans/cuda/backend.hpp>
#include <shoal/kmeans/cuda/kernels.hpp>
#include <shoal/kmeans/kmeans.hpp>

#include "../../sharded_rows.hpp"
#include "../kmeans_reference.hpp"

namespace {

namespace kmeans = shoal::kmeans;
using kmeans_reference::clouds;
using sharded_rows::held_rows;
using sharded_rows::placing;

constexpr std::size_t rows = 14 * 4096 + 37;  // 15 units: as many shards as each count asks for

// Each goes through another kernel: a thread a row, few columns, a warp a row, tensor cores, plain arithmetic.
struct shape {
  std::size_t columns;
  std::size_t clusters;
};
constexpr shape shapes[] = {{2, 3}, {3, 70}, {100, 3}, {40, 70}, {150, 20}, {16, 300}};

template <class Scalar>
class KmeansShards : public cuda_devices::on_one_device {
 protected:
  static kmeans::fit_result fit(const std::shared_ptr<shoal::device_data<Scalar>>& on, const kmeans::options& options) {
    return kmeans::fit(*kmeans::make_cuda_backend(on), options, {});
  }
  static void expect_same(const kmeans::fit_result& got, const kmeans::fit_result& expected) {
    EXPECT_EQ(got.history, expected.history);
    EXPECT_EQ(got.model.centroids, expected.model.centroids);
    EXPECT_EQ(got.inertia, expected.inertia);
    EXPECT_EQ(got.cluster_weights, expected.cluster_weights);
    EXPECT_EQ(got.converged, expected.converged);
    EXPECT_EQ(got.relocated, expected.relocated);
    EXPECT_EQ(got.hardware, expected.hardware);
  }
};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(KmeansShards, scalars);

TYPED_TEST(KmeansShards, FitAndPredictTheSameOnAnyNumberOfGpus) {
  for (const shape& of : shapes) {
    const auto made = clouds<TypeParam>(rows, of.columns, 5, 3.0);
    const held_rows<TypeParam> held(made.view(), sharded_rows::uneven_weights<TypeParam>(rows));
    kmeans::options options;
    options.clusters = of.clusters;
    options.max_iterations = 12;
    for (const kmeans::seeding init :
         {kmeans::seeding::plus_plus, kmeans::seeding::parallel, kmeans::seeding::random_rows}) {
      options.init = init;
      for (const std::size_t shards : sharded_rows::counts) {
        const auto one = held.on({}, shards);
        const kmeans::fit_result expected = this->fit(one, options);
        std::vector<std::int32_t> labels(rows, -1), got(rows, -2);
        kmeans::make_cuda_backend(one)->predict(expected.model, labels.data());
        for (const placing& where : sharded_rows::placings(held.row_bytes())) {
          SCOPED_TRACE(testing::Message() << of.columns << " columns, " << of.clusters << " clusters, " << shards
                                          << " shards, " << name(where) << ", init " << static_cast<int>(init));
          const auto other = held.on(where, shards);
          this->expect_same(this->fit(other, options), expected);
          kmeans::make_cuda_backend(other)->predict(expected.model, got.data());
          EXPECT_EQ(got, labels);
        }
      }
    }
  }
}

TYPED_TEST(KmeansShards, FitAndPredictTheSameOnRanks) {
  for (const shape& of : shapes) {
    const auto made = clouds<TypeParam>(rows, of.columns, 5, 3.0);
    const held_rows<TypeParam> held(made.view(), sharded_rows::uneven_weights<TypeParam>(rows));
    kmeans::options options;
    options.clusters = of.clusters;
    options.max_iterations = 12;
    for (const kmeans::seeding init :
         {kmeans::seeding::plus_plus, kmeans::seeding::parallel, kmeans::seeding::random_rows}) {
      options.init = init;
      for (const sharded_rows::rank_counts& counts : sharded_rows::on_ranks) {
        const auto one = held.on({}, counts.shards);
        const kmeans::fit_result expected = this->fit(one, options);
        std::vector<std::int32_t> labels(rows, -1), got(rows, -2);
        kmeans::make_cuda_backend(one)->predict(expected.model, labels.data());
        sharded_rows::run_on_ranks(held, counts, [&](const auto& data, const shoal::control& control) {
          SCOPED_TRACE(testing::Message() << of.columns << " columns, " << of.clusters << " clusters, " << counts.shards
                                          << " shards, rank " << control.ranks->rank() << " of " << counts.ranks
                                          << ", init " << static_cast<int>(init));
          const auto on = kmeans::make_cuda_backend(data);
          this->expect_same(kmeans::fit(*on, options, control), expected);
          on->predict(expected.model, got.data());  // each writes rows of its own
        });
        EXPECT_EQ(got, labels);
      }
    }
  }
}

TYPED_TEST(KmeansShards, SmallRowsAreOneShard) {
  const auto made = clouds<TypeParam>(rows, 5, 4, 3.0);
  const held_rows<TypeParam> held(made.view());
  kmeans::options options;
  options.clusters = 9;
  options.threads = 2;
  options.device.cuda = {0};
  const kmeans::fit_result expected = kmeans::fit(held.rows(), options);
  this->expect_same(this->fit(held.on({}, 1), options), expected);
  this->expect_same(this->fit(held.on({{0, 0, 0}, 0}, 1), options), expected);
}

// Many steps run on one GPU without the host; empty clusters are the host's, wherever the shards are.
TYPED_TEST(KmeansShards, RelocateTheSame) {
  for (const std::size_t columns : {2, 40}) {
    const auto made = clouds<TypeParam>(rows, columns, 5, 3.0);
    const held_rows<TypeParam> held(made.view());
    kmeans::options options;
    options.clusters = 6;
    options.init = kmeans::seeding::centroids;
    for (std::size_t k = 0; k < 6; ++k) {
      for (std::size_t j = 0; j < columns; ++j) {
        options.centroids.push_back(k < 4 ? static_cast<double>(made.values[k * columns + j]) : 1e5 + k);
      }
    }
    for (const std::size_t shards : sharded_rows::counts) {
      const kmeans::fit_result expected = this->fit(held.on({}, shards), options);
      EXPECT_GE(expected.relocated, 2u);
      EXPECT_GT(expected.iterations, 2u);
      for (const placing& where : sharded_rows::placings(held.row_bytes())) {
        SCOPED_TRACE(testing::Message() << columns << " columns, " << shards << " shards, " << name(where));
        this->expect_same(this->fit(held.on(where, shards), options), expected);
      }
      sharded_rows::run_on_ranks(held, {3, shards}, [&](const auto& data, const shoal::control& control) {
        this->expect_same(kmeans::fit(*kmeans::make_cuda_backend(data), options, control), expected);
      });
    }
  }
}

TYPED_TEST(KmeansShards, AgreeForAnyNumberOfShards) {
  const auto made = clouds<TypeParam>(rows, 40, 4, 5.0);
  const held_rows<TypeParam> held(made.view());
  kmeans::options options;
  options.clusters = 7;
  const kmeans::fit_result one = this->fit(held.on({}, 1), options);
  for (const std::size_t shards : {2, 8}) {
    const kmeans::fit_result many = this->fit(held.on({}, shards), options);
    EXPECT_EQ(many.iterations, one.iterations);
    EXPECT_NEAR(many.inertia, one.inertia, 1e-9 * one.inertia);
  }
}

// Lanes cover every row once, end at shards, and are the same whoever owns them. Needs no device.
TEST(KmeansShardsPlan, LanesAreThoseOfOneGpu) {
  for (const std::size_t all : {1ul, 4097ul, rows, 5'000'011ul, std::size_t{1} << 27}) {
    for (const std::size_t wanted : {1, 2, 3, 8}) {
      const shoal::cuda::shard_plan shards(all, 64, {.exactly = wanted});
      for (const std::size_t gpus : {1, 2, 3, 8}) {
        SCOPED_TRACE(testing::Message() << all << " rows, " << wanted << " shards, " << gpus << " GPUs");
        const auto planned = [&](std::size_t share) {
          return kmeans::one_pass_plan({all, shards.rows_of(0), share}, 4, 16, 264, 5000, 512);
        };
        const kmeans::sum_plan whole = planned(all);
        EXPECT_EQ(static_cast<std::size_t>(whole.shards()), shards.count());
        std::size_t next = 0;
        int lane_of_all = 0;
        for (std::size_t g = 0; g < gpus; ++g) {
          const std::size_t begin = std::min(all, shards.first_row(shards.first_shard(g, gpus)));
          const std::size_t end = std::min(all, shards.first_row(shards.first_shard(g + 1, gpus)));
          const kmeans::sum_plan plan = planned(end - begin);
          EXPECT_EQ(plan.lane_rows, whole.lane_rows);
          for (int lane = 0; lane < plan.lanes; ++lane, ++lane_of_all) {
            ASSERT_EQ(begin + plan.lane_begin(lane), next);
            ASSERT_EQ(next, whole.lane_begin(lane_of_all));
            next = begin + plan.lane_end(lane);
            ASSERT_EQ(next, whole.lane_end(lane_of_all));
            ASSERT_EQ(shards.shard_of(next - 1), shards.shard_of(whole.lane_begin(lane_of_all)));
            ASSERT_EQ(plan.lane_of(plan.lane_begin(lane)), lane);
            ASSERT_EQ(plan.lane_of(plan.lane_end(lane) - 1), lane);
          }
        }
        EXPECT_EQ(next, all);
        EXPECT_EQ(lane_of_all, whole.lanes);
      }
    }
  }
}

}  // namespace
