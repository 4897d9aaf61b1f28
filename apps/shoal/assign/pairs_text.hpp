// An assignment as text.
#pragma once

#include <string>

#include <shoal/assignment/assignment.hpp>

#include "assign/costs.hpp"

namespace shoal::app {

/// A line "row,column,cost" for each pair; a matrix of 0 and 1; the costs with the chosen ones in brackets; the same in
/// LaTeX.
enum class pairs_format { list, matrix, table, latex };

std::string text_of(const cost_matrix& costs, const assignment::solution& found, pairs_format format);

/// A table of LaTeX, a cell for each text.
std::string latex_table(const std::vector<std::vector<std::string>>& cells);

/// A cost as the outputs write it: "∞" (in LaTeX "$\infty$") for a forbidden pair.
std::string cost_text(double cost, bool latex);

}  // namespace shoal::app
