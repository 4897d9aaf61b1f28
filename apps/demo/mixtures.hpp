// The two fits that the demo shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <shoal/gmm/options.hpp>
#include <shoal/gmm/result.hpp>
#include <shoal/io/io.hpp>
#include <shoal/metrics/agreement.hpp>

#include "report/fit_report.hpp"
#include "report/subsample.hpp"

namespace shoal::demo {

/// Old Faithful: mixtures of several sizes, the one of least BIC kept.
struct chosen_mixture {
  report::row_sample sample;  ///< all rows
  std::vector<std::int32_t> labels;
  std::vector<std::string> column_names;
  std::vector<report::choice> choices;
  gmm::fit_result fit;
  std::size_t starts = 0;  ///< for each K; the best is kept
  double seconds = 0;      ///< of all fits
};

/// Throws io_error and bad_data as the reader does.
chosen_mixture fit_old_faithful(const std::string& path, std::size_t threads);

/// Rows drawn from a generated mixture, and the mixture found in them.
struct recovered_mixture {
  gmm::model truth;
  double truth_log_likelihood = 0;  ///< mean, of the drawn rows under the mixture that they came from
  double drawing_seconds = 0;
  gmm::fit_result fit;
  gmm::options options;
  std::size_t starts = 0;                ///< the best is kept
  double seconds = 0;                    ///< of all starts
  metrics::contingency_table agreement;  ///< fitted against true components, all rows
  report::row_sample sample;
  std::vector<std::int32_t> labels;  ///< fitted, of the sample
  std::vector<std::int32_t> given;   ///< true, of the sample
};

/// Ten components in eight columns, float32.
recovered_mixture fit_generated(std::size_t rows, std::size_t threads);

}  // namespace shoal::demo
