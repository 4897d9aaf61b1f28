// Folding: every row once, the same bits for any number of threads and any memory limit, prompt stops, whole errors.
#include <atomic>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/execution/fold.hpp>

#include "../copying_source.hpp"

namespace {

using copying_source = copied_rows::copying_source<float>;

struct sum_value {
  double sum = 0;
  std::size_t count = 0;
  std::size_t index_sum = 0;
};

struct sum_monoid {
  using value_type = sum_value;
  static constexpr shoal::algebra::operation_laws laws = shoal::algebra::rounded_sums;
  std::size_t size = sizeof(sum_value);
  value_type identity() const { return {}; }
  void reset(value_type& value) const { value = {}; }
  void combine_into(value_type& into, const value_type& from) const {
    into.sum += from.sum;
    into.count += from.count;
    into.index_sum += from.index_sum;
  }
  std::size_t bytes() const { return size; }
};

struct sum_body {
  struct scratch {};
  void operator()(const shoal::row_block<float>& block, const shoal::team_member& member, scratch&,
                  sum_value& into) const {
    EXPECT_EQ(block.first % shoal::block_rows, 0u);
    if (member.rank() == 0) {
      for (std::size_t i = 0; i < block.rows.rows(); ++i) {
        for (std::size_t j = 0; j < block.rows.columns(); ++j) into.sum += block.rows(i, j);
        into.index_sum += block.first + i;
      }
      into.count += block.rows.rows();
    }
    member.wait();
  }
};

std::vector<float> uneven(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = std::ldexp(std::sin(static_cast<float>(i)), static_cast<int>(i % 23));
  return values;
}

TEST(Fold, VisitsEveryRowOnceWithTheSameBitsForAnyExecutorAndAnyMemoryLimit) {
  for (const std::size_t rows : {1, 511, 512, 513, 32768, 32769, 100003}) {
    const auto values = uneven(rows * 3);
    const shoal::matrix_view<const float> view(values.data(), rows, 3);
    const shoal::view_source<float> resident(view);
    const copying_source copied(view);
    const auto one = shoal::make_sequential();
    const auto expected = shoal::fold<float>({one.get(), 0, {}}, {&resident}, sum_monoid{}, sum_body{});
    EXPECT_EQ(expected.count, rows);
    EXPECT_EQ(expected.index_sum, rows * (rows - 1) / 2);
    for (const std::size_t threads : {1, 2, 7, 128}) {
      const auto pool = shoal::make_threads(threads);
      for (const std::size_t limit :
           {std::size_t{0}, threads * 512 * 3 * sizeof(float), threads * 5000 * 3 * sizeof(float)}) {
        copied.largest_read = 0;
        for (const shoal::row_source<float>* source : {static_cast<const shoal::row_source<float>*>(&resident),
                                                       static_cast<const shoal::row_source<float>*>(&copied)}) {
          const auto got = shoal::fold<float>({pool.get(), limit, {}}, {source}, sum_monoid{}, sum_body{});
          EXPECT_EQ(got.sum, expected.sum) << rows << " rows, " << threads << " threads, limit " << limit;
          EXPECT_EQ(got.index_sum, expected.index_sum);
        }
        if (limit != 0) {
          EXPECT_LE(copied.largest_read * threads * 3 * sizeof(float), limit);
        }
      }
    }
  }
}

TEST(Fold, SharesALaneWhenStatisticsAreLarge) {
  const auto values = uneven(20000);
  const shoal::view_source<float> source({values.data(), 20000, 1});
  sum_monoid large;
  large.size = shoal::lane_memory;  // one lane only
  const auto one = shoal::make_sequential();
  const auto expected = shoal::fold<float>({one.get(), 0, {}}, {&source}, large, sum_body{});
  for (const std::size_t threads : {2, 7, 128}) {
    const auto pool = shoal::make_threads(threads);
    const auto got = shoal::fold<float>({pool.get(), 0, {}}, {&source}, large, sum_body{});
    EXPECT_EQ(got.sum, expected.sum);
    EXPECT_EQ(got.count, 20000u);
  }
}

// Rows that are made when they are read, so that there may be many.
class endless_rows final : public shoal::row_source<float> {
 public:
  explicit endless_rows(std::size_t rows) : rows_(rows), values_(uneven(1 << 16)) {}
  std::size_t rows() const override { return rows_; }
  std::size_t columns() const override { return 8192; }
  shoal::matrix_view<const float> read(std::size_t first, std::size_t count,
                                       shoal::aligned_buffer<float>&) const override {
    return {values_.data() + first % 8192, count, columns(), 1};
  }
  bool resident() const override { return true; }

