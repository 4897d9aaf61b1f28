// One self-contained HTML page of sections, tables and pictures.
#include "report/page.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <shoal/io/io.hpp>

#include "report/text.hpp"

namespace shoal::report {
namespace {

// Wider drawings take a row of their own, and scroll sideways on a phone rather than shrink beyond reading.
constexpr double wide = 560;

constexpr std::string_view layout = R"css(*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;-webkit-text-size-adjust:100%}
main,footer{max-width:1120px;margin:0 auto;padding:0 20px}
main{padding-top:36px}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 .3em;letter-spacing:-.01em}
h2{font-size:1.4rem;line-height:1.25;margin:2.2em 0 .5em}
h3{font-size:1.1rem;margin:1.9em 0 .5em}
h2.part{border-top:1px solid var(--grid);padding-top:1.2em}
h1,h2,h3,p,td,th,dd,figcaption{overflow-wrap:anywhere}
p{max-width:70ch;margin:.5em 0}
.subtitle,.note,figcaption span,.lead{color:var(--muted)}
.subtitle{font-size:1.05rem;margin:0 0 1em}
.tiles{display:flex;flex-wrap:wrap;gap:8px;margin:1.2em 0;padding:0}
.tiles div{background:var(--panel);border-radius:8px;padding:9px 12px;flex:0 1 auto;min-width:min(100%,122px);max-width:100%}
.tiles dt,.facts dt{color:var(--muted);font-size:.85rem}
.tiles dd{margin:0;font-size:1.12rem;font-weight:600;font-variant-numeric:tabular-nums}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,330px),1fr));gap:0 36px;margin:.6em 0}
.facts div{display:flex;justify-content:space-between;gap:16px;border-bottom:1px solid var(--grid);padding:5px 0}
.facts dt{font-size:.95rem}
.facts dd{margin:0;text-align:right;font-variant-numeric:tabular-nums}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,430px),1fr));gap:26px 30px;align-items:start;margin:1.4em 0}
figure{margin:0;min-width:0;width:100%;max-width:620px}
figure.wide{grid-column:1/-1}
.scroll{overflow-x:auto}
figure.wide svg{min-width:600px}
figure svg{display:block;width:100%;height:auto}
figcaption{font-size:.92rem;margin:0 0 8px;line-height:1.45}
figcaption b{display:block;font-size:1.02rem}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums;margin:.4em 0}
caption{text-align:left;color:var(--muted);padding-bottom:6px;font-size:.92rem}
th,td{padding:5px 9px;text-align:right;border-bottom:1px solid var(--grid);white-space:nowrap}
tbody th,thead th:first-child{text-align:left}
thead th{color:var(--muted);font-weight:600;font-size:.87rem;border-bottom-color:var(--axis)}
tbody th{font-weight:600}
.swatch{display:inline-block;width:.7em;height:.7em;border-radius:50%;margin-right:.5em}
.b0{background:var(--c0)}.b1{background:var(--c1)}.b2{background:var(--c2)}.b3{background:var(--c3)}
.b4{background:var(--c4)}.b5{background:var(--c5)}.b6{background:var(--c6)}.b7{background:var(--c7)}
.note{font-size:.9rem}
footer{color:var(--muted);font-size:.85rem;padding-top:2.5em;padding-bottom:2.5em}
@media print{body{font-size:11pt}main,footer{max-width:none;padding-left:0;padding-right:0}figure,.tiles,tr{break-inside:avoid}h2,h3{break-after:avoid}
.figures{grid-template-columns:1fr 1fr}.scroll{overflow:visible}figure.wide svg{min-width:0}table{font-size:8.5pt}th,td{padding:3px 6px}*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
)css";

std::string definition_list(std::string_view kind, const std::vector<fact>& facts) {
  std::string out = fmt::format("<dl class=\"{}\">\n", kind);
  for (const auto& [name, value] : facts)
    out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(name), escape(value));
  return out + "</dl>\n";
}

std::string cell_text(const table::cell& cell) {
  if (cell.colour < 0) return escape(cell.text);
  return fmt::format("<span class=\"swatch b{}\"></span>{}", cell.colour % group_colours, escape(cell.text));
}

// What brings the decimal points of each column below each other: blanks as wide as a digit, and one as a point where
// the whole fraction is missing.
std::vector<std::vector<std::string>> behind_cells(const table& numbers) {
  std::vector<std::vector<std::string>> blanks;
  for (const auto& row : numbers.rows) blanks.emplace_back(row.size());
  for (std::size_t j = 1; j < numbers.headings.size(); ++j) {
    std::vector<std::string> column;
    for (const auto& row : numbers.rows) column.push_back(j < row.size() ? row[j].text : std::string());
    const std::vector<std::size_t> widths = behind_points(column);
    for (std::size_t i = 0; i < column.size(); ++i) {
      if (widths[i] == 0) continue;
      const bool whole = column[i].find('.') == std::string::npos;
      for (std::size_t k = 0; k < widths[i]; ++k) blanks[i][j] += whole && k == 0 ? "\u2008" : "\u2007";
    }
  }
  return blanks;
}

}  // namespace

