// What a fit of a mixture returns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <shoal/gmm/model.hpp>

namespace shoal::gmm {

struct fit_result {
  gmm::model model;
  double mean_log_likelihood = 0;  ///< of the returned model, per unit of weight
  /// Mean log-likelihood of the model that each iteration started from; where models change within a pass, of the rows
  /// under the models that they met. Under `squarem` an iteration whose model was dropped stands lower.
  std::vector<double> history;
  std::size_t iterations = 0;  ///< of the fit that was kept
  bool converged = false;
  std::size_t reseeded = 0;  ///< empty components that were given the row that fitted worst
  std::size_t rows = 0;
  double total_weight = 0;  ///< Σ w; the number of rows without weights
  double seconds = 0;       ///< checks, initialisation, loop and final score
  /// The loop alone, and the iterations that it was spent in: of all restarts, but without what was done before a fit
  /// was resumed. One iteration takes their quotient.
  double loop_seconds = 0;
  std::size_t loop_iterations = 0;
  double seeding_seconds = 0;  ///< choosing where to start, of all restarts; part of `seconds`
  double bic = 0;              ///< −2ℓ·Σw + p·ln Σw
  double aic = 0;              ///< −2ℓ·Σw + 2p
  std::string hardware;        ///< the instruction set or the GPUs that computed it; same bits hold per kind
};

}  // namespace shoal::gmm
