// The numbers of groups (components, clusters) that a choice among several looked at.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/answer.hpp"

namespace shoal::app {

/// One of them, and what came of its fit.
struct candidate {
  std::size_t groups = 0;
  double objective = 0;
  double bic = 0;
  double aic = 0;
  std::size_t iterations = 0;
  bool converged = false;
  double seconds = 0;
  std::string failure;  ///< why there is no fit; empty when there is one
};

/// The fits that were compared; none for a plain fit.
struct selection {
  std::string criterion;
  std::vector<candidate> candidates;
};

/// What a family calls its groups and its objective.
struct selection_words {
  const char* group = "";             ///< "component"
  const char* objective = "";         ///< "mean_log_likelihood", the name of the value
  const char* heading = "";           ///< "log-likelihood", of the column
  const char* objective_format = "";  ///< "{:.6f}"
};

/// Nothing without candidates.
named_values selection_values(const selection& selection, const selection_words& words);

/// A row for each candidate, the chosen number marked. Nothing without candidates.
std::string selection_table(const selection& selection, const selection_words& words, std::size_t chosen);

}  // namespace shoal::app
