// One self-contained HTML page of sections, tables and pictures.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/picture.hpp"

namespace shoal::report {

/// A name and its value, as plain text.
using fact = std::pair<std::string, std::string>;

/// A table of plain text. The first column is a heading for its row, the others are numbers.
struct table {
  struct cell {
    std::string text;
    double shade = 0;  ///< 0: none … 1: full; how strongly the cell is coloured
    int colour = -1;   ///< a group's colour as a dot before the text; −1: none
  };
  std::string caption;
  std::vector<std::string> headings;
  std::vector<std::vector<cell>> rows;
  std::string note;  ///< plain text below the table; empty: none
};

/// A whole HTML document with the colours of style(): its title is plain text, styles and body are HTML already.
std::string document(const std::string& title, std::string_view styles, std::string_view body);

/// Builds the page from top to bottom. All text is plain and is escaped here; nothing is loaded from elsewhere.
class page {
 public:
  page(std::string title, std::string subtitle);

  /// Starts a part, for a page that reports more than one thing; sections then rank below parts.
  void part(const std::string& heading, const std::string& lead = {});
  void section(const std::string& heading);
  void paragraph(const std::string& text);
  /// A few figures that matter most, in large type.
  void tiles(const std::vector<fact>& facts);
  void facts(const std::vector<fact>& facts);
  void add(const table& numbers);
  /// Figures added one after the other share a row where the screen is wide enough.
  void figure(const picture& drawing, const std::string& caption = {});

  std::string html() const;
  /// Writes html() to the file, whole or not at all. Throws io_error.
  void write(const std::string& path) const;

 private:
  void end_figures();

  std::string title_;
  std::string subtitle_;
  std::string body_;
  bool has_parts_ = false;
  bool in_figures_ = false;
};

}  // namespace shoal::report
