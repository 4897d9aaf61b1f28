// The steps of a method, written out as a page or in LaTeX.
#pragma once

#include <string>

#include <shoal/assignment/options.hpp>

#include "assign/costs.hpp"

namespace shoal::app {

/// Of the Hungarian method the matrix after each step, with stars, primes and covers; of the greedy ones the matrix
/// with what is chosen and struck. Throws bad_argument for other methods, and for more rows than columns.
std::string steps_of(const cost_matrix& costs, const assignment::options& options, bool latex);

}  // namespace shoal::app
