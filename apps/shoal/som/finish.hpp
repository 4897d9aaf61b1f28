// What follows a trained map: units, labels, files and the answer.
#pragma once

#include <chrono>

#include "common/progress_line.hpp"
#include "som/words.hpp"

namespace shoal::app {

/// A fit that has ended.
struct som_outcome {
  const som_options* options = nullptr;
  som::options library;
  som::fit_result result;
  shoal::scalar scalar = shoal::scalar::float64;
  std::chrono::steady_clock::time_point begin;
};

/// Writes the model, the units and the report that were asked for, and prints the answer.
template <class Scalar>
void finish(const som_outcome& outcome, const fit_rows<Scalar>& rows, progress_line& line, const control& control);
extern template void finish<float>(const som_outcome&, const fit_rows<float>&, progress_line&, const control&);
extern template void finish<double>(const som_outcome&, const fit_rows<double>&, progress_line&, const control&);

}  // namespace shoal::app
