// Ranks: every row on one of them, the bits of one process, single rows for all, and no rank that waits for ever.
#include <atomic>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/execution/device_ranks.hpp>
#include <shoal/execution/rank_rows.hpp>
#include <shoal/execution/sendable.hpp>

#include "../ranks.hpp"
#include "../thread_sanitizer.hpp"

namespace {

std::vector<float> uneven(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = std::ldexp(std::sin(static_cast<float>(i)), static_cast<int>(i % 23));
  return values;
}

struct sums {
  std::vector<double> values;
  std::size_t count = 0;
};

struct sums_monoid {
  using value_type = sums;
  static constexpr shoal::algebra::operation_laws laws = shoal::algebra::rounded_sums;
  static auto parts(auto& value) { return std::tie(value.values, value.count); }
  std::size_t size = 100;
  sums identity() const { return {std::vector<double>(3), 0}; }
  void reset(sums& value) const { value = identity(); }
  void combine_into(sums& into, const sums& from) const {
    for (std::size_t j = 0; j < 3; ++j) into.values[j] += from.values[j];
    into.count += from.count;
  }
  std::size_t bytes() const { return size; }
};

struct sums_body {
  struct scratch {};
  void operator()(const shoal::row_block<float>& block, const shoal::team_member& member, scratch&, sums& into) const {
    if (member.rank() != 0) return;
    for (std::size_t i = 0; i < block.rows.rows(); ++i) {
      for (std::size_t j = 0; j < 3; ++j) into.values[j] += block.rows(i, j);
    }
    into.count += block.rows.rows();
  }
};

// Counts how often each row is read, by all ranks together.
class counted_rows final : public shoal::row_source<float> {
 public:
  explicit counted_rows(shoal::matrix_view<const float> rows) : rows_(rows), reads(rows.rows()) {}
  std::size_t rows() const override { return rows_.rows(); }
  std::size_t columns() const override { return rows_.columns(); }
  shoal::matrix_view<const float> read(std::size_t first, std::size_t count,
                                       shoal::aligned_buffer<float>&) const override {
    for (std::size_t i = 0; i < count; ++i) ++reads[first + i];
    return rows_.middle_rows(first, count);
  }
  bool resident() const override { return true; }

 private:
  shoal::matrix_view<const float> rows_;

 public:
  mutable std::vector<std::atomic<int>> reads;
};

TEST(Ranks, ShareTheLanesInOrder) {
  for (const std::size_t lanes : {1, 2, 3, 33, 63, 64, 128}) {
    for (std::size_t ranks = 1; ranks <= 130; ++ranks) {
      std::size_t next = 0;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const shoal::lane_range own = shoal::lanes_of_rank(rank, lanes, ranks);
        ASSERT_EQ(own.first, next);
        ASSERT_LE(own.count(), (lanes + ranks - 1) / ranks);
        for (std::size_t lane = own.first; lane < own.end; ++lane)
          ASSERT_EQ(shoal::rank_of_lane(lane, lanes, ranks), rank);
        next = own.end;
      }
      ASSERT_EQ(next, lanes);
    }
  }
}

TEST(Ranks, KnowTheLaneOfARow) {
  for (const std::size_t rows : {1, 512, 513, 20000, 32769, 100003}) {
    const shoal::fold_plan plan = shoal::make_fold_plan({rows, 3, 4, 30000});
    for (std::size_t lane = 0; lane < plan.lanes; ++lane) {
      EXPECT_EQ(plan.lane_of(plan.first_row(lane)), lane);
      EXPECT_EQ(plan.lane_of(plan.end_row(lane) - 1), lane);
    }
  }
}

