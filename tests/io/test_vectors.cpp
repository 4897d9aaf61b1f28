// .fvecs, .bvecs and .ivecs files.
#include <fmt/format.h>

#include <chrono>

#include "files.hpp"

namespace {

using namespace testing_files;
using shoal::bad_data;
using numbers = std::vector<double>;

template <class Element>
std::string vectors(const std::vector<std::vector<Element>>& rows) {
  std::string file;
  for (const auto& row : rows)
    file += bytes_of(std::vector<std::uint32_t>{static_cast<std::uint32_t>(row.size())}) + bytes_of(row);
  return file;
}

numbers read(const std::string& path, const shoal::read_options& options = {}) {
  return all_values(*shoal::open_rows<double>(path, options).rows);
}

TEST(Vectors, AreReadInMemoryAndPieceByPiece) {
  const folder place;
  const std::string floats = place.write("x.fvecs", vectors<float>({{1, 2, 3}, {4.5, 5, 6}}));
  const std::string bytes = place.write("x.bvecs", vectors<std::uint8_t>({{1, 2, 255}, {4, 5, 6}}));
  const std::string integers = place.write("x.ivecs", vectors<std::int32_t>({{1, -2, 3}, {4, 5, 1 << 30}}));
  for (const std::size_t limit : {0, 1}) {
    shoal::read_options options;
    options.memory_limit = limit;
    EXPECT_EQ(read(floats, options), (numbers{1, 2, 3, 4.5, 5, 6}));
    EXPECT_EQ(read(bytes, options), (numbers{1, 2, 255, 4, 5, 6}));
    EXPECT_EQ(read(integers, options), (numbers{1, -2, 3, 4, 5, 1 << 30}));
    EXPECT_EQ(shoal::open_rows<float>(floats, options).rows->resident(), limit == 0);
    options.columns = {"2", "0"};
    EXPECT_EQ(read(floats, options), (numbers{3, 1, 6, 4.5}));
  }
  EXPECT_EQ(shoal::data_file(floats).natural_scalar(), shoal::scalar::float32);
  EXPECT_EQ(shoal::data_file(bytes).natural_scalar(), shoal::scalar::float64);
  const auto description = shoal::describe_file(bytes);
  EXPECT_EQ(description.format, "bvecs");
  EXPECT_EQ(description.element, "uint8");
  EXPECT_EQ(description.rows, 2u);
  EXPECT_EQ(description.columns, 3u);
}

// With a read for each row, half a gigabyte of one-column vectors took a minute to refuse.
TEST(Vectors, RefuseALongDamagedFileWithoutAReadForEachRow) {
  const folder place;
  const std::string path =
      place.write("x.fvecs", vectors<float>(std::vector<std::vector<float>>(4'000'000, {1})) + "abc");
  const auto begin = std::chrono::steady_clock::now();
  expect_refusal<bad_data>([&] { shoal::describe_file(path); }, {"byte 32000000", "row 4000000 is truncated"});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
}

TEST(Vectors, RefuseDamageWithRowAndByte) {
  const folder place;
  const auto refuse = [&](const std::string& name, const std::string& contents, const std::vector<std::string>& parts) {
    const std::string path = place.write(name, contents);
    std::vector<std::string> all = {path + ": "};
    all.insert(all.end(), parts.begin(), parts.end());
    for (const std::size_t limit : {0, 1}) {
      shoal::read_options options;
      options.memory_limit = limit;
      expect_refusal<bad_data>([&] { read(path, options); }, all);
    }
  };
  const std::string good = vectors<float>({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}});
  refuse("x.fvecs", "", {"empty"});
  refuse("x.fvecs", "abc", {"truncated", "has 3"});
  refuse("x.fvecs", good.substr(0, 44), {"byte 32", "row 2 is truncated", "expected 16 bytes", "has 12 more"});
  refuse("x.fvecs", good.substr(0, 34), {"byte 32", "row 2 is truncated", "has 2 more"});
  refuse("x.fvecs", vectors<float>({{1, 2, 3}, {4, 5}, {7, 8, 9}}),
         {"byte 16", "row 1 has dimension 2, the first row has 3"});
  std::string same_size = good;
  same_size[32] = 5;  // the size still fits: found while the rows are read
  refuse("x.fvecs", same_size, {"byte 32", "row 2 has dimension 5, the first row has 3"});
  refuse("x.fvecs", vectors<float>(std::vector<std::vector<float>>(300'000, {1})).substr(0, 2'399'999),
         {"byte 2399992", "row 299999 is truncated", "has 7 more"});
  refuse("x.fvecs", std::string(16, '\0'), {"byte 0", "dimension 0"});
  refuse("x.bvecs", std::string("\0\0\0\x80zz", 6), {"dimension 2147483648"});
}

}  // namespace
