#include <shoal/kmeans/check_model.hpp>

#include <cmath>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

namespace shoal::kmeans {

void check_model(const model& model, std::size_t columns) {
  if (model.clusters == 0 || model.clusters > most_clusters ||
      model.centroids.size() != model.clusters * model.columns) {
    throw bad_argument(fmt::format("the model has {} centroid values for {} clusters x {} columns",
                                   model.centroids.size(), model.clusters, model.columns));
  }
  if (model.columns != columns) {
    throw bad_argument(
        fmt::format("the model has {} columns and the data have {}; choose the columns that the model was fitted to",
                    model.columns, columns));
  }
  for (std::size_t i = 0; i < model.centroids.size(); ++i) {
    if (std::isfinite(model.centroids[i])) continue;
    throw bad_argument(fmt::format("the model's centroid {}, column {} (counting from 0) is {}", i / columns,
                                   i % columns, model.centroids[i]));
  }
}

}  // namespace shoal::kmeans
