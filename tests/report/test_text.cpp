// Text, axes, ellipses and the subsample: what a picture is made of.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "report/axis.hpp"
#include "report/ellipse.hpp"
#include "report/picture.hpp"
#include "report/subsample.hpp"
#include "report/text.hpp"
#include "well_formed.hpp"

namespace shoal::report {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
const std::string broken = "\xEF\xBF\xBD";

TEST(text, shows_what_turns_text_around_instead_of_doing_it) {
  EXPECT_EQ(clean("a\u202Eb\u2066"), "a\\u202Eb\\u2066");
  EXPECT_EQ(escape("<\u202E>"), "&lt;\\u202E&gt;");
  EXPECT_EQ(clean("שלום é 👩\u200D🔬"), "שלום é 👩\u200D🔬");
}

TEST(text, escapes_markup) {
  EXPECT_EQ(escape("<script>alert(\"a\" & 'b')</script>"),
            "&lt;script&gt;alert(&quot;a&quot; &amp; &#39;b&#39;)&lt;/script&gt;");
  EXPECT_EQ(escape(""), "");
  EXPECT_EQ(escape("Δ σ² 雨 🐟"), "Δ σ² 雨 🐟");
}

TEST(text, replaces_each_byte_that_is_not_utf8) {
  EXPECT_EQ(clean("a\xFF"
                  "b"),
            "a" + broken + "b");
  EXPECT_EQ(clean("\xC3"), broken);                                         // cut short
  EXPECT_EQ(clean("\xC0\xAF"), broken + broken);                            // overlong /
  EXPECT_EQ(clean("\xE0\x80\xAF"), broken + broken + broken);               // overlong /
  EXPECT_EQ(clean("\xED\xA0\x80"), broken + broken + broken);               // surrogate
  EXPECT_EQ(clean("\xF4\x90\x80\x80"), broken + broken + broken + broken);  // above U+10FFFF
  EXPECT_EQ(clean("\xEF\xBF\xBF"), broken + broken + broken);               // U+FFFF, which XML forbids
  EXPECT_EQ(clean("\xEF\xBF\xBD"), broken);                                 // a replacement character is itself valid
  EXPECT_EQ(clean("\xF4\x8F\xBF\xBD"), "\xF4\x8F\xBF\xBD");
  EXPECT_EQ(clean(std::string_view("\0\x1B\x7F\t\n", 5)), broken + broken + broken + "\t\n");
}

RC_GTEST_PROP(text, any_bytes_become_well_formed, (const std::string& bytes)) {
  const std::string safe = escape(bytes);
  RC_ASSERT(tests::well_formed("<p a=\"" + safe + "\">" + safe + "</p>") == "" ||
            bytes.find('\r') != std::string::npos);
  RC_ASSERT(clean(clean(bytes)) == clean(bytes));
}

TEST(text, shortens_by_code_points) {
  EXPECT_EQ(shorten("abcd", 4), "abcd");
  EXPECT_EQ(shorten("abcde", 4), "abc…");
  EXPECT_EQ(shorten("äöüß€", 3), "äö…");
  EXPECT_EQ(shorten("ab", 1), "…");
  EXPECT_EQ(length("äö€🐟"), 4u);
}

TEST(text, writes_numbers_for_people) {
  EXPECT_EQ(count(0), "0");
  EXPECT_EQ(count(999), "999");
  EXPECT_EQ(count(1000), "1,000");
  EXPECT_EQ(count(1234567890), "1,234,567,890");
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(0, "row"), "0 rows");
  EXPECT_EQ(counted(1234, "row"), "1,234 rows");
  EXPECT_EQ(number(-1.5), "−1.5");
  EXPECT_EQ(number(0), "0");
  EXPECT_EQ(number(-0.0), "0");
  EXPECT_EQ(number(1.25e-7), "1.25×10⁻⁷");
  EXPECT_EQ(number(-3e12), "−3×10¹²");
  EXPECT_EQ(number(nan), "not a number");
  EXPECT_EQ(number(-infinity), "−∞");
  EXPECT_EQ(grouped(-1234567.6), "−1,234,568");
  EXPECT_EQ(grouped(2322.191), "2322.191");
  EXPECT_EQ(percent(0.356), "35.6\u00A0%");
  EXPECT_EQ(percent(0.00021), "0.021\u00A0%");
  EXPECT_EQ(percent(0), "0.0\u00A0%");
  EXPECT_EQ(duration(0.0123), "12.3\u00A0ms");
  EXPECT_EQ(duration(3.456), "3.46\u00A0s");
  EXPECT_EQ(duration(125.2), "2\u00A0min 05\u00A0s");
  EXPECT_EQ(duration(3599.7), "1\u00A0h 00\u00A0min");
}

