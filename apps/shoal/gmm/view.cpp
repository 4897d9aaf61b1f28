// A mixture and its rows as a scene.
#include <algorithm>

#include <fmt/format.h>

#include <shoal/gmm/model_text.hpp>
#include <shoal/gmm/predict.hpp>

#include "common/device.hpp"
#include "common/interruption.hpp"
#include "gmm/noun.hpp"
#include "report/gmm/report.hpp"
#include "viewer/cloud_scene.hpp"

namespace shoal::app {
namespace {

viewer::scene show(const view_command& command, const std::string& contents) {
  const gmm::model model = gmm::parse_model(command.file, contents);
  const report::row_sample sample = rows_to_show(command, {command.file, model.columns, model.column_names});
  const std::size_t rows = sample.indices.size(), K = model.components;
  std::vector<std::int32_t> labels(rows);
  std::vector<float> strengths(rows);
  // The responsibilities of all components are held for a piece of the rows alone.
  constexpr std::size_t piece = 65536;
  std::vector<double> responsibilities(std::min(rows, piece) * K);
  const control control{{}, interruptions().token()};
  for (std::size_t first = 0; first < rows; first += piece) {
    const std::size_t count = std::min(piece, rows - first);
    gmm::prediction<double> out;
    out.labels = labels.data() + first;
    out.probabilities = responsibilities.data();
    gmm::predict(model, view_source<double>(sample.rows().middle_rows(first, count)), out,
                 resolved_threads(command.run), command.run.memory_limit, nullptr, control);
    for (std::size_t i = 0; i < count; ++i) {
      const auto of_row = responsibilities.begin() + static_cast<std::ptrdiff_t>(i * K);
      strengths[first + i] = static_cast<float>(*std::max_element(of_row, of_row + static_cast<std::ptrdiff_t>(K)));
    }
  }
  viewer::cloud_request request;
  request.title = "Gaussian mixture";
  request.subtitle =
      view_subtitle(command, fmt::format("{} of {}", counted(K, "component"), counted(model.columns, "column")));
  request.cloud.rows = {sample.values.data(), rows, model.columns};
  request.cloud.labels = labels;
  for (std::size_t k = 0; k < K; ++k) {
    const auto mean = model.means.begin() + static_cast<std::ptrdiff_t>(k * model.columns);
    request.cloud.shapes.push_back({model.weights[k],
                                    {mean, mean + static_cast<std::ptrdiff_t>(model.columns)},
                                    report::component_covariance(model, k)});
  }
  request.cloud.column_names = model.column_names;
  request.strengths = strengths;
  request.rows_in_all = sample.rows_in_all;
  request.axes = command.axes;
  request.quantiles = command.quantiles;
  return viewer::cloud_scene(request);
}

}  // namespace

viewable gmm_view() { return {"shoal/gmm", show}; }

}  // namespace shoal::app
