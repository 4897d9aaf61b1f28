// k-means as a family of fits.
#pragma once

#include <optional>

#include <shoal/kmeans/model.hpp>
#include <shoal/kmeans/predict.hpp>
#include <shoal/kmeans/result.hpp>
#include <shoal/metrics/agreement.hpp>

#include "common/fitted.hpp"
#include "kmeans/words.hpp"

namespace shoal::app {

struct kmeans_types {
  using words = kmeans_options;
  using library = kmeans::options;
  using request = kmeans_request;
  using model = kmeans::model;
  using result = kmeans::fit_result;
  using agreement = std::optional<metrics::contingency_table>;
};

const select_family<kmeans_types>& kmeans_fits();

}  // namespace shoal::app
