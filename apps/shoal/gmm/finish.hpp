// What follows a fitted mixture: labels, agreement, files and the answer.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "common/progress_line.hpp"
#include "gmm/words.hpp"

namespace shoal::app {

/// One number of components that a choice among several looked at.
struct gmm_candidate {
  std::size_t components = 0;
  double mean_log_likelihood = 0;
  double bic = 0;
  double aic = 0;
  std::size_t iterations = 0;
  bool converged = false;
  double seconds = 0;
  std::string failure;  ///< why there is no fit; empty when there is one
};

/// The fits that were compared; none for a plain fit.
struct gmm_selection {
  std::string criterion;
  std::vector<gmm_candidate> candidates;
};

/// A fit that has ended.
struct gmm_outcome {
  const gmm_options* options = nullptr;
  gmm::options library;
  gmm::fit_result result;
  shoal::scalar scalar = shoal::scalar::float64;
  std::chrono::steady_clock::time_point begin;
  gmm_selection selection;
};

/// Writes the model, the labels and the report that were asked for, and prints the answer.
template <class Scalar>
void finish(const gmm_outcome& outcome, const data_set<Scalar>& data, progress_line& line, const control& control);
extern template void finish<float>(const gmm_outcome&, const data_set<float>&, progress_line&, const control&);
extern template void finish<double>(const gmm_outcome&, const data_set<double>&, progress_line&, const control&);

}  // namespace shoal::app
