// Rows drawn from a mixture straight into a file, by all threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>

#include <shoal/execution/device_choice.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/random/normal_method.hpp>

#include "common/progress_line.hpp"

namespace shoal::app {

struct drawing_plan {
  std::size_t rows = 0;
  std::uint64_t seed = 0;
  random::normal_method method = random::normal_method::ziggurat;
  std::size_t threads = 0;
  device_choice device;
  std::string output;
  std::string labels;  ///< empty: none
};

/// Writes the files. Row i is the same for any number of rows and threads.
template <class Scalar>
void draw_rows(const gmm::model& model, const drawing_plan& drawing, progress_line& line, std::stop_token stop);
extern template void draw_rows<float>(const gmm::model&, const drawing_plan&, progress_line&, std::stop_token);
extern template void draw_rows<double>(const gmm::model&, const drawing_plan&, progress_line&, std::stop_token);

}  // namespace shoal::app
