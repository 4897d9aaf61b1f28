// How rows are cut: by their shape alone, in few lanes where they are few and in many where a large machine wants them.
#include <algorithm>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/plan.hpp>

namespace {

using shoal::fold_plan;
using shoal::fold_shape;
using shoal::make_fold_plan;

constexpr std::size_t mib = std::size_t{1} << 20;

fold_shape float_rows(std::size_t rows, std::size_t columns, std::size_t statistics_bytes) {
  return {rows, columns, sizeof(float), statistics_bytes};
}

std::size_t lanes_of(const fold_shape& shape) { return make_fold_plan(shape).lanes; }

TEST(Plan, CoversEveryRowByWholeBlocks) {
  for (const fold_shape& shape :
       {float_rows(1, 1, 8), float_rows(511, 3, 8), float_rows(513, 3, 8), float_rows(100003, 7, 40000),
        float_rows(1 << 20, 8, 4096), float_rows(std::size_t{1} << 30, 16, 8192)}) {
    const fold_plan plan = make_fold_plan(shape);
    EXPECT_EQ(plan.chunk_rows % shoal::block_rows, 0u);
    EXPECT_EQ(plan.first_row(0), 0u);
    EXPECT_EQ(plan.end_row(plan.lanes - 1), shape.rows);
    for (std::size_t lane = 0; lane < plan.lanes; ++lane) {
      EXPECT_LT(plan.first_row(lane), plan.end_row(lane));
      EXPECT_EQ(plan.first_row(lane) % shoal::block_rows, 0u);
    }
  }
}

// Written out, since whoever has a result with these lanes has its bits.
TEST(Plan, KeepsItsFewLanes) {
  struct expectation {
    fold_shape shape;
    std::size_t lanes, chunk_rows;
  };
  for (const expectation& expected :
       std::vector<expectation>{{float_rows(1, 1, 8), 1, 512},
                                {float_rows(512, 2, 8), 1, 512},
                                {float_rows(513, 2, 8), 2, 512},
                                {float_rows(63 * 512, 2, 8), 63, 512},
                                {float_rows(63 * 512 + 1, 2, 8), 64, 512},
                                {float_rows(64 * 512, 2, 8), 64, 512},
                                {float_rows(64 * 512 + 1, 2, 8), 33, 1024},
                                {float_rows(100003, 7, 40000), 49, 2048},
                                {float_rows(100003, 7, 140004), 20, 2048},  // 2 800 084 bytes of rows
                                {float_rows(100003, 7, 140005), 19, 2048},
                                {float_rows(100003, 7, 3000000), 1, 2048},
                                {float_rows(1 << 20, 16, 8720), 64, 16384},
                                {float_rows(1 << 20, 16, mib), 64, 16384},  // 64 MiB of rows
                                {float_rows(1 << 20, 16, mib + 1), 63, 16384},
                                {{1 << 18, 8, 8, 3632}, 64, 4096}}) {
    const fold_plan plan = make_fold_plan(expected.shape);
    EXPECT_EQ(plan.lanes, expected.lanes) << expected.shape.rows << " rows";
    EXPECT_EQ(plan.chunk_rows, expected.chunk_rows) << expected.shape.rows << " rows";
  }
}

// A mixture of 1024 full covariances of 128 columns: 69 MB a statistic, which three lanes fill 256 MiB with.
TEST(Plan, HasAsManyLanesHoweverMuchMemoryTheyTake) {
  const fold_shape shape = float_rows(1 << 24, 128, std::size_t{1024} * (129 * 130 / 2) * sizeof(double));
  const fold_plan plan = make_fold_plan(shape);
  EXPECT_EQ(plan.lanes, 64u);
  // Memory decides how many are folded at once: three teams at most.
  EXPECT_EQ(shoal::team_size(plan, shape, 1), 1u);
  EXPECT_EQ(shoal::team_size(plan, shape, 2), 1u);
  EXPECT_EQ(shoal::team_size(plan, shape, 3), 1u);
  EXPECT_EQ(shoal::team_size(plan, shape, 4), 2u);
  EXPECT_EQ(shoal::team_size(plan, shape, 64), 21u);
}

TEST(Plan, AddsLanesWhereEachHasManyChunks) {
  const std::size_t chunk = mib / 64;  // rows of 16 columns
  EXPECT_EQ(lanes_of(float_rows(1024 * chunk - chunk, 16, 8720)), 64u);
  EXPECT_EQ(lanes_of(float_rows(1024 * chunk - chunk + 1, 16, 8720)), 128u);
  EXPECT_EQ(lanes_of(float_rows(2048 * chunk - chunk, 16, 8720)), 128u);
  EXPECT_EQ(lanes_of(float_rows(2048 * chunk - chunk + 1, 16, 8720)), 256u);
  EXPECT_EQ(lanes_of(float_rows(std::size_t{16384} * chunk, 16, 8720)), 2048u);
  EXPECT_EQ(lanes_of(float_rows(std::size_t{32768} * chunk - chunk, 16, 8720)), 2048u);
  EXPECT_EQ(lanes_of(float_rows(std::size_t{32768} * chunk, 16, 8720)), 4096u);
  EXPECT_EQ(lanes_of(float_rows(std::size_t{1} << 40, 16, 8720)), shoal::most_lanes);
}

TEST(Plan, AddsLanesWhereRowsOutweighStatistics) {
  const std::size_t rows = std::size_t{1} << 26;  // 4 GiB of 16 columns
  EXPECT_EQ(lanes_of(float_rows(rows, 16, mib / 2)), 512u);
  EXPECT_EQ(lanes_of(float_rows(rows, 16, mib / 2 + 1)), 256u);
  EXPECT_EQ(lanes_of(float_rows(rows, 16, 2 * mib)), 128u);
  EXPECT_EQ(lanes_of(float_rows(rows, 16, 2 * mib + 1)), 64u);
  EXPECT_EQ(lanes_of(float_rows(rows, 16, 64 * mib)), 64u);
  EXPECT_EQ(lanes_of(float_rows(rows, 16, 64 * mib + 1)), 63u);
  EXPECT_EQ(lanes_of(float_rows(rows, 16, 4096 * mib)), 1u);
}

TEST(Plan, SharesLanesWhereThereAreFewBecauseStatisticsAreLarge) {
  const fold_shape few = float_rows(100003, 7, 600000);
  const fold_plan plan = make_fold_plan(few);
  ASSERT_EQ(plan.lanes, 4u);
  EXPECT_EQ(shoal::team_size(plan, few, 4), 1u);
  EXPECT_EQ(shoal::team_size(plan, few, 8), 2u);
  EXPECT_EQ(shoal::team_size(plan, few, 9), 2u);
  // Few rows are no reason: a chunk is too little to share.
  const fold_shape small = float_rows(1000, 7, 8);
  EXPECT_EQ(shoal::team_size(make_fold_plan(small), small, 64), 1u);
}

TEST(Plan, FoldsNoMoreLanesAtOnceThanMemoryHolds) {
  const std::size_t rows = std::size_t{1} << 32;
  for (const std::size_t at_once : {1, 2, 3, 7, 64, 200}) {
    const fold_shape shape = float_rows(rows, 16, shoal::lane_memory / at_once);
    const fold_plan plan = make_fold_plan(shape);
    for (std::size_t threads = 1; threads <= 300; ++threads) {
      const std::size_t size = shoal::team_size(plan, shape, threads);
      EXPECT_LE(threads / size, std::max<std::size_t>(1, at_once)) << threads;
      if (threads <= at_once) {
        EXPECT_EQ(size, 1u);
      }
      EXPECT_GT(2 * size * (threads / size), threads);  // more than half of the threads work
    }
  }
}

}  // namespace
