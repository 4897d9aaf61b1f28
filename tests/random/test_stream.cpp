// Random streams: named by seed, stream and index, uniform, and unrelated to their neighbours.
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/random/stream.hpp>

#include "statistics.hpp"

namespace {

using namespace shoal::random;
using namespace shoal::testing;

constexpr std::size_t draws = 200000;
const auto uniform_cdf = [](double x) { return x; };

TEST(Stream, ReadsTheWordsOfTheBlocksInOrder) {
  stream words(7, 11, 5);
  for (std::uint64_t index = 5; index < 9; ++index)
    for (const std::uint32_t word : philox4x32::block(7, 11, index)) EXPECT_EQ(words.next_u32(), word);
  stream first(0, 0);
  EXPECT_EQ(first.next_u64(), 0xe169c58d6627e8d5u);
  EXPECT_EQ(first.next_u64(), 0x9b00dbd8bc57ac4cu);
  stream odd(0, 0);
  odd.next_u32();
  EXPECT_EQ(odd.next_u64(), 0xbc57ac4ce169c58du);
}

TEST(Stream, AnIndexSkipsBlocks) {
  stream from_start(3, 4), skipped(3, 4, 2);
  for (int i = 0; i < 8; ++i) from_start.next_u32();
  for (int i = 0; i < 8; ++i) EXPECT_EQ(from_start.next_u64(), skipped.next_u64());
  EXPECT_EQ(uniform_at(3, 4, 2), stream(3, 4, 2).uniform());
}

TEST(Stream, UniformsLieInsideTheOpenInterval) {
  EXPECT_EQ(open_uniform(0), 0x1p-53);
  EXPECT_EQ(open_uniform(~std::uint64_t{0}), 1 - 0x1p-53);
  EXPECT_EQ(open_uniform(std::uint64_t{1} << 63), 0.5 + 0x1p-53);
}

// Along a stream, along the streams, along the indices and along the seeds alike.
TEST(Stream, IsUniformInEveryDirectionAndUncorrelatedWithItsNeighbours) {
  std::vector<std::vector<double>> series(4);
  stream along(1, 2);
  for (std::uint64_t i = 0; i < draws; ++i) {
    series[0].push_back(along.uniform());
    series[1].push_back(uniform_at(1, i, 0));
    series[2].push_back(uniform_at(1, 2, i));
    series[3].push_back(uniform_at(i, 2, 0));
  }
  for (const auto& values : series) {
    EXPECT_LT(moments_deviation(values, 0.5, std::sqrt(1.0 / 12), 0, 1.8), 5);
    EXPECT_GT(ks_test(values, uniform_cdf), least_p_value);
    EXPECT_GT(equal_cells_test(values, uniform_cdf, 1000), least_p_value);
    for (const std::size_t lag : {1, 2, 4, 512}) {
      const std::span<const double> all(values);
      // The deviation of a correlation of n independent pairs is 1/√n.
      EXPECT_LT(std::abs(correlation(all.first(draws - lag), all.subspan(lag))), 5 / std::sqrt(draws - lag)) << lag;
    }
  }
  for (std::size_t a = 0; a < series.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      EXPECT_LT(std::abs(correlation(series[a], series[b])), 5 / std::sqrt(double(draws)));
}

TEST(Stream, TheUniformityTestsHavePower) {
  std::vector<double> values;
  stream bits(1, 2);
  for (std::size_t i = 0; i < draws; ++i) values.push_back(std::pow(bits.uniform(), 1.02));
  EXPECT_LT(ks_test(values, uniform_cdf), 1e-4);
  EXPECT_GT(moments_deviation(values, 0.5, std::sqrt(1.0 / 12), 0, 1.8), 5);
}

TEST(Mix, TakesItsArgumentsInOrderAndDoesNotRepeat) {
  EXPECT_NE(mix(1, 2), mix(2, 1));
  EXPECT_NE(mix(0, 0), 0u);
  std::set<std::uint64_t> seen;
  for (std::uint64_t a = 0; a < 300; ++a)
    for (std::uint64_t b = 0; b < 300; ++b) seen.insert(mix(a, b));
  EXPECT_EQ(seen.size(), 300u * 300);
}

TEST(Mix, GivesUniformBits) {
  std::vector<double> values;
  for (std::uint64_t a = 0; a < 500; ++a)
    for (std::uint64_t b = 0; b < 400; ++b) values.push_back(open_uniform(mix(a, b)));
  EXPECT_GT(ks_test(values, uniform_cdf), least_p_value);
  for (double& value : values) value = std::fmod(value * 0x1p40, 1.0);  // the lower bits
  EXPECT_GT(equal_cells_test(values, uniform_cdf, 256), least_p_value);
}

}  // namespace
