// A drawing before it is put on a page or into a file of its own.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace shoal::report {

/// A drawing in page units, y downwards. `body` is SVG that uses only the classes of style().
struct picture {
  std::string title;        ///< plain text; what a screen reader says first
  std::string description;  ///< plain text; what the drawing shows, for those who cannot see it
  std::string note;         ///< plain text; what was left out of the drawing; empty: nothing
  double width = 0;
  double height = 0;
  std::string body;
};

/// Colours for light and dark screens and for paper, and the classes that drawings use. The colours of groups are those
/// of Okabe & Ito (2008, "Color universal design"), their yellow and black moved to where they show on the paper.
std::string_view style();

/// How many groups have a colour of their own; further groups use the colours again with another shape.
inline constexpr int group_colours = 8;

/// The SVG element for a page that holds style().
std::string inline_svg(const picture& drawing);

/// A whole SVG file with its own colours.
std::string standalone_svg(const picture& drawing);

/// Drawings side by side, each under its title.
picture beside(std::span<const picture> drawings, std::string title, std::string description);

/// A coordinate in at most one decimal, "0" when not finite.
std::string coordinate(double value);

}  // namespace shoal::report
