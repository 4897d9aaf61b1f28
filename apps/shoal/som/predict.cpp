// shoal som predict
#include <memory>

#include <fmt/format.h>

#include <shoal/som/model_text.hpp>
#include <shoal/som/predict.hpp>
#include <shoal/som/work.hpp>

#include "common/labels_output.hpp"
#include "common/model_verb.hpp"
#include "som/fits.hpp"
#include "som/units.hpp"
#include "som/verbs.hpp"

namespace shoal::app {
namespace {

constexpr const char* predict_examples = R"(Example:
  shoal som predict map.json rows.csv --output units.npy

The units are int32, one for each row: the best-matching unit, the first of equals; unit u stands in row u / width and
column u % width of the map. A map that was trained with --standardize keeps the units of its fit, and rows are measured
in them. When model and data both name their columns, they are matched by name.)";

struct predicted {
  double quantization_error = 0;
  std::optional<som::unit_labels> labels;
};

template <class Scalar>
predicted predict(const model_run<Scalar>& run, const model_command& command, const model_file<som::model>& file) {
  const std::vector<std::int32_t>& given = run.data().features.labels;
  labels_output units(command.output, run.rows(), !given.empty());
  predicted found;
  found.quantization_error = in_units_of_fit(
      file.model, file.units_of_fit(), run.data().rows(), [&](const som::model& map, const row_source<Scalar>& rows) {
        return som::predict(map, rows, units.data(), run.threads(), run.memory_limit(), run.data().weights(),
                            run.control(), run.device());
      });
  units.share(predicted_rows(file.model, run.rows(), sizeof(Scalar), ranks()), !given.empty());
  if (!given.empty()) found.labels = labels_of_units(file.model, units.data(), given);
  units.commit();
  return found;
}

template <class Scalar>
answer answer_of(const predicted& found, const model_command& command, const som::model& model,
                 const model_run<Scalar>& run) {
  return {
      .values =
          joined({run.first_values(),
                  {{"width", model.width}, {"height", model.height}, {"quantization_error", found.quantization_error}},
                  purity_values(found.labels),
                  run.last_values()}),
      .paragraphs = {
          lines({{"units", fmt::format("{}: {} on {}", command.output, counted(run.rows(), "row"), shape_words(model))},
                 {"quantization", fmt::format("error {:.10g}", found.quantization_error)},
                 {"purity", purity_text(found.labels, command.data.label_column)}})}};
}

void run(model_command& command) {
  apply_model(
      command, [](const std::string& path) { return read_model_file(path, som::parse_model); }, som::work_of_prediction,
      [&](auto& run, const model_file<som::model>& file) {
        const predicted found = predict(run, command, file);
        run.end();
        give(answer_of(found, command, file.model, run), command.run);
      });
}

}  // namespace

void add_som_predict(CLI::App& noun, verb& selected) {
  const auto command = std::make_shared<model_command>();
  CLI::App& app = *add_verb(
      noun, "predict", "Write the best-matching unit of each row", predict_examples, selected,
      [command] { run(*command); }, processes::several);
  add_file(app, "MODEL", command->model, "", "Model file of shoal som fit", presence::required);
  add_data_options(app, command->data);
  add_output(app, "--output", command->output, "OUT.npy", "File to write", presence::required);
  add_device_options(app, command->run);
  add_run_options(app, command->run);
}

}  // namespace shoal::app
