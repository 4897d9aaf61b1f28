// What follows fitted centroids: labels, agreement, files and the answer.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "common/progress_line.hpp"
#include "kmeans/words.hpp"

namespace shoal::app {

/// One number of clusters that a choice among several looked at.
struct kmeans_candidate {
  std::size_t clusters = 0;
  double inertia = 0;
  double bic = 0;
  double aic = 0;
  std::size_t iterations = 0;
  bool converged = false;
  double seconds = 0;
};

/// A fit that has ended; `candidates` are the fits that were compared, none for a plain fit.
struct kmeans_outcome {
  const kmeans_options* options = nullptr;
  kmeans::options library;
  kmeans::fit_result result;
  shoal::scalar scalar = shoal::scalar::float64;
  std::chrono::steady_clock::time_point begin;
  std::string criterion;
  std::vector<kmeans_candidate> candidates;
};

/// Writes the model, the labels and the report that were asked for, and prints the answer.
template <class Scalar>
void finish(const kmeans_outcome& outcome, const fit_rows<Scalar>& rows, progress_line& line, const control& control);
extern template void finish<float>(const kmeans_outcome&, const fit_rows<float>&, progress_line&, const control&);
extern template void finish<double>(const kmeans_outcome&, const fit_rows<double>&, progress_line&, const control&);

}  // namespace shoal::app
