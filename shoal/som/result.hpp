// What training a map returns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <shoal/som/model.hpp>
#include <shoal/som/quality.hpp>

namespace shoal::som {

struct fit_result {
  som::model model;
  som::quality quality;  ///< of the returned codebook
  /// Batch: the quantization error of the codebook that each epoch started from. Online: the mean distance of each row
  /// to its best-matching unit as it came.
  std::vector<double> history;
  std::size_t epochs = 0;
  std::size_t rows = 0;
  double total_weight = 0;  ///< Σ w; the number of rows without weights
  double seconds = 0;       ///< first codebook, epochs and quality
  /// The epochs alone, and how many it was spent in: without what was done before a fit was resumed. One epoch takes
  /// their quotient.
  double loop_seconds = 0;
  std::size_t loop_epochs = 0;
  double seeding_seconds = 0;            ///< choosing where to start, of all restarts; part of `seconds`
  std::vector<double> column_variances;  ///< [columns] of the rows as they were fitted; zero where none differ
  std::string hardware;                  ///< the instruction set or the GPUs that computed it; same bits hold per kind
};

}  // namespace shoal::som