// Sixty-three lanes, three, and one; then as many ranks as there are.
TEST(Ranks, FoldToTheBitsOfOneProcessAndReadEachRowOnce) {
  const auto values = uneven(3 * 32001);
  const counted_rows rows({values.data(), 32001, 3});
  for (const std::size_t statistics_bytes : {100, 128004, 1000000}) {
    const auto alone = shoal::make_sequential();
    const sums_monoid monoid{statistics_bytes};
    const sums expected = shoal::fold<float>({alone.get(), 0, {}}, {&rows}, monoid, sums_body{});
    ASSERT_EQ(expected.count, 32001u);
    for (std::size_t count = 1; count <= (under_thread_sanitizer ? 9 : 65); ++count) {
      for (auto& reads : rows.reads) reads = 0;
      for (const sums& got : ranks::results(count, [&](const shoal::fold_context& context) {
             return shoal::fold<float>(context, {&rows}, monoid, sums_body{});
           })) {
        ASSERT_EQ(got.values, expected.values) << count << " ranks";
        ASSERT_EQ(got.count, expected.count);
      }
      for (const auto& reads : rows.reads) ASSERT_EQ(reads, 1) << count << " ranks";
    }
  }
}

TEST(Ranks, AreLedByOneThatFoldsNothing) {
  const auto values = uneven(3 * 32001);
  const counted_rows rows({values.data(), 32001, 3});
  const auto alone = shoal::make_sequential();
  for (const std::size_t statistics_bytes : {100, 128004, 1000000}) {
    const sums_monoid monoid{statistics_bytes};
    const sums expected = shoal::fold<float>({alone.get(), 0, {}}, {&rows}, monoid, sums_body{});
    for (const std::size_t count : {2, 3, 4, 8, 66}) {
      const auto all = ranks::results(
          count,
          [&](const shoal::fold_context& context) {
            // Nothing is there to be read.
            const shoal::view_source<float> none({nullptr, 32001, 3});
            const bool leads = context.ranks->rank() == 0;
            const shoal::row_source<float>* const own =
                leads ? &none : static_cast<const shoal::row_source<float>*>(&rows);
            return shoal::fold<float>(context, {own}, monoid, sums_body{});
          },
          true);
      for (const sums& got : all) EXPECT_EQ(got.values, expected.values) << count << " ranks";
    }
  }
}

TEST(Ranks, FoldAgainWithTheValuesThatTheyHave) {
  const auto values = uneven(3 * 32001);
  const shoal::view_source<float> rows({values.data(), 32001, 3});
  const auto sizes = ranks::results(5, [&](const shoal::fold_context& context) {
    shoal::folder<float, sums_monoid, sums_body> fold({&rows}, sums_monoid{});
    const sums first = fold(context, {});
    const std::size_t made = fold.values();
    for (int again = 0; again < 3; ++again) EXPECT_EQ(fold(context, {}).values, first.values);
    if (context.workers->threads() == 1) {
      EXPECT_EQ(fold.values(), made);
    }
    return made;
  });
  for (const std::size_t made : sizes) EXPECT_LE(made, 12u);
}

TEST(Ranks, SeeSingleRowsThatOneOfThemReads) {
  const auto values = uneven(3 * 32001);
  const counted_rows rows({values.data(), 32001, 3});
  for (const std::size_t count : ranks::numbers) {
    for (auto& reads : rows.reads) reads = 0;
    ranks::results(count, [&](const shoal::fold_context& context) {
      const shoal::fetched_rows<float> fetched(context, rows);
      shoal::aligned_buffer<float> buffer;
      for (const std::size_t row : {0, 511, 512, 16000, 31998}) {
        const auto got = fetched.read(row, 3, buffer);
        for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(got(i / 3, i % 3), values[row * 3 + i]);
      }
      return 0;
    });
    EXPECT_EQ(rows.reads[16001], 1) << count << " ranks";
    EXPECT_EQ(rows.reads[32000], 1) << count << " ranks";
  }
}

TEST(Ranks, GatherWhatEachHas) {
  const auto all = ranks::results(7, [&](const shoal::fold_context& context) {
    const std::size_t rank = context.ranks->rank();
    return shoal::gathered(context.ranks, std::vector<std::size_t>(rank % 3, rank));
  });
  for (const auto& got : all) EXPECT_EQ(got, (std::vector<std::size_t>{1, 2, 2, 4, 5, 5}));
}

