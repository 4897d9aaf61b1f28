// Mixtures as a family of fits.
#pragma once

#include <optional>

#include <shoal/gmm/model.hpp>
#include <shoal/gmm/predict.hpp>
#include <shoal/gmm/result.hpp>
#include <shoal/metrics/agreement.hpp>

#include "common/fitted.hpp"
#include "gmm/words.hpp"

namespace shoal::app {

struct gmm_types {
  using words = gmm_options;
  using library = gmm::options;
  using request = gmm_request;
  using model = gmm::model;
  using result = gmm::fit_result;
  using agreement = std::optional<metrics::contingency_table>;
};

const select_family<gmm_types>& gmm_fits();

}  // namespace shoal::app
