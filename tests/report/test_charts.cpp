// The drawings: well-formed whatever the data, and showing what they say.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>

#include "report/chart.hpp"
#include "well_formed.hpp"

namespace shoal::report {
namespace {

using tests::occurrences;
using tests::well_formed;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
const std::string evil = "<script>alert('1')</script> & \xFF \"x\"";

void expect_sound(const picture& drawing) {
  EXPECT_EQ(well_formed(standalone_svg(drawing)), "");
  EXPECT_EQ(well_formed(inline_svg(drawing)), "");
  for (const std::string_view wrong : {"nan", "inf", "<script"})
    EXPECT_EQ(drawing.body.find(wrong), std::string::npos) << wrong;
  EXPECT_GT(drawing.width, 0);
  EXPECT_GT(drawing.height, 0);
}

TEST(well_formed_checker, finds_what_is_wrong) {
  EXPECT_EQ(well_formed("<a b=\"1\"><c/>x &amp; y</a>\n"), "");
  for (const std::string_view wrong : {"<a>", "<a></b>", "<a b=1/>", "<a b=\"1\" b=\"2\"/>", "<a>&</a>", "<a>1 < 2</a>",
                                       "<a/><b/>", "text", "<a b=\"<\"/>", "<a b=\"1\"c=\"2\"/>", ""})
    EXPECT_NE(well_formed(wrong), "") << wrong;
}

line_chart criteria() {
  line_chart chart;
  chart.title = "BIC";
  chart.mark_name = "K = ";
  chart.series.push_back({"bic", {1, 2, 3, 4}, {10, 4, 5, 9}, 0, false, true});
  return chart;
}

TEST(line_chart, draws_and_marks_the_least) {
  const picture drawing = draw(criteria());
  expect_sound(drawing);
  EXPECT_EQ(occurrences(drawing.body, "<circle"), 1u);
  EXPECT_NE(drawing.body.find(">K = 2</text>"), std::string::npos);
  EXPECT_EQ(drawing.note, "");
}

TEST(line_chart, breaks_at_values_that_are_not_finite) {
  line_chart chart = criteria();
  chart.series[0].y = {nan, 4, infinity, 3};
  const picture drawing = draw(chart);
  expect_sound(drawing);
  EXPECT_NE(drawing.body.find(">K = 4</text>"), std::string::npos);
  EXPECT_EQ(drawing.note, "2 values are not finite and left out.");
}

TEST(line_chart, takes_nothing_one_point_and_huge_values) {
  line_chart chart;
  expect_sound(draw(chart));
  EXPECT_EQ(draw(chart).note, "There is nothing to draw.");
  chart = criteria();
  chart.series[0].x = {1};
  chart.series[0].y = {-17.25};
  expect_sound(draw(chart));
  chart.series[0].x = {1, 2, 3};
  chart.series[0].y = {-1e308, 1e308, 1e-308};
  expect_sound(draw(chart));
  chart.series[0].y = {nan, nan, nan};
  expect_sound(draw(chart));
}

TEST(line_chart, refuses_unequal_lengths) {
  line_chart chart = criteria();
  chart.series[0].y.pop_back();
  EXPECT_THROW(draw(chart), bad_argument);
}

TEST(line_chart, draws_error_bars_within_the_axes) {
  line_chart chart = criteria();
  const std::string without = draw(chart).body;
  chart.series[0].errors = {1, 2, nan, 40};
  const picture drawing = draw(chart);
  expect_sound(drawing);
  EXPECT_EQ(occurrences(drawing.body, "<path class=\"line"), occurrences(without, "<path class=\"line") + 1);
  EXPECT_NE(drawing.body.find(">−20</text>"), std::string::npos) << "the axis does not reach down to 9 − 40";
  chart.series[0].errors.pop_back();
  EXPECT_THROW(draw(chart), bad_argument);
}

TEST(line_chart, escapes_every_text) {
  line_chart chart = criteria();
  chart.title = chart.description = chart.x_label = chart.y_label = chart.mark_name = chart.series[0].name = evil;
  chart.series.push_back(chart.series[0]);
  expect_sound(draw(chart));
}

TEST(bar_chart, bars_stand_in_proportion) {
  bar_chart chart;
  chart.names = {"0", "1", "2", evil};
  chart.series.push_back({"weight", {0.5, 0.25, 0, nan}, 0});
  const picture drawing = draw(chart);
  expect_sound(drawing);
  EXPECT_EQ(occurrences(drawing.body, "<rect"), 2u);
  std::vector<double> heights;
  for (std::size_t at = drawing.body.find("<rect"); at != std::string::npos; at = drawing.body.find("<rect", at + 1))
    heights.push_back(std::stod(drawing.body.substr(drawing.body.find(" height=\"", at) + 9)));
  ASSERT_EQ(heights.size(), 2u);
  EXPECT_NEAR(heights[0] / heights[1], 2, 0.01);
}

TEST(bar_chart, takes_nothing_and_too_many) {
  bar_chart chart;
  expect_sound(draw(chart));
  chart.series.push_back({"", {}, 0});
  expect_sound(draw(chart));
  for (int k = 0; k < 100; ++k) {
    chart.names.push_back(std::to_string(k));
    chart.series[0].values.push_back(0.01);
  }
  expect_sound(draw(chart));
  EXPECT_EQ(draw(chart).note, "The first 40 of 100 are drawn.");
  chart.series[0].values.pop_back();
  EXPECT_THROW(draw(chart), bad_argument);
}

// Rows at the corners of a box, so that the axes are known.
struct corners {
  std::vector<double> values;
  std::vector<std::int32_t> labels;
  cloud data;

