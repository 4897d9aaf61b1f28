// The four formats of an assignment.
#include "assign/pairs_text.hpp"

#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/answer.hpp"

namespace shoal::app {

std::string cost_text(double cost, bool latex) {
  if (!std::isinf(cost)) return fmt::format("{:.6g}", cost);
  return latex ? "$\\infty$" : "∞";
}

std::string latex_table(const std::vector<std::vector<std::string>>& cells) {
  std::string text =
      fmt::format("\\begin{{tabular}}{{{}}}\n", std::string(cells.empty() ? 0 : cells.front().size(), 'r'));
  for (const std::vector<std::string>& row : cells) text += fmt::format("{} \\\\\n", fmt::join(row, " & "));
  return text + "\\end{tabular}\n";
}

std::string text_of(const cost_matrix& costs, const assignment::solution& found, pairs_format format) {
  std::string text;
  if (format == pairs_format::list) {
    text = "row,column,cost\n";
    for (std::size_t i = 0; i < costs.rows; ++i) {
      const std::size_t j = found.column_of_row[i];
      if (j != assignment::unassigned) text += fmt::format("{},{},{}\n", i, j, costs.values[i * costs.columns + j]);
    }
    return text;
  }
  std::vector<std::vector<std::string>> cells(costs.rows);
  for (std::size_t i = 0; i < costs.rows; ++i) {
    for (std::size_t j = 0; j < costs.columns; ++j) {
      const bool chosen = found.column_of_row[i] == j;
      const std::string cost = cost_text(costs.values[i * costs.columns + j], format == pairs_format::latex);
      if (format == pairs_format::matrix) {
        cells[i].push_back(chosen ? "1" : "0");
      } else if (format == pairs_format::latex) {
        cells[i].push_back(chosen ? fmt::format("\\textbf{{{}}}", cost) : cost);
      } else {
        cells[i].push_back(chosen ? fmt::format("[{}]", cost) : cost);
      }
    }
  }
  if (format == pairs_format::latex) return latex_table(cells);
  if (format == pairs_format::table) return table(cells);
  for (const std::vector<std::string>& row : cells) text += fmt::format("{}\n", fmt::join(row, ","));
  return text;
}

}  // namespace shoal::app
