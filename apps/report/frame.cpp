// What charts share: grid, ticks, labels, legend and dots.
#include "report/frame.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "report/picture.hpp"
#include "report/text.hpp"

namespace shoal::report {
namespace {

constexpr double legend_row = 20;
constexpr std::size_t longest_label = 48;

std::string colour_name(int colour) {
  if (colour == neutral_colour) return "n";
  if (colour == ink_colour) return "i";
  return std::to_string(colour % group_colours);
}

std::string legend_sample(const legend_entry& entry, double x, double y) {
  switch (entry.mark) {
    case legend_mark::dot:
      return fmt::format(R"(<g class="dot" stroke-width="9">{}</g>)", dot(x + 8, y, entry.colour));
    case legend_mark::cross:
      return cross(x + 8, y, entry.colour, 5);
    case legend_mark::bar:
      if (!entry.fill.empty())
        return fmt::format(R"(<rect fill="{}" x="{}" y="{}" width="12" height="10"/>)", entry.fill, coordinate(x + 2),
                           coordinate(y - 5));
      return fmt::format(R"(<rect class="{}" x="{}" y="{}" width="12" height="10"/>)", fill_class(entry.colour),
                         coordinate(x + 2), coordinate(y - 5));
    case legend_mark::line:
    case legend_mark::dashed:
      return fmt::format(R"(<path class="line {}{}" d="M{} {}h16"/>)", stroke_class(entry.colour),
                         entry.mark == legend_mark::dashed ? " dashed" : "", coordinate(x), coordinate(y));
  }
  return {};
}

double widest(const std::vector<std::string>& texts) {
  double width = 0;
  for (const std::string& text : texts) width = std::max(width, text_width(text));
  return width;
}

}  // namespace

std::string stroke_class(int colour) { return fmt::format("s{}", colour_name(colour)); }
std::string fill_class(int colour) { return fmt::format("f{}", colour_name(colour)); }

std::string dot(double x, double y, int group) {
  const bool square = group >= group_colours && group / group_colours % 2 == 1;
  return fmt::format(R"(<path class="{}{}" d="M{} {}h0"/>)", stroke_class(group), square ? " square" : "",
                     coordinate(x), coordinate(y));
}

std::string cross(double x, double y, int colour, double arm) {
  const std::string shape = fmt::format("M{} {}h{}M{} {}v{}", coordinate(x - arm), coordinate(y), coordinate(2 * arm),
                                        coordinate(x), coordinate(y - arm), coordinate(2 * arm));
  return fmt::format(R"(<path class="halo" stroke-width="6" d="{0}"/><path class="{1}" stroke-width="2.4" d="{0}"/>)",
                     shape, stroke_class(colour));
}

double text_width(std::string_view text) { return 7.0 * static_cast<double>(length(text)); }

std::string draw_legend(const std::vector<legend_entry>& entries, double left, double right, double& bottom) {
  if (entries.empty()) return {};
  std::string out;
  double x = left;
  double y = bottom + legend_row / 2;
  for (const legend_entry& entry : entries) {
    const std::string text = shorten(entry.text, longest_label);
    const double width = 22 + text_width(text) + 14;
    if (x > left && x + width - 14 > right) {
      x = left;
      y += legend_row;
    }
    out += legend_sample(entry, x, y);
    out += fmt::format(R"(<text x="{}" y="{}">{}</text>)", coordinate(x + 22), coordinate(y + 4), escape(text));
    x += width;
  }
  bottom = y + legend_row / 2;
  return out;
}

frame::frame(double width, double height, axis horizontal, axis vertical, const std::vector<legend_entry>& legend,
             bool vertical_grid)
    : horizontal_(std::move(horizontal)),
      vertical_(std::move(vertical)),
      vertical_grid_(vertical_grid),
      left_(std::max(24.0, widest(vertical_.tick_labels) + 12)),
      top_(4),
      right_(width - 12),
      bottom_(height - (horizontal_.label.empty() ? 26 : 44)),
      x_({}, 0, 1),
      y_({}, 0, 1) {
  legend_ = draw_legend(legend, 6, right_, top_);
  if (!legend_.empty()) top_ += 6;
  if (!vertical_.label.empty()) top_ += 20;
  top_ = std::min(top_ + 4, bottom_ - 40);
  x_ = scale(horizontal_.shown, left_, right_);
  y_ = scale(vertical_.shown, bottom_, top_);
}

std::string frame::draw(const std::string& marks, const std::string& over) const {
  std::string out = legend_;
  std::string grid;
  std::string ticks;
  for (std::size_t i = 0; i < vertical_.ticks.size(); ++i) {
    const double at = y_(vertical_.ticks[i]);
    grid += fmt::format("M{} {}H{}", coordinate(left_), coordinate(at), coordinate(right_));
    ticks += fmt::format(R"(<text class="tick end" x="{}" y="{}">{}</text>)", coordinate(left_ - 7), coordinate(at + 4),
                         escape(vertical_.tick_labels[i]));
  }
  double free_from = 0;
  for (std::size_t i = 0; i < horizontal_.ticks.size(); ++i) {
    const double at = x_(horizontal_.ticks[i]);
    if (vertical_grid_) grid += fmt::format("M{} {}V{}", coordinate(at), coordinate(top_), coordinate(bottom_));
    // A label that would run into the one before it is left out; its grid line stays.
    const double half = text_width(horizontal_.tick_labels[i]) / 2;
    if (at - half < free_from) continue;
    free_from = at + half + 6;
    ticks += fmt::format(R"(<text class="tick middle" x="{}" y="{}">{}</text>)", coordinate(at),
                         coordinate(bottom_ + 17), escape(horizontal_.tick_labels[i]));
  }
  out += fmt::format(R"(<path class="grid" d="{}"/>)", grid);
  // A nested svg cuts off what leaves the rectangle, with no identifiers that two charts on a page could share.
  out +=
      fmt::format(R"(<svg x="{0}" y="{1}" width="{2}" height="{3}" viewBox="{0} {1} {2} {3}">{4}</svg>)",
                  coordinate(left_), coordinate(top_), coordinate(right_ - left_), coordinate(bottom_ - top_), marks);
  out +=
      fmt::format(R"(<path class="axis" d="M{} {}H{}"/>)", coordinate(left_), coordinate(bottom_), coordinate(right_));
  out += ticks;
  if (!vertical_.label.empty())
    out += fmt::format(R"(<text x="6" y="{}">{}</text>)", coordinate(top_ - 10),
                       escape(shorten(vertical_.label, longest_label)));
  if (!horizontal_.label.empty())
    out += fmt::format(R"(<text class="middle" x="{}" y="{}">{}</text>)", coordinate((left_ + right_) / 2),
                       coordinate(bottom_ + 37), escape(shorten(horizontal_.label, longest_label)));
  return out + over;
}

}  // namespace shoal::report
