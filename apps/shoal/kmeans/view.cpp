// Clusters and their rows as a scene.
#include <fmt/format.h>

#include <shoal/kmeans/model_text.hpp>
#include <shoal/kmeans/predict.hpp>

#include "common/device.hpp"
#include "common/interruption.hpp"
#include "common/model_file.hpp"
#include "kmeans/noun.hpp"
#include "kmeans/units.hpp"
#include "viewer/cloud_scene.hpp"

namespace shoal::app {
namespace {

viewer::scene show(const view_command& command, const std::string& contents) {
  const model_file<kmeans::model> file = model_file_of(command.file, contents, kmeans::parse_model);
  const kmeans::model& model = file.model;
  const report::row_sample sample = rows_to_show(command, {command.file, model.columns, model.column_names});
  std::vector<std::int32_t> labels(sample.indices.size());
  if (!labels.empty()) {
    const view_source<double> source(sample.rows());
    in_units_of_fit(model, file.units_of_fit(), static_cast<const row_source<double>&>(source),
                    [&](const kmeans::model& there, const row_source<double>& rows) {
                      return kmeans::predict(there, rows, labels.data(), resolved_threads(command.run),
                                             command.run.memory_limit, nullptr, {{}, interruptions().token()});
                    });
  }
  viewer::cloud_request request;
  request.title = "k-means clusters";
  request.subtitle = view_subtitle(
      command, fmt::format("{} of {}", counted(model.clusters, "cluster"), counted(model.columns, "column")));
  request.cloud.rows = {sample.values.data(), labels.size(), model.columns};
  request.cloud.labels = labels;
  request.cloud.group_word = "cluster";
  request.cloud.mean_word = "centroid";
  for (std::size_t k = 0; k < model.clusters; ++k) {
    const auto centroid = model.centroids.begin() + static_cast<std::ptrdiff_t>(k * model.columns);
    request.cloud.shapes.push_back({0, {centroid, centroid + static_cast<std::ptrdiff_t>(model.columns)}, {}});
  }
  request.cloud.column_names = model.column_names;
  request.rows_in_all = sample.rows_in_all;
  request.axes = command.axes;
  request.quantiles = command.quantiles;
  return viewer::cloud_scene(request);
}

}  // namespace

viewable kmeans_view() { return {"shoal/kmeans", show}; }

}  // namespace shoal::app
