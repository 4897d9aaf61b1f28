// Products of bytes by the tile unit are the plain ones, and a search that uses them finds the same to the bit.
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cstdint>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/aligned_buffer.hpp>
#include <shoal/nearest/nearest.hpp>
#include <shoal/nearest/tile_products.hpp>

#include "../kmeans/kmeans_reference.hpp"

namespace {

using kmeans_reference::clouds;

constexpr auto no_unit =
    "no tile unit: this processor has none, its system does not lend it, or the compiler did not know it";

// What the system says of its processor.
bool is_listed(const std::string& flag) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string word; file >> word;) {
    if (word == flag) return true;
  }
  return false;
}

// Whether this thread has tiles to be saved.
bool holds_tiles() {
#if defined(__x86_64__)
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return (low & 1U << 18) != 0;
#else
  return false;
#endif
}

// Whether the system has tiles to lend: a sandbox may not. It does not ask for them, as the library must.
bool are_lent() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr long supported = 0x1021;
  std::uint64_t states = 0;
  return syscall(SYS_arch_prctl, supported, &states) == 0 && (states & std::uint64_t{1} << 18) != 0;
#else
  return false;
#endif
}

TEST(TileProducts, AreUsedWhereTheProcessorHasThem) {
  if (!is_listed("amx_int8") || !are_lent()) GTEST_SKIP() << no_unit;
  EXPECT_TRUE(shoal::has_tile_products());
  if (!shoal::has_byte_search()) GTEST_SKIP() << "this build does not search by bytes";
  const auto data = clouds<float>(100, 300, 5, 1.5, 0, 1);
  const shoal::centroid_index<float> index(clouds<double>(64, 300, 5, 1.5, 0, 2).values, 64, 300);
  shoal::nearest_scratch<float> scratch;
  std::vector<std::int32_t> labels(100);
  shoal::find_nearest<float>(index, data.view(), labels.data(), scratch);
  EXPECT_TRUE(scratch.by_bytes);
  EXPECT_TRUE(scratch.by_tiles);
  EXPECT_FALSE(holds_tiles());
}

TEST(TileProducts, AreThePlainOnesAtAwkwardSizes) {
  if (!shoal::has_tile_products()) GTEST_SKIP() << no_unit;
  std::mt19937 words(1);
  for (const std::size_t fours : {1, 2, 8, 15, 16, 17, 31, 32, 33, 49, 75, 192}) {
    for (std::size_t centroids = 1; centroids <= 300; centroids += centroids < 40 ? 1 : 13) {
      const shoal::tile_cut cut(centroids, fours);
      ASSERT_LE(cut.height, shoal::tile_cut::most);
      ASSERT_LE(cut.depth, shoal::tile_cut::most);
      ASSERT_GE(cut.height * cut.tiles, centroids);
      std::vector<int> plain(centroids * 4 * fours);  // −127 to 127
      for (int& value : plain) value = static_cast<int>(words() % 255) - 127;
      shoal::aligned_buffer<std::int32_t> rows;
      rows.grow(fours * shoal::byte_panel_rows);
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int32_t>(words());
      shoal::aligned_buffer<std::int8_t> bytes;
      bytes.grow(cut.tiles * cut.tile_bytes());
      std::fill_n(bytes.data(), cut.tiles * cut.tile_bytes(), std::int8_t{0});
      // Every column is in the step that it first appears in.
      for (std::size_t k = 0; k < centroids; ++k) {
        for (std::size_t j = 0; j < 4 * fours; ++j) {
          const std::size_t step = j / 4 / cut.depth, column = j - 4 * cut.first_four(step);
          bytes[k / cut.height * cut.tile_bytes() + (step * cut.height + k % cut.height) * shoal::tile_cut::row_bytes +
                column] = static_cast<std::int8_t>(plain[k * 4 * fours + j]);
        }
      }
      shoal::aligned_buffer<std::int32_t> sums;
      sums.grow(cut.tiles * cut.height * shoal::byte_panel_rows);
      {
        const shoal::tile_unit unit(cut);
        for (std::size_t tile = 0; tile < cut.tiles; ++tile) {
          unit.multiply(bytes.data() + tile * cut.tile_bytes(), rows.data(),
                        sums.data() + tile * cut.height * shoal::byte_panel_rows);
        }
        EXPECT_TRUE(holds_tiles());
      }
      std::size_t wrong = 0;
      for (std::size_t k = 0; k < centroids; ++k) {
        for (std::size_t i = 0; i < shoal::byte_panel_rows; ++i) {
          int sum = 0;
          for (std::size_t j = 0; j < 4 * fours; ++j) {
            const auto four = static_cast<std::uint32_t>(rows[j / 4 * shoal::byte_panel_rows + i]);
            sum += plain[k * 4 * fours + j] * static_cast<int>(four >> (j % 4 * 8) & 0xff);
          }
          wrong += sum != sums[k * shoal::byte_panel_rows + i];
        }
      }
      EXPECT_EQ(wrong, 0U) << fours << " fours, " << centroids << " centroids";
    }
  }
  EXPECT_FALSE(holds_tiles());
}

// More centroids than one group holds, and groups that end within a tile, too.
TEST(TileProducts, ChangeNoBitOfASearch) {
  if (!shoal::has_tile_products()) GTEST_SKIP() << no_unit;
  if (!shoal::has_byte_search()) GTEST_SKIP() << "this build does not search by bytes";
  for (const std::size_t columns : {32, 33, 35, 64, 65, 255, 300}) {
    for (const std::size_t clusters : {17, 56, 64, 65, 131, 300, 1025, 2100}) {
      for (const std::size_t rows : {1, 47, 48, 49, 211}) {
        const auto data = clouds<float>(rows, columns, 5, 1.5, 3, rows + columns);
        const shoal::centroid_index<float> index(clouds<double>(clusters, columns, 5, 1.5, 3, 77).values, clusters,
                                                 columns);
        shoal::nearest_scratch<float> plain, tiles;
        plain.may_use_tiles = false;
        std::vector<std::int32_t> labels(rows), again(rows);
        std::vector<float> others(rows), bounds(rows);
        shoal::find_nearest<float>(index, data.view(), labels.data(), plain, others.data());
        shoal::find_nearest<float>(index, data.view(), again.data(), tiles, bounds.data());
        const std::string what =
            std::to_string(rows) + "x" + std::to_string(columns) + " K " + std::to_string(clusters);
        EXPECT_EQ(again, labels) << what;
        EXPECT_EQ(bounds, others) << what;
        EXPECT_EQ(plain.by_bytes, tiles.by_bytes) << what;
        EXPECT_FALSE(plain.by_bytes && plain.by_tiles) << what;
        EXPECT_TRUE(!tiles.by_bytes || tiles.by_tiles) << what;
      }
    }
  }
}

}  // namespace