 private:
  std::size_t rows_;
  std::vector<float> values_;
};

// Only the first and the last value of a row, so that 2²⁷ values take no time.
struct edges_body : sum_body {
  void operator()(const shoal::row_block<float>& block, const shoal::team_member& member, scratch&,
                  sum_value& into) const {
    if (member.rank() != 0) return;
    for (std::size_t i = 0; i < block.rows.rows(); ++i) into.sum += block.rows(i, 0) - 0.3 * block.rows(i, 8191);
    into.count += block.rows.rows();
  }
};

TEST(Fold, OfManyLanesHasTheSameBitsForAnyNumberOfThreads) {
  const endless_rows rows(std::size_t{3} << 20);
  const auto alone = shoal::make_sequential();
  shoal::folder<float, sum_monoid, edges_body> one({&rows}, sum_monoid{});
  ASSERT_EQ(one.plan().lanes, 512u);
  const sum_value expected = one({alone.get(), 0, {}}, {});
  EXPECT_EQ(expected.count, rows.rows());
  for (const std::size_t threads : {1, 2, 7, 128}) {
    const auto pool = shoal::make_threads(threads);
    shoal::folder<float, sum_monoid, edges_body> many({&rows}, sum_monoid{});
    for (int again = 0; again < 2; ++again) {
      const sum_value got = many({pool.get(), 0, {}}, {});
      EXPECT_EQ(got.sum, expected.sum) << threads << " threads";
      EXPECT_EQ(got.count, expected.count);
    }
  }
}

// Statistics of 100 MiB, two of which may be folded at once: 64 lanes all the same.
TEST(Fold, SharesLanesWhereMemoryHoldsFewAtOnce) {
  const endless_rows rows(std::size_t{3} << 20);
  sum_monoid large;
  large.size = std::size_t{100} << 20;
  const auto alone = shoal::make_sequential();
  shoal::folder<float, sum_monoid, edges_body> one({&rows}, large);
  ASSERT_EQ(one.plan().lanes, 64u);
  const sum_value expected = one({alone.get(), 0, {}}, {});
  for (const std::size_t threads : {2, 7, 128}) {
    const auto pool = shoal::make_threads(threads);
    shoal::folder<float, sum_monoid, edges_body> shared({&rows}, large);
    const sum_value got = shared({pool.get(), 0, {}}, {});
    EXPECT_EQ(got.sum, expected.sum) << threads << " threads";
    EXPECT_EQ(got.count, expected.count);
    EXPECT_LE(shared.values(), 2u + 2u * 6u) << threads << " threads";
  }
}

TEST(Fold, KeepsAboutAsManyValuesAsThreadsAndLevels) {
  const endless_rows rows(std::size_t{3} << 20);
  shoal::folder<float, sum_monoid, edges_body> fold({&rows}, sum_monoid{});
  const auto alone = shoal::make_sequential();
  for (int again = 0; again < 3; ++again) fold({alone.get(), 0, {}}, {});
  EXPECT_EQ(fold.values(), 10u);  // the lane and, before it, a subtree of each size from 1 to 256
  const auto pool = shoal::make_threads(7);
  shoal::folder<float, sum_monoid, edges_body> shared({&rows}, sum_monoid{});
  for (int again = 0; again < 3; ++again) shared({pool.get(), 0, {}}, {});
  EXPECT_LE(shared.values(), 7u + 7u * 9u);  // even if all but one of the threads are held up
}

TEST(Fold, RefusesAMemoryLimitBelowOneBlockAndSaysHowMuchIsNeeded) {
  const auto values = uneven(4000);
  const copying_source source({values.data(), 1000, 4});
  const auto pool = shoal::make_threads(2);
  try {
    shoal::fold<float>({pool.get(), 1000, {}}, {&source}, sum_monoid{}, sum_body{});
    FAIL();
  } catch (const shoal::bad_argument& failure) {
    EXPECT_NE(std::string(failure.what()).find("16384"), std::string::npos) << failure.what();
  }
}

struct throwing_body : sum_body {
  void operator()(const shoal::row_block<float>& block, const shoal::team_member&, scratch&, sum_value&) const {
    if (block.first >= 1024) throw shoal::bad_data("row 1024");
  }
};

TEST(Fold, RethrowsTheFirstFailureAndStaysUsable) {
  const auto values = uneven(40000);
  const shoal::view_source<float> source({values.data(), 40000, 1});
  const auto pool = shoal::make_threads(3);
  EXPECT_THROW(shoal::fold<float>({pool.get(), 0, {}}, {&source}, sum_monoid{}, throwing_body{}), shoal::bad_data);
  EXPECT_EQ(shoal::fold<float>({pool.get(), 0, {}}, {&source}, sum_monoid{}, sum_body{}).count, 40000u);
}

// Throws once, when it is asked for one value too many.
struct scarce_monoid : sum_monoid {
  std::atomic<int>* left = nullptr;
  value_type identity() const {
    if (left->fetch_sub(1) == 0) throw shoal::out_of_memory("one value too many");
    return {};
  }
};

TEST(Fold, ReleasesAllMembersOfATeamWhenThereIsNoMemoryForALane) {
  const auto values = uneven(40000);  // 160 000 bytes
  const shoal::view_source<float> source({values.data(), 40000, 1});
  for (const bool shared : {false, true}) {
    std::atomic<int> left{shared ? 0 : 2};
    scarce_monoid scarce;
    scarce.size = shared ? 100000 : 40000;  // one lane for four threads, or four lanes for one
    scarce.left = &left;
    const auto pool = shoal::make_threads(shared ? 4 : 1);
    shoal::folder<float, scarce_monoid, sum_body> fold({&source}, scarce);
    EXPECT_THROW(fold({pool.get(), 0, {}}, {}), shoal::out_of_memory);
    EXPECT_EQ(fold({pool.get(), 0, {}}, {}).count, 40000u);
  }
}

TEST(Fold, StopsOnRequest) {
  const auto values = uneven(40000);
  const shoal::view_source<float> source({values.data(), 40000, 1});
  const auto pool = shoal::make_threads(2);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(shoal::fold<float>({pool.get(), 0, stop.get_token()}, {&source}, sum_monoid{}, sum_body{}),
               shoal::interrupted);
}

}  // namespace
