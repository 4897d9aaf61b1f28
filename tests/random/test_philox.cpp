// Philox4x32-10: the published known answers, and what the counter promises.
#include <array>
#include <bit>
#include <cstdint>
#include <set>

#include <gtest/gtest.h>

#include <shoal/random/philox.hpp>

namespace {

using shoal::random::philox4x32;
using words = std::array<std::uint32_t, 4>;

// The vectors that the Random123 library publishes for ten rounds: zeros, ones, and the digits of π.
TEST(Philox, GivesThePublishedKnownAnswers) {
  static_assert(philox4x32::block(0, 0, 0) == words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr std::uint64_t ones = ~std::uint64_t{0};
  EXPECT_EQ(philox4x32::block(ones, ones, ones), (words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32::block(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
            (words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, EveryBitOfKeyAndCounterMatters) {
  std::set<words> seen{philox4x32::block(1, 2, 3)};
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t flip = std::uint64_t{1} << bit;
    seen.insert(philox4x32::block(1 ^ flip, 2, 3));
    seen.insert(philox4x32::block(1, 2 ^ flip, 3));
    seen.insert(philox4x32::block(1, 2, 3 ^ flip));
  }
  EXPECT_EQ(seen.size(), 1u + 3 * 64);
}

// Flipping one input bit should flip each output bit with probability one half: 192 flips × 128 bits is binomial with
// deviation √(192·128)/2 ≈ 78.
TEST(Philox, OneInputBitFlipsHalfOfTheOutput) {
  const auto base = philox4x32::block(1, 2, 3);
  int flipped = 0;
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t flip = std::uint64_t{1} << bit;
    for (const auto& changed :
         {philox4x32::block(1 ^ flip, 2, 3), philox4x32::block(1, 2 ^ flip, 3), philox4x32::block(1, 2, 3 ^ flip)})
      for (int word = 0; word < 4; ++word) flipped += std::popcount(base[word] ^ changed[word]);
  }
  EXPECT_NEAR(flipped, 192 * 64, 5 * 79);
}

}  // namespace