// What reading a row throws on one rank.
class failing_rows final : public shoal::row_source<float> {
 public:
  explicit failing_rows(shoal::matrix_view<const float> rows) : rows_(rows) {}
  std::size_t rows() const override { return rows_.rows(); }
  std::size_t columns() const override { return rows_.columns(); }
  shoal::matrix_view<const float> read(std::size_t first, std::size_t count,
                                       shoal::aligned_buffer<float>&) const override {
    if (first >= 21504) throw shoal::io_error("the disk is gone");
    return rows_.middle_rows(first, count);
  }
  bool resident() const override { return true; }

 private:
  shoal::matrix_view<const float> rows_;
};

TEST(Ranks, HearOfTheRankThatFailed) {
  const auto values = uneven(3 * 32001);
  const failing_rows rows({values.data(), 32001, 3});
  std::vector<std::string> heard(3);
  try {
    shoal::run_ranks(3, [&](shoal::communicator& own) {
      const auto workers = shoal::make_threads(2);
      try {
        shoal::fold<float>({workers.get(), 0, {}, &own}, {&rows}, sums_monoid{}, sums_body{});
      } catch (const shoal::rank_failed& failure) {
        EXPECT_EQ(failure.rank(), 2u);
        heard[own.rank()] = failure.what();
        throw;
      }
    });
    FAIL();
  } catch (const shoal::io_error& failure) {
    EXPECT_STREQ(failure.what(), "the disk is gone");
  }
  EXPECT_EQ(heard[0], "rank 2 failed: the disk is gone");
  EXPECT_EQ(heard[1], "rank 2 failed: the disk is gone");
  EXPECT_EQ(heard[2], "");
}

TEST(Ranks, DoNotWaitForOneThatHasEnded) {
  try {
    shoal::run_ranks(2, [](shoal::communicator& own) {
      if (own.rank() == 0) own.receive(1);
    });
    FAIL();
  } catch (const shoal::rank_failed& failure) {
    EXPECT_EQ(failure.rank(), 1u);
    EXPECT_STREQ(failure.what(), "rank 1 failed: it ended before the others");
  }
}

TEST(Ranks, ReceiveInTheOrderOfSending) {
  shoal::run_ranks(2, [](shoal::communicator& own) {
    const std::vector<std::byte> messages[] = {{}, {std::byte{1}}, {std::byte{2}, std::byte{3}}};
    for (const auto& message : messages) {
      if (own.rank() == 0) {
        own.send(1, message);
      } else {
        EXPECT_EQ(own.receive(0), message);
      }
    }
  });
}

// What a rank says when it is refused; empty when it is not.
template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const shoal::bad_argument& failure) {
    return failure.what();
  }
  return "";
}

std::vector<std::string> refusals(const std::vector<shoal::rank_device>& devices, bool may_share) {
  return ranks::results(devices.size(), [&](const shoal::fold_context& context) {
    return refusal([&] { shoal::check_rank_devices(*context.ranks, devices[context.ranks->rank()], may_share); });
  });
}

TEST(RankDevices, AreOfOneKindAndEachHasItsOwn) {
  const std::string none;
  EXPECT_EQ(refusals({{"H200", "a"}, {"H200", "b"}, {"H200", "c"}}, false), std::vector(3, none));
  EXPECT_EQ(refusals({{"H200", "a"}, {"H200", "a"}}, true), std::vector(2, none));
  for (const std::string& said : refusals({{"H200", "a"}, {"H200", "b"}, {"H200", "a"}}, false)) {
    EXPECT_NE(said.find("ranks 0 and 2 have chosen the same GPU (H200, a)"), std::string::npos) << said;
    EXPECT_NE(said.find("choose the device cuda:local"), std::string::npos) << said;
  }
  for (const std::string& said : refusals({{"H200", "a"}, {"A100", "b"}}, true)) {
    EXPECT_NE(said.find("rank 0 has 'H200' and rank 1 'A100'"), std::string::npos) << said;
  }
}

