// What each step shows, and how a page and LaTeX show it.
#include "assign/steps.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <shoal/assignment/assignment.hpp>
#include <shoal/assignment/hungarian.hpp>
#include <shoal/core/error.hpp>

#include "assign/pairs_text.hpp"

namespace shoal::app {
namespace {

enum class mark { none, star, prime };

struct cell {
  double cost = 0;
  mark marked = mark::none;  // a star is also what greedy has chosen
  bool struck = false;       // covered, or no longer free
};

class writer {
 public:
  explicit writer(bool latex) : latex_(latex) {
    text_ =
        latex
            ? "\\documentclass{article}\n\\usepackage{xcolor,colortbl}\n\\begin{document}\n"
            : "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Steps of an assignment</title>\n"
              "<style>table{border-collapse:collapse;margin:0 0 1.5em}td{border:1px solid #bbb;padding:.2em .6em;"
              "text-align:right}.struck{background:#ddd}.star{color:#b00;font-weight:bold}.prime{color:#080;"
              "font-weight:bold}</style></head><body>\n";
  }

  void step(std::string_view what, const std::vector<std::vector<cell>>& cells) {
    ++steps_;
    text_ += latex_ ? fmt::format("\\paragraph{{{}. {}}}\n\n", steps_, what)
                    : fmt::format("<p>{}. {}</p>\n<table>\n", steps_, what);
    std::vector<std::vector<std::string>> latex;
    for (const std::vector<cell>& row : cells) {
      latex.emplace_back();
      if (!latex_) text_ += "<tr>";
      for (const cell& one : row) {
        const std::string cost = cost_text(one.cost, latex_) + (one.marked == mark::star    ? "*"
                                                                : one.marked == mark::prime ? "'"
                                                                                            : "");
        if (latex_) {
          latex.back().push_back((one.struck ? "\\cellcolor{lightgray}" : "") + colored(cost, one.marked));
        } else {
          text_ += fmt::format("<td class=\"{}{}\">{}</td>", one.struck ? "struck " : "", name(one.marked), cost);
        }
      }
      if (!latex_) text_ += "</tr>\n";
    }
    text_ += latex_ ? latex_table(latex) : "</table>\n";
  }

  std::string end() && { return std::move(text_) + (latex_ ? "\\end{document}\n" : "</body></html>\n"); }

 private:
  static const char* name(mark marked) { return marked == mark::star ? "star" : marked == mark::prime ? "prime" : ""; }

  static std::string colored(const std::string& cost, mark marked) {
    if (marked == mark::none) return cost;
    return fmt::format("\\textcolor{{{}}}{{{}}}", marked == mark::star ? "red" : "green", cost);
  }

  bool latex_;
  int steps_ = 0;
  std::string text_;
};

void write_hungarian(const cost_matrix& costs, writer& out) {
  if (costs.rows > costs.columns) {
    throw bad_argument(
        fmt::format("--steps shows at most as many rows as columns; got {} rows and {} columns: transpose the costs",
                    costs.rows, costs.columns));
  }
  assignment::hungarian(costs.view(), [&](const assignment::hungarian_step& step) {
    std::vector<std::vector<cell>> cells(costs.rows, std::vector<cell>(costs.columns));
    for (std::size_t i = 0; i < costs.rows; ++i) {
      for (std::size_t j = 0; j < costs.columns; ++j) {
        const mark marked = step.starred[i] == j ? mark::star : step.primed[i] == j ? mark::prime : mark::none;
        cells[i][j] = {step.reduced(i, j), marked, step.row_covered[i] || step.column_covered[j]};
      }
    }
    out.step(step.what, cells);
  });
}

// The pairs in the order in which greedy takes them: least cost first, then in row order.
void write_greedy(const cost_matrix& costs, const assignment::solution& found, writer& out) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < costs.rows; ++i) {
    if (found.column_of_row[i] != assignment::unassigned)
      order.emplace_back(costs.values[i * costs.columns + found.column_of_row[i]], i);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::vector<cell>> cells(costs.rows, std::vector<cell>(costs.columns));
  for (std::size_t i = 0; i < costs.rows; ++i) {
    for (std::size_t j = 0; j < costs.columns; ++j) cells[i][j].cost = costs.values[i * costs.columns + j];
  }
  for (const auto& [cost, row] : order) {
    const std::size_t column = found.column_of_row[row];
    for (cell& one : cells[row]) one.struck = true;
    for (std::vector<cell>& other : cells) other[column].struck = true;
    cells[row][column].marked = mark::star;
    out.step(fmt::format("take row {} and column {}, the least cost that is left, and strike both", row, column),
             cells);
  }
}

}  // namespace

std::string steps_of(const cost_matrix& costs, const assignment::options& options, bool latex) {
  using assignment::method;
  if (options.maximise)
    throw bad_argument("--steps shows costs that are minimised; negate them in place of --maximize");
  writer out(latex);
  if (options.method == method::hungarian) {
    write_hungarian(costs, out);
  } else if (options.method == method::greedy || options.method == method::greedy_naive ||
             options.method == method::greedy_paths) {
    write_greedy(costs, assignment::solve(costs.view(), options), out);
  } else {
    throw bad_argument(fmt::format("--steps needs --method hungarian, greedy, greedy-naive or greedy-paths; got '{}'",
                                   assignment::method_name(options.method)));
  }
  return std::move(out).end();
}

}  // namespace shoal::app
