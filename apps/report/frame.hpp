// What charts share: the plot rectangle with its grid, ticks and labels, the legend, and dots.
#pragma once

#include <string>
#include <vector>

#include "report/axis.hpp"

namespace shoal::report {

enum class legend_mark { dot, line, dashed, bar, cross };

/// One entry of a legend. `colour` is a group number, or one of the two below.
struct legend_entry {
  legend_mark mark = legend_mark::dot;
  int colour = 0;
  std::string text;
  std::string fill = {};  ///< of a bar: a colour that is the same on every paper; empty: the group's
};

inline constexpr int neutral_colour = -1;
inline constexpr int ink_colour = -2;

/// Class of a stroke or a fill in a group's colour.
std::string stroke_class(int colour);
std::string fill_class(int colour);

/// A dot; groups past the first eight are square. A path of no length with round ends is the shortest SVG for a dot,
/// and a picture holds thousands.
std::string dot(double x, double y, int group);

/// A plus sign in the group's colour on a halo of paper.
std::string cross(double x, double y, int colour, double arm = 6);

/// Width that the text is expected to take at the chart's font size.
double text_width(std::string_view text);

/// Draws entries from left to right in rows; returns the SVG and adds the height used to `bottom`.
std::string draw_legend(const std::vector<legend_entry>& entries, double left, double right, double& bottom);

/// The plot rectangle of one chart.
class frame {
 public:
  /// Lays out legend, axis labels and ticks in width × height. Room for tick labels is taken from their texts.
  frame(double width, double height, axis horizontal, axis vertical, const std::vector<legend_entry>& legend,
        bool vertical_grid = true);

  double x(double value) const { return x_(value); }
  double y(double value) const { return y_(value); }
  const scale& x_scale() const { return x_; }
  const scale& y_scale() const { return y_; }
  double left() const { return left_; }
  double right() const { return right_; }
  double top() const { return top_; }
  double bottom() const { return bottom_; }

  /// The whole body: grid, then `marks` cut off at the rectangle, then axis lines and labels, then `over`.
  std::string draw(const std::string& marks, const std::string& over = {}) const;

 private:
  axis horizontal_;
  axis vertical_;
  bool vertical_grid_;
  std::string legend_;
  double left_, top_, right_, bottom_;
  scale x_, y_;
};

}  // namespace shoal::report