TEST(RankDevices, AreOneForEachRank) {
  const auto checked = [](const shoal::device_choice& choice, bool led) {
    return ranks::results(
        2,
        [&](const shoal::fold_context& context) { return refusal([&] { shoal::check_ranks(choice, context.ranks); }); },
        led)[0];
  };
  EXPECT_EQ(checked({}, true), "");
  EXPECT_EQ(checked({{1}}, false), "");
  EXPECT_NE(checked({{0, 1}}, false).find("got 2 ranks on cuda:0,1: choose the device cuda:local"), std::string::npos);
  EXPECT_NE(checked({{0}}, true).find("only leads"), std::string::npos);
  shoal::check_ranks({{0, 1}}, nullptr);
}

// Eight shards of two ranks, of three, and of more ranks than shards.
TEST(RankDevices, PredictTheRowsOfTheirShards) {
  constexpr std::size_t many = std::size_t{1} << 27, row_bytes = 64;
  for (const std::size_t count : {1, 2, 3, 9}) {
    const auto own = ranks::results(count, [&](const shoal::fold_context& context) {
      return shoal::device_rows_of_rank(context.ranks, many, row_bytes);
    });
    std::size_t next = 0;
    for (const shoal::row_range& rows : own) {
      EXPECT_EQ(rows.first, next);
      EXPECT_EQ(rows.first % (many / 8), 0U);
      next = rows.end;
    }
    EXPECT_EQ(next, many);
  }
  const auto small = ranks::results(2, [&](const shoal::fold_context& context) {
    return shoal::device_rows_of_rank(context.ranks, 1000, row_bytes).end;
  });
  EXPECT_EQ(small, (std::vector<std::size_t>{1000, 1000}));  // one shard: the first rank's
}

TEST(Sendable, GivesBackWhatItWrote) {
  const sums_monoid monoid;
  const sums value{{1.5, -0.0, 3e300}, 7};
  sums back = monoid.identity();
  const std::vector<std::byte> bytes = shoal::to_bytes(monoid, value);
  shoal::from_bytes(monoid, bytes, back);
  EXPECT_EQ(back.values, value.values);
  EXPECT_TRUE(std::signbit(back.values[1]));
  EXPECT_EQ(back.count, 7u);
}

TEST(Sendable, RefusesBytesOfAnotherLength) {
  const sums_monoid monoid;
  const std::vector<std::byte> bytes = shoal::to_bytes(monoid, sums{{1, 2, 3}, 7});
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    sums into = monoid.identity();
    EXPECT_THROW(shoal::from_bytes(monoid, std::span(bytes).first(length), into), shoal::bad_data) << length;
  }
  std::vector<std::byte> longer = bytes;
  longer.push_back(std::byte{0});
  sums into = monoid.identity();
  EXPECT_THROW(shoal::from_bytes(monoid, longer, into), shoal::bad_data);
}

struct pair_monoid {
  using value_type = std::tuple<int, std::vector<double>>;
  static constexpr shoal::algebra::operation_laws laws = shoal::algebra::rounded_sums;
  value_type identity() const { return {}; }
  void combine_into(value_type&, const value_type&) const {}
};
struct map_monoid : pair_monoid {
  using value_type = std::vector<std::vector<double>>;
  value_type identity() const { return {}; }
  void combine_into(value_type&, const value_type&) const {}
};
struct lawless_monoid {
  using value_type = int;
  int identity() const { return 0; }
  void combine_into(int&, const int&) const {}
};

TEST(Sendable, IsSaidOfWhatCanBeWrittenAndKeepsTheLaws) {
  EXPECT_TRUE(shoal::sendable_monoid<pair_monoid>);
  EXPECT_FALSE(shoal::sendable_monoid<map_monoid>);
  EXPECT_FALSE(shoal::sendable_monoid<lawless_monoid>);
  std::tuple<int, std::vector<double>> back;
  shoal::from_bytes(pair_monoid{}, shoal::to_bytes(pair_monoid{}, {3, {1, 2}}), back);
  EXPECT_EQ(back, (std::tuple<int, std::vector<double>>{3, {1, 2}}));
}

}  // namespace
