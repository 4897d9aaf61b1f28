// Shards are cut by the shape of rows alone, at multiples of the unit of pieces, and GPUs own whole ones in a row.
#include <gtest/gtest.h>

#include <shoal/execution/cuda/shard_plan.hpp>

namespace {

using shoal::cuda::piece_unit;
using shoal::cuda::shard_plan;
using shoal::cuda::shard_rule;

std::size_t shards_of(std::size_t rows, std::size_t columns, std::size_t scalar_bytes = 4) {
  return shard_plan(rows, columns * scalar_bytes).count();
}

TEST(ShardPlan, CutsLargeDataAlone) {
  EXPECT_EQ(shards_of(1, 1), 1u);
  EXPECT_EQ(shards_of(1 << 20, 128), 1u);      // few rows
  EXPECT_EQ(shards_of(10'000'000, 2), 1u);     // few bytes
  EXPECT_EQ(shards_of((1 << 24) - 1, 8), 1u);  // a row too few
  EXPECT_EQ(shards_of(1 << 24, 8), 2u);
  EXPECT_EQ(shards_of(1 << 24, 8, 8), 4u);
  EXPECT_EQ(shards_of(1 << 22, 32), 2u);
  EXPECT_EQ(shards_of(1 << 27, 16), 8u);
  EXPECT_EQ(shards_of(std::size_t{1} << 36, 16), 8u);
  EXPECT_EQ(shards_of(1'000'000, 20'000), 8u);  // few rows, but very wide ones
}

// Whatever the rule says, shards are whole units, cover the rows once, and only the last is smaller.
TEST(ShardPlan, CoversEveryRowOnce) {
  for (const std::size_t rows : {1ul, 4095ul, 4096ul, 4097ul, 13 * 4096ul, 50'021ul, 1'000'003ul}) {
    for (std::size_t wanted = 1; wanted <= 40; ++wanted) {
      const shard_plan plan(rows, 4, shard_rule{.exactly = wanted});
      SCOPED_TRACE(testing::Message() << rows << " rows in " << wanted << " shards");
      ASSERT_GE(plan.count(), 1u);
      EXPECT_LE(plan.count(), std::min(wanted, shoal::cuda::most_shards));
      EXPECT_EQ(plan.shard_rows() % piece_unit, 0u);
      std::size_t next = 0;
      for (std::size_t s = 0; s < plan.count(); ++s) {
        EXPECT_EQ(plan.first_row(s), next);
        EXPECT_GE(plan.rows_of(s), 1u);
        EXPECT_LE(plan.rows_of(s), plan.rows_of(0));
        EXPECT_EQ(plan.shard_of(next), s);
        next += plan.rows_of(s);
        EXPECT_EQ(plan.shard_of(next - 1), s);
      }
      EXPECT_EQ(next, rows);
    }
  }
}

TEST(ShardPlan, DealsWholeShardsInARow) {
  for (std::size_t shards = 1; shards <= 8; ++shards) {
    const shard_plan plan(shards * piece_unit, 4, shard_rule{.exactly = shards});
    ASSERT_EQ(plan.count(), shards);
    for (std::size_t gpus = 1; gpus <= 12; ++gpus) {
      EXPECT_EQ(plan.first_shard(0, gpus), 0u);
      EXPECT_EQ(plan.first_shard(gpus, gpus), shards);
      const std::size_t most = plan.first_shard(1, gpus);
      EXPECT_EQ(most, (shards + gpus - 1) / gpus);
      for (std::size_t g = 0; g < gpus; ++g) {
        const std::size_t own = plan.first_shard(g + 1, gpus) - plan.first_shard(g, gpus);
        EXPECT_LE(own, most);
        EXPECT_GE(own + 1, g < shards ? most : 0u);
        EXPECT_EQ(own == 0, g >= shards);
      }
    }
  }
}

}  // namespace