page::page(std::string title, std::string subtitle) : title_(std::move(title)), subtitle_(std::move(subtitle)) {}

void page::end_figures() {
  if (in_figures_) body_ += "</div>\n";
  in_figures_ = false;
}

void page::part(const std::string& heading, const std::string& lead) {
  end_figures();
  has_parts_ = true;
  body_ += fmt::format("<h2 class=\"part\">{}</h2>\n", escape(heading));
  if (!lead.empty()) body_ += fmt::format("<p class=\"lead\">{}</p>\n", escape(lead));
}

void page::section(const std::string& heading) {
  end_figures();
  body_ += fmt::format("<h{0}>{1}</h{0}>\n", has_parts_ ? 3 : 2, escape(heading));
}

void page::paragraph(const std::string& text) {
  end_figures();
  body_ += fmt::format("<p>{}</p>\n", escape(text));
}

void page::tiles(const std::vector<fact>& facts) {
  end_figures();
  body_ += definition_list("tiles", facts);
}

void page::facts(const std::vector<fact>& facts) {
  end_figures();
  body_ += definition_list("facts", facts);
}

void page::add(const table& numbers) {
  end_figures();
  body_ += "<div class=\"scroll\"><table>";
  if (!numbers.caption.empty()) body_ += fmt::format("<caption>{}</caption>", escape(numbers.caption));
  body_ += "\n<thead><tr>";
  for (const std::string& heading : numbers.headings)
    body_ += fmt::format("<th scope=\"col\">{}</th>", escape(heading));
  body_ += "</tr></thead>\n<tbody>\n";
  const std::vector<std::vector<std::string>> blanks = behind_cells(numbers);
  for (std::size_t i = 0; i < numbers.rows.size(); ++i) {
    const auto& row = numbers.rows[i];
    body_ += "<tr>";
    for (std::size_t j = 0; j < row.size(); ++j) {
      if (j == 0) {
        body_ += fmt::format("<th scope=\"row\">{}</th>", cell_text(row[j]));
        continue;
      }
      // At most half strength, so that the text keeps its contrast on light and on dark paper.
      const double shade = std::isfinite(row[j].shade) ? 0.5 * std::clamp(row[j].shade, 0.0, 1.0) : 0;
      const std::string background =
          shade > 0.005 ? fmt::format(" style=\"background:rgba(0,114,178,{:.2f})\"", shade) : "";
      body_ += fmt::format("<td{}>{}{}</td>", background, cell_text(row[j]), blanks[i][j]);
    }
    body_ += "</tr>\n";
  }
  body_ += "</tbody></table></div>\n";
  if (!numbers.note.empty()) body_ += fmt::format("<p class=\"note\">{}</p>\n", escape(numbers.note));
}

void page::figure(const picture& drawing, const std::string& caption) {
  if (!in_figures_) body_ += "<div class=\"figures\">\n";
  in_figures_ = true;
  std::string words = caption;
  if (!words.empty() && !drawing.note.empty()) words += " ";
  words += drawing.note;
  const std::string open = drawing.width > wide ? fmt::format("<figure class=\"wide\" style=\"max-width:{}px\">",
                                                              coordinate(1.2 * drawing.width))
                                                : "<figure>";
  body_ += fmt::format("{}<figcaption><b>{}</b><span>{}</span></figcaption><div class=\"scroll\">{}</div></figure>\n",
                       open, escape(drawing.title), escape(words), inline_svg(drawing));
}

std::string document(const std::string& title, std::string_view styles, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light "
      "dark\">\n<title>{}</title>\n<style>\n{}{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      escape(title), style(), styles, body);
}

std::string page::html() const {
  const std::string subtitle =
      subtitle_.empty() ? "" : fmt::format("<p class=\"subtitle\">{}</p>\n", escape(subtitle_));
  return document(title_, layout,
                  fmt::format("<main>\n<h1>{}</h1>\n{}{}{}</main>\n<footer>Made by shoal {}.</footer>\n",
                              escape(title_), subtitle, body_, in_figures_ ? "</div>\n" : "", SHOAL_VERSION));
}

void page::write(const std::string& path) const { write_file_atomically(path, html()); }

}  // namespace shoal::report