  explicit corners(std::size_t columns, std::size_t rows = 8) {
    for (std::size_t i = 0; i < rows; ++i) {
      labels.push_back(static_cast<std::int32_t>(i % 2));
      for (std::size_t j = 0; j < columns; ++j) values.push_back(static_cast<double>((i >> j % 3) & 1));
    }
    data.rows = {values.data(), rows, columns};
    data.labels = labels;
    for (int k = 0; k < 2; ++k) {
      group_shape shape{0.5, std::vector<double>(columns, 0.5), std::vector<double>(columns * columns, 0)};
      for (std::size_t j = 0; j < columns; ++j) shape.covariance[j * columns + j] = 0.01 * (k + 1);
      data.shapes.push_back(std::move(shape));
    }
  }
};

double attribute(const std::string& body, const std::string& element, const std::string& name) {
  return std::stod(body.substr(body.find(" " + name + "=\"", body.find("<" + element)) + name.size() + 3));
}

TEST(scatter, has_a_dot_a_row_and_two_contours_a_component) {
  const corners box(2);
  const picture drawing = draw_scatter(box.data, 0, 1, "corners");
  expect_sound(drawing);
  EXPECT_EQ(occurrences(drawing.body, "h0\"/>"), 8u + 2u);         // and two in the legend
  EXPECT_EQ(occurrences(drawing.body, "<ellipse"), 2u * 2u * 2u);  // two components, two contours, each on a halo
  EXPECT_EQ(drawing.note, "");
}

TEST(scatter, contour_has_the_length_of_its_standard_deviation) {
  corners box(2);
  box.data.shapes.resize(1);
  box.data.shapes[0].covariance = {0.04, 0, 0, 0.01};
  const picture drawing = draw_scatter(box.data, 0, 1, "");
  // Shown is [0, 1] widened by 4 % each side, on a plot as wide as its grid lines are long.
  const std::string& body = drawing.body;
  const double plot_width = attribute(body, "svg", "width");
  const double plot_height = attribute(body, "svg", "height");
  EXPECT_NEAR(attribute(body, "ellipse", "rx"), std::max(0.2 * plot_width, 0.1 * plot_height) / 1.08, 0.2);
  EXPECT_NEAR(attribute(body, "ellipse", "ry"), std::min(0.2 * plot_width, 0.1 * plot_height) / 1.08, 0.2);
}

TEST(scatter, leaves_out_and_counts_what_cannot_be_shown) {
  corners box(2, 1000);
  box.values[0] = nan;
  box.values[3] = infinity;
  box.values[4] = 1e12;
  const picture drawing = draw_scatter(box.data, 0, 1, "");
  expect_sound(drawing);
  EXPECT_EQ(drawing.note, "1 row lies outside the frame. 2 rows are not finite and left out.");
  EXPECT_EQ(occurrences(drawing.body, "h0\"/>"), 997u + 2u);
}

TEST(scatter, takes_no_rows_nothing_finite_and_broken_shapes) {
  cloud none;
  none.rows = {nullptr, 0, 2};
  expect_sound(draw_scatter(none, 0, 1, ""));
  EXPECT_EQ(draw_scatter(none, 0, 1, "").note, "There are no rows to draw.");
  corners box(2);
  for (double& value : box.values) value = nan;
  box.data.shapes[0].mean = {nan, 0};
  box.data.shapes[1].mean = {1e308, -1e308};
  box.data.shapes[1].covariance = {infinity, nan, nan, -1};
  expect_sound(draw_scatter(box.data, 0, 1, ""));
  for (double& value : box.values) value = 3;
  expect_sound(draw_scatter(box.data, 0, 1, ""));
}

TEST(scatter, refuses_what_does_not_fit) {
  const corners box(2);
  EXPECT_THROW(draw_scatter(box.data, 0, 2, ""), bad_argument);
  cloud wrong = box.data;
  wrong.labels = wrong.labels.first(3);
  EXPECT_THROW(draw_scatter(wrong, 0, 1, ""), bad_argument);
  wrong = box.data;
  wrong.shapes[0].mean.push_back(1);
  EXPECT_THROW(draw_scatter(wrong, 0, 1, ""), bad_argument);
  wrong = box.data;
  wrong.column_names = {"only one"};
  EXPECT_THROW(draw_scatter(wrong, 0, 1, ""), bad_argument);
  std::vector<std::int32_t> negative(8, -1);
  wrong = box.data;
  wrong.labels = negative;
  EXPECT_THROW(draw_scatter(wrong, 0, 1, ""), bad_argument);
}

TEST(scatter, escapes_names) {
  corners box(2);
  box.data.column_names = {evil, evil};
  box.data.group_names = {evil, evil};
  expect_sound(draw_scatter(box.data, 0, 1, evil));
}

TEST(scatter_matrix, has_every_cell_and_says_what_it_leaves_out) {
  const corners box(7, 4000);
  const picture drawing = draw_scatter_matrix(box.data, 5, "");
  expect_sound(drawing);
  EXPECT_EQ(occurrences(drawing.body, "<svg"), 25u);
  EXPECT_EQ(occurrences(drawing.body, "h0\"/>"), 10u * 1500u + 2u);
  EXPECT_EQ(drawing.note, "The first 5 of 7 columns are drawn. 1,500 of the 4,000 rows are drawn.");
  EXPECT_EQ(draw_scatter_matrix(box.data, 5, "").body, drawing.body);
  EXPECT_THROW(draw_scatter_matrix(box.data, 1, ""), bad_argument);
}

TEST(scatter_matrix, without_contours_leaves_the_upper_half_free) {
  corners box(3);
  for (group_shape& shape : box.data.shapes) shape.covariance.clear();
  const picture drawing = draw_scatter_matrix(box.data, 5, "");
  expect_sound(drawing);
  EXPECT_EQ(occurrences(drawing.body, "<svg"), 6u);
  EXPECT_EQ(occurrences(drawing.body, "<ellipse"), 0u);
}

TEST(histogram, bars_hold_an_area_of_one) {
  corners box(1, 513);
  for (std::size_t i = 0; i < 513; ++i) box.values[i] = static_cast<double>(i * i % 97);
  box.data.shapes.clear();
  const picture drawing = draw_histogram(box.data, 0, "");
  expect_sound(drawing);
  // Uniform over [0, 97): the sum of bar heights times bin width is the same whatever the bins; compare with the axis.
  EXPECT_NE(drawing.body.find(">density</text>"), std::string::npos);
  EXPECT_GT(occurrences(drawing.body, "class=\"bars\""), 9u);
}

TEST(histogram, takes_awkward_columns) {
  corners box(1);
  expect_sound(draw_histogram(box.data, 0, ""));
  for (double& value : box.values) value = 5;
  box.data.shapes[0].covariance = {1e-30};
  box.data.shapes[1].covariance = {nan};
  expect_sound(draw_histogram(box.data, 0, ""));
  for (double& value : box.values) value = nan;
  box.data.shapes[0].mean = {nan};
  expect_sound(draw_histogram(box.data, 0, ""));
  cloud none;
  none.rows = {nullptr, 0, 1};
  expect_sound(draw_histogram(none, 0, ""));
  EXPECT_THROW(draw_histogram(none, 1, ""), bad_argument);
}

TEST(beside, holds_both_drawings) {
  const corners box(2);
  const std::vector<picture> two{draw_scatter(box.data, 0, 1, "left <"), draw(criteria())};
  const picture whole = beside(two, "both", "");
  expect_sound(whole);
  EXPECT_GT(whole.width, two[0].width + two[1].width);
  EXPECT_NE(whole.body.find("left &lt;"), std::string::npos);
}

}  // namespace
}  // namespace shoal::report
