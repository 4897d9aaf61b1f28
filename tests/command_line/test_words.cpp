// The words of the command line: strict numbers, sizes, lists, suggestions; and the parts that need no process.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>

#include "common/progress_line.hpp"
#include "common/standardization.hpp"
#include "common/words.hpp"
#include "data/column_statistics.hpp"

namespace {

using namespace shoal::app;
using counts = std::vector<std::size_t>;
using names = std::vector<std::string>;

TEST(words, counts_are_whole_and_in_range) {
  EXPECT_EQ(parse_count("--rows", "272"), 272u);
  EXPECT_EQ(parse_count("--rows", "1e6"), 1000000u);
  EXPECT_EQ(parse_count("--seed", "18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
  // A leading zero is no octal number.
  EXPECT_EQ(parse_count("--rows", "010"), 10u);
  for (const char* text :
       {"", " ", "-1", "1.5", "1e-1", "0x10", "7 ", "7a", "nan", "inf", "1e300", "18446744073709551616", "--json"}) {
    EXPECT_THROW(parse_count("--rows", text), shoal::bad_argument) << text;
  }
  EXPECT_THROW(parse_count("--threads", "0", 1), shoal::bad_argument);
  EXPECT_THROW(parse_count("--threads", "4097", 1, 4096), shoal::bad_argument);
}

TEST(words, numbers_are_finite_and_not_below_the_least) {
  EXPECT_EQ(parse_number("--tolerance", "1e-3", 0), 1e-3);
  EXPECT_EQ(parse_number("--tolerance", "0", 0), 0);
  for (const char* text : {"", "nan", "inf", "-1e-9", "1,5", "1 ", "1e999"}) {
    EXPECT_THROW(parse_number("--tolerance", text, 0), shoal::bad_argument) << text;
  }
  EXPECT_THROW(parse_number("--alpha", "0", 0, true), shoal::bad_argument);
}

TEST(words, sizes) {
  EXPECT_EQ(parse_bytes("--memory-limit", "1000000"), 1000000u);
  EXPECT_EQ(parse_bytes("--memory-limit", "64MiB"), std::size_t{64} << 20);
  EXPECT_EQ(parse_bytes("--memory-limit", "2GiB"), std::size_t{2} << 30);
  EXPECT_EQ(parse_bytes("--memory-limit", "2 gib"), std::size_t{2} << 30);
  EXPECT_EQ(parse_bytes("--memory-limit", "1.5K"), 1536u);
  EXPECT_EQ(parse_bytes("--memory-limit", "3kB"), 3000u);
  EXPECT_EQ(parse_bytes("--memory-limit", "0"), 0u);
  for (const char* text : {"", "MiB", "-1", "1XiB", "1..2", "1e3", "99999999TiB", "64 M i B"}) {
    EXPECT_THROW(parse_bytes("--memory-limit", text), shoal::bad_argument) << text;
  }
}

TEST(words, lists_of_counts) {
  EXPECT_EQ(parse_counts("--components", "1..4"), (counts{1, 2, 3, 4}));
  EXPECT_EQ(parse_counts("--components", "5,1,2"), (counts{1, 2, 5}));
  EXPECT_EQ(parse_counts("--components", "1..3, 3..4 ,8"), (counts{1, 2, 3, 4, 8}));
  for (const char* text : {"", "0", "3..1", "1..", "..3", "1,,2", "1,", "a", "1..1000000000", "1-3", "1..2..3"}) {
    EXPECT_THROW(parse_counts("--components", text), shoal::bad_argument) << text;
  }
}

TEST(words, lists_of_names) {
  EXPECT_EQ(parse_names("--columns", "a, b ,2..5"), (names{"a", "b", "2..5"}));
  EXPECT_EQ(parse_names("--columns", "\"a,b\",c"), (names{"a,b", "c"}));
  for (const char* text : {"", ",", "a,", "\"a", "\"a\"b"}) {
    EXPECT_THROW(parse_names("--columns", text), shoal::bad_argument) << text;
  }
}

TEST(words, nearest_word) {
  const names known = {"full", "tied", "diag", "spherical"};
  EXPECT_EQ(nearest("ful", known), "full");
  EXPECT_EQ(nearest("DIAG", known), "diag");
  EXPECT_EQ(nearest("diagonal", known), "");
  EXPECT_EQ(nearest("fulll", known), "full");
  EXPECT_EQ(nearest("teid", known), "tied");
  EXPECT_EQ(nearest("spher", known), "spherical");
  EXPECT_EQ(nearest("xyz", known), "");
  EXPECT_EQ(nearest("", known), "");
}

TEST(words, messages_are_lines_of_clean_text) {
  EXPECT_EQ(printable_lines("a\nb"), "a\nb");
  EXPECT_EQ(printable_lines("über"), "über");
  EXPECT_EQ(printable_lines("\xff\x1b[0m"), "\\xFF\\x1B[0m");
}

TEST(words, for_people) {
  EXPECT_EQ(grouped(7), "7");
  EXPECT_EQ(grouped(1234), "1,234");
  EXPECT_EQ(grouped(123456789), "123,456,789");
  EXPECT_EQ(bytes_text(512), "512 bytes");
  EXPECT_EQ(bytes_text(64 << 20), "64.0 MiB");
  EXPECT_EQ(duration_text(0.25), "250 ms");
  EXPECT_EQ(duration_text(125), "2 min 05 s");
  EXPECT_EQ(duration_text(3600 * 3 + 61), "3 h 01 min");
}

TEST(progress, says_at_most_how_long_it_takes) {
  EXPECT_EQ(progress_text("", {"gmm", 25, 100, -4.25}, 25, 10), "gmm 25/100  -4.25  at most 30 s to go");
  EXPECT_EQ(progress_text("", {"gmm", 60, 100, -4.25}, 5, 10), "gmm 60/100  -4.25  at most 80 s to go");
  EXPECT_EQ(progress_text("", {"gmm", 60, 100, -4.25}, 0, 0), "gmm 60/100  -4.25");
  EXPECT_EQ(progress_text("K = 3", {"gmm", 100, 100, -4.25}, 99, 10), "K = 3  gmm 100/100  -4.25");
  EXPECT_EQ(progress_text("", {"seeding", 0, 0, std::nan("")}, 0, 10), "seeding");
}

// Rows whose statistics can be done by hand, spread over several chunks by repetition.
TEST(column_statistics, agree_with_two_passes_over_the_values) {
  const std::size_t rows = 1537;
  std::vector<double> values;
  std::vector<double> weights;
  for (std::size_t i = 0; i < rows; ++i) {
    values.push_back(1e6 + static_cast<double>(i * i % 101));
    values.push_back(3);
    weights.push_back(static_cast<double>(i % 3));
  }
  values[10] = std::numeric_limits<double>::quiet_NaN();
  double weight = 0;
  double mean = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    if (i == 5) continue;
    weight += weights[i];
    mean += weights[i] * values[2 * i];
  }
  mean /= weight;
  double squares = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    if (i != 5) squares += weights[i] * (values[2 * i] - mean) * (values[2 * i] - mean);
  }
  const shoal::view_source<double> source({values.data(), rows, 2});
  const shoal::view_source<double> weight_source({weights.data(), rows, 1});
  run_options run;
  run.threads = 2;
  const auto columns = column_statistics_of<double>(source, &weight_source, run, {});
  ASSERT_EQ(columns.size(), 2u);
  EXPECT_EQ(columns[0].not_finite, 1u);
  EXPECT_NEAR(columns[0].mean, mean, 1e-9);
  EXPECT_NEAR(columns[0].deviation(), std::sqrt(squares / weight), 1e-9);
  EXPECT_EQ(columns[1].mean, 3);
  EXPECT_EQ(columns[1].deviation(), 0);
  EXPECT_EQ(columns[1].minimum, 3);
  EXPECT_EQ(columns[1].maximum, 3);
  run.threads = 1;
  run.memory_limit = 100000;
  const auto again = column_statistics_of<double>(source, &weight_source, run, {});
  EXPECT_EQ(again[0].mean, columns[0].mean);
  EXPECT_EQ(again[0].squares, columns[0].squares);
}

TEST(standardization, a_constant_column_is_only_centred) {
  shoal::data_summary summary;
  summary.columns = 2;
  summary.mean = {4, 0.1 + 1e-17};
  summary.variance = {9, 1e-34};
  summary.minimum = {1, 0.1};
  summary.maximum = {7, 0.1};
  const standardization units = standardize(summary);
  EXPECT_EQ(units.center, (std::vector<double>{4, 0.1}));
  EXPECT_EQ(units.scale, (std::vector<double>{3, 1}));
  EXPECT_DOUBLE_EQ(units.log_volume(), std::log(3.0));
}

// A source that fills the caller's buffer, with a stride, as a file of many columns would.
class strided_source final : public shoal::row_source<float> {
 public:
  std::size_t rows() const override { return 5; }
  std::size_t columns() const override { return 2; }
  shoal::matrix_view<const float> read(std::size_t first, std::size_t count,
                                       shoal::aligned_buffer<float>& buffer) const override {
    buffer.grow(count * 3 + 1);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < 2; ++j) buffer[1 + i * 3 + j] = static_cast<float>((first + i) * (j + 1));
    }
    return {buffer.data() + 1, count, 2, 3};
  }
  bool resident() const override { return false; }
};

TEST(standardization, rows_are_shifted_and_scaled_wherever_they_lie) {
  const standardization units{{1, 2}, {2, 4}};
  const strided_source strided;
  const std::vector<float> memory = {0, 0, 1, 2, 2, 4, 3, 6, 4, 8};
  const shoal::view_source<float> resident({memory.data(), 5, 2});
  for (const shoal::row_source<float>* source : {static_cast<const shoal::row_source<float>*>(&strided),
                                                 static_cast<const shoal::row_source<float>*>(&resident)}) {
    const standardized_source<float> standardized(*source, units);
    shoal::aligned_buffer<float> buffer;
    const auto rows = standardized.read(1, 3, buffer);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(rows(i, 0), (static_cast<float>(i + 1) - 1) / 2);
      EXPECT_EQ(rows(i, 1), (static_cast<float>(2 * (i + 1)) - 2) / 4);
    }
  }
  EXPECT_EQ(memory[3], 2);
}

}  // namespace