TEST(axis, ticks_by_hand) {
  EXPECT_EQ(nice_ticks({0, 10}, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(nice_ticks({-0.13, 0.31}, 5), (std::vector<double>{-0.1, 0, 0.1, 0.2, 0.3}));
  EXPECT_EQ(nice_ticks({1, 3}, 7, true), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(nice_ticks({-9, 9}, 3), (std::vector<double>{-5, 0, 5}));
}

TEST(axis, tick_labels_share_decimals_and_power) {
  const axis small = make_axis("x", {-0.5, 0.5}, 5);
  EXPECT_EQ(small.tick_labels, (std::vector<std::string>{"−0.4", "−0.2", "0.0", "0.2", "0.4"}));
  const axis large = make_axis("BIC", {0, 3e7}, 3);
  EXPECT_EQ(large.label, "BIC (×10⁶)");
  EXPECT_EQ(large.tick_labels, (std::vector<std::string>{"0", "10", "20", "30"}));
  const axis tiny = make_axis("", {0, 4e-5}, 4);
  EXPECT_EQ(tiny.label, " (×10⁻⁶)");
  EXPECT_EQ(tiny.tick_labels, (std::vector<std::string>{"0", "10", "20", "30", "40"}));
}

RC_GTEST_PROP(axis, ticks_are_ascending_inside_and_few, ()) {
  const double scale = std::pow(10.0, *rc::gen::inRange(-30, 30));
  const double low = (*rc::gen::inRange(-100000, 100000)) * scale;
  const double high = low + (*rc::gen::inRange(1, 200000)) * scale;
  const int target = *rc::gen::inRange(2, 10);
  const std::vector<double> ticks = nice_ticks({low, high}, target);
  RC_ASSERT(ticks.size() >= 2u);
  // A round step may be half of the one that would give exactly `target` intervals.
  RC_ASSERT(ticks.size() <= 2 * static_cast<std::size_t>(target) + 2);
  RC_ASSERT(ticks.front() >= low && ticks.back() <= high);
  const double step = ticks[1] - ticks[0];
  for (std::size_t i = 1; i < ticks.size(); ++i) {
    RC_ASSERT(ticks[i] > ticks[i - 1]);
    RC_ASSERT(std::abs(ticks[i] - ticks[i - 1] - step) <= 1e-6 * step);
  }
  // The step is 1, 2 or 5 times a power of ten, and no label repeats.
  const double mantissa = step / std::pow(10.0, std::floor(std::log10(step) + 1e-7));
  RC_ASSERT(std::min({std::abs(mantissa - 1), std::abs(mantissa - 2), std::abs(mantissa - 5)}) < 1e-4);
  const axis made = make_axis("", {low, high}, target);
  RC_ASSERT(std::set<std::string>(made.tick_labels.begin(), made.tick_labels.end()).size() == made.ticks.size());
}

TEST(axis, ranges_of_awkward_values) {
  EXPECT_EQ(range_of({}).low, 0);
  EXPECT_EQ(range_of({}).high, 1);
  const std::vector<double> hidden{nan, 3, infinity, 5, -infinity};
  EXPECT_EQ(range_of(hidden).low, 3);
  EXPECT_EQ(range_of(hidden).high, 5);
  for (const double single : {0.0, 7.0, -1e-300, 1e308, -1e308, 5e-324, 1e6}) {
    const range shown = range_of(std::vector<double>{single, single});
    EXPECT_LT(shown.low, shown.high) << single;
    EXPECT_TRUE(std::isfinite(shown.low) && std::isfinite(shown.high)) << single;
    EXPECT_GE(make_axis("", shown, 5).ticks.size(), 2u) << single;
  }
  // A spread that rounding nearly hides still gets distinct ticks.
  const range close = range_of(std::vector<double>{1e6, std::nextafter(1e6, 2e6)});
  const std::vector<double> ticks = nice_ticks(close, 5);
  EXPECT_EQ(std::set<double>(ticks.begin(), ticks.end()).size(), ticks.size());
}

TEST(axis, robust_range_leaves_rare_huge_values_out) {
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back(i % 100);
  EXPECT_EQ(robust_range(values).low, 0);
  EXPECT_EQ(robust_range(values).high, 99);
  values[500] = 1e9;
  EXPECT_LT(robust_range(values).high, 300);
  EXPECT_GE(robust_range(values).high, 99);
  // A column that is constant but for one value shows that value: there is no spread to measure by.
  std::vector<double> constant(1000, 4);
  constant[3] = 9;
  EXPECT_EQ(robust_range(constant).high, 9);
}

TEST(ellipse, known_covariances) {
  const ellipse plain = covariance_ellipse(4, 0, 9);
  EXPECT_NEAR(plain.major, 3, 1e-12);
  EXPECT_NEAR(plain.minor, 2, 1e-12);
  EXPECT_NEAR(plain.angle, std::numbers::pi / 2, 1e-12);
  // Eigenvalues 3 and 1 along the diagonals.
  const ellipse turned = covariance_ellipse(2, 1, 2);
  EXPECT_NEAR(turned.major, std::sqrt(3.0), 1e-12);
  EXPECT_NEAR(turned.minor, 1, 1e-12);
  EXPECT_NEAR(turned.angle, std::numbers::pi / 4, 1e-12);
  EXPECT_NEAR(covariance_ellipse(2, -1, 2).angle, -std::numbers::pi / 4, 1e-12);
  // Axes 5 and 0.1 turned by 30 degrees, rebuilt from their squares.
  const double turn = std::numbers::pi / 6;
  const double a = 25 * std::cos(turn) * std::cos(turn) + 0.01 * std::sin(turn) * std::sin(turn);
  const double b = (25 - 0.01) * std::cos(turn) * std::sin(turn);
  const double c = 25 * std::sin(turn) * std::sin(turn) + 0.01 * std::cos(turn) * std::cos(turn);
  const ellipse built = covariance_ellipse(a, b, c);
  EXPECT_NEAR(built.major, 5, 1e-9);
  EXPECT_NEAR(built.minor, 0.1, 1e-9);
  EXPECT_NEAR(built.angle, turn, 1e-9);
}

TEST(ellipse, degenerate_covariances) {
  const ellipse line = covariance_ellipse(1, 1, 1);
  EXPECT_NEAR(line.major, std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(line.minor, 0, 1e-7);
  EXPECT_GE(line.minor, 0);
  EXPECT_EQ(covariance_ellipse(0, 0, 0).major, 0);
  EXPECT_EQ(covariance_ellipse(-1, 0, -2).major, 0);
  EXPECT_EQ(covariance_ellipse(nan, 0, 1).major, 0);
  EXPECT_EQ(covariance_ellipse(1, infinity, 1).minor, 0);
}

TEST(subsample, is_all_rows_when_they_fit) {
  EXPECT_TRUE(subsample(0, 10).empty());
  EXPECT_TRUE(subsample(10, 0).empty());
  EXPECT_EQ(subsample(3, 3), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(subsample(2, 4000), (std::vector<std::size_t>{0, 1}));
}

TEST(subsample, is_the_same_each_time_distinct_and_spread) {
  for (const std::size_t rows : {std::size_t{4001}, std::size_t{7919}, std::size_t{1000000}, std::size_t{1} << 50}) {
    const auto first = subsample(rows, 4000);
    EXPECT_EQ(first, subsample(rows, 4000));
    ASSERT_EQ(first.size(), 4000u);
    for (std::size_t i = 0; i < first.size(); ++i) {
      ASSERT_LT(first[i], rows);
      if (i > 0) {
        ASSERT_LT(first[i - 1], first[i]);
      }
      // Each tenth of the rows gives a tenth of the sample.
      ASSERT_NEAR(static_cast<double>(first[i]) / static_cast<double>(rows), static_cast<double>(i) / 4000, 0.0006);
    }
  }
}

TEST(subsample, does_not_beat_with_a_period_in_the_rows) {
  std::size_t in_phase = 0;
  for (const std::size_t index : subsample(1000000, 4000)) in_phase += index % 250 == 0;
  EXPECT_LT(in_phase, 60u);  // 16 expected; every 250th row would give 4,000 or none
  EXPECT_GT(in_phase, 1u);
}

TEST(subsample, reads_the_rows_it_names) {
  std::vector<float> values(3 * 5000);
  std::iota(values.begin(), values.end(), 0.0f);
  const row_sample sample = sample_rows(view_source<float>({values.data(), 5000, 3}), 100);
  ASSERT_EQ(sample.indices.size(), 100u);
  EXPECT_EQ(sample.rows_in_all, 5000u);
  for (std::size_t i = 0; i < 100; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      ASSERT_EQ(sample.rows()(i, j), static_cast<double>(values[sample.indices[i] * 3 + j]));
}

TEST(coordinate, is_short_and_never_not_a_number) {
  EXPECT_EQ(coordinate(12), "12");
  EXPECT_EQ(coordinate(12.34), "12.3");
  EXPECT_EQ(coordinate(-0.01), "0");
  EXPECT_EQ(coordinate(nan), "0");
  EXPECT_EQ(coordinate(infinity), "0");
}

}  // namespace
}  // namespace shoal::report
