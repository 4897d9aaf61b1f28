// shoal kmeans predict
#include <memory>

#include <fmt/format.h>

#include <shoal/kmeans/model_text.hpp>
#include <shoal/kmeans/predict.hpp>
#include <shoal/kmeans/work.hpp>

#include "common/labels_output.hpp"
#include "common/model_file.hpp"
#include "common/model_verb.hpp"
#include "common/report_output.hpp"
#include "kmeans/units.hpp"
#include "kmeans/verbs.hpp"

namespace shoal::app {
namespace {

constexpr const char* predict_examples = R"(Example:
  shoal kmeans predict model.json rows.csv --output labels.npy

The labels are int32, one for each row: the nearest centroid, the first of equals. A model that was fitted with
--standardize keeps the units of its fit, and rows are measured in them. When model and data both name their columns,
they are matched by name.)";

struct predicted {
  double inertia = 0;
  std::optional<metrics::contingency_table> agreement;
};

template <class Scalar>
predicted predict(const model_run<Scalar>& run, const model_command& command, const model_file<kmeans::model>& file) {
  const auto& features = run.data().features;
  labels_output labels(command.output, run.rows(), !features.labels.empty());
  predicted found;
  found.inertia =
      in_units_of_fit(file.model, file.units_of_fit(), run.data().rows(),
                      [&](const kmeans::model& model, const row_source<Scalar>& rows) {
                        return kmeans::predict(model, rows, labels.data(), run.threads(), run.memory_limit(),
                                               run.data().weights(), run.control(), run.device());
                      });
  labels.share(predicted_rows(file.model, run.rows(), sizeof(Scalar), ranks()), !features.labels.empty());
  found.agreement = agreement_of(labels.data(), features.labels, features.label_names.size(), command.run);
  labels.commit();
  return found;
}

template <class Scalar>
answer answer_of(const predicted& found, const model_command& command, const kmeans::model& model,
                 const model_run<Scalar>& run) {
  return {.values = joined({run.first_values(),
                            {{"clusters", model.clusters}, {"inertia", found.inertia}},
                            rand_index_values(found.agreement),
                            run.last_values()}),
          .paragraphs = {lines({{"labels", fmt::format("{}: {} in {}", command.output, counted(run.rows(), "row"),
                                                       counted(model.clusters, "cluster"))},
                                {"inertia", fmt::format("{:.10g}", found.inertia)},
                                {"agreement", rand_index_text(found.agreement, command.data.label_column)}})}};
}

void run(model_command& command) {
  apply_model(
      command, [](const std::string& path) { return read_model_file(path, kmeans::parse_model); },
      kmeans::work_of_prediction,
      [&](auto& run, const model_file<kmeans::model>& file) {
        const predicted found = predict(run, command, file);
        run.end();
        give(answer_of(found, command, file.model, run), command.run);
      });
}

}  // namespace

void add_kmeans_predict(CLI::App& noun, verb& selected) {
  const auto command = std::make_shared<model_command>();
  CLI::App& app = *add_verb(
      noun, "predict", "Write the nearest centroid of each row", predict_examples, selected,
      [command] { run(*command); }, processes::several);
  add_file(app, "MODEL", command->model, "", "Model file of shoal kmeans fit", presence::required);
  add_data_options(app, command->data);
  add_output(app, "--output", command->output, "OUT.npy", "File to write", presence::required);
  add_device_options(app, command->run);
  add_run_options(app, command->run);
}

}  // namespace shoal::app
