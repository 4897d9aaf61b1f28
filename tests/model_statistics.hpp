// What the tests of every family's statistics share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/core/word_hash.hpp>
#include <shoal/io/row_source.hpp>

namespace model_statistics {

/// Rows [first, end) with their weights, where there are any.
template <class Scalar>
struct part {
  shoal::view_source<Scalar> rows;
  std::optional<shoal::view_source<Scalar>> weights;
  const shoal::row_source<Scalar>* weights_or_null() const { return weights ? &*weights : nullptr; }
};

template <class Scalar>
part<Scalar> part_of(const std::vector<Scalar>& rows, const std::vector<Scalar>& weights, std::size_t columns,
                     std::size_t first, std::size_t end) {
  part<Scalar> made{shoal::view_source<Scalar>({rows.data() + first * columns, end - first, columns}), {}};
  if (!weights.empty()) made.weights.emplace(shoal::matrix_view<const Scalar>(weights.data() + first, end - first, 1));
  return made;
}

/// The statistics of all parts, the last one first, which is not the order of the rows.
template <class Accumulate>
auto merged(const std::vector<std::size_t>& cuts, const Accumulate& accumulate) {
  const std::size_t parts = cuts.size() - 1;
  auto all = accumulate(cuts[parts - 1], cuts[parts]);
  for (std::size_t i = 0; i + 1 < parts; ++i) all = combine(accumulate(cuts[i], cuts[i + 1]), all);
  return all;
}

/// Relative to the largest.
inline void expect_close(const std::vector<double>& found, const std::vector<double>& expected, double bound) {
  ASSERT_EQ(found.size(), expected.size());
  double largest = 0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], bound * largest) << i;
}

template <class Work>
void expect_refused(const Work& work, const std::string& why) {
  try {
    work();
    ADD_FAILURE() << "was not refused; expected: " << why;
  } catch (const shoal::error& refusal) {
    EXPECT_NE(std::string(refusal.what()).find(why), std::string::npos) << refusal.what();
  }
}

/// The bytes with the checksum that they need.
inline std::string with_checksum(std::string bytes) {
  shoal::word_hash hash;
  for (std::size_t at = 0; at + 16 <= bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, 8);
    hash.take(word);
  }
  const std::uint64_t sum = hash.value();
  std::memcpy(bytes.data() + bytes.size() - 8, &sum, 8);
  return bytes;
}

/// `again(bytes)` reads and writes. Every word is changed to awkward ones: what is read must be written as it was.
template <class Again>
void expect_robust(const std::string& bytes, const Again& again) {
  EXPECT_EQ(again(bytes), bytes);
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{7}, std::size_t{16}, bytes.size() - 8, bytes.size() - 1}) {
    expect_refused([&] { again(bytes.substr(0, length)); }, "not usable statistics");
  }
  std::string flipped = bytes;
  flipped[bytes.size() / 2] = static_cast<char>(flipped[bytes.size() / 2] ^ 1);
  expect_refused([&] { again(flipped); }, "the checksum does not match");
  std::size_t refused = 0;
  for (std::size_t at = 0; at + 16 <= bytes.size(); at += 8) {
    for (const std::uint64_t word : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{1} << 40,
                                     std::uint64_t{0xfff0000000000000}, std::uint64_t{0xbff0000000000000}}) {
      std::string changed = bytes;
      std::memcpy(changed.data() + at, &word, 8);
      changed = with_checksum(changed);
      try {
        EXPECT_EQ(again(changed), changed) << "word " << at / 8;
      } catch (const shoal::bad_data&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, bytes.size() / 8 * 2);
}

}  // namespace model_statistics
