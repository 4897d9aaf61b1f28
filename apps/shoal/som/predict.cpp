// shoal som predict
#include <chrono>
#include <memory>

#include <fmt/format.h>

#include <shoal/som/work.hpp>

#include "common/interruption.hpp"
#include "common/labels_output.hpp"
#include "common/progress_line.hpp"
#include "som/verbs.hpp"
#include "som/words.hpp"

namespace shoal::app {
namespace {

constexpr const char* examples = R"(Example:
  shoal som predict map.json rows.csv --output units.npy

The units are int32, one for each row: the best-matching unit, the first of equals; unit u stands in row u / width and
column u % width of the map. A map that was trained with --standardize keeps the units of its fit, and rows are measured
in them. When model and data both name their columns, they are matched by name.)";

struct predict_command {
  std::string model;
  data_options data;
  run_options run;
  std::string output;
};

template <class Scalar>
void run(predict_command& command, const som_file& file, scalar scalar) {
  const auto begin = std::chrono::steady_clock::now();
  const som::model& model = file.model;
  const data_set<Scalar> data =
      open_data_for<Scalar>({command.model, model.columns, model.column_names}, command.data, command.run);
  const std::stop_token stop = interruptions().token();
  const std::size_t rows = data.rows().rows();
  const std::size_t threads = resolved_threads(command.run);
  settle_device(command.run, som::work_of_prediction(rows, sizeof(Scalar), model), threads);
  progress_line line(!command.run.quiet);
  const control control{[&](const progress& now) { line(now); }, stop};
  labels_output units(command.output, rows, true);
  const double error =
      in_units_of_the_map(model, file.units ? &*file.units : nullptr, data.rows(),
                          [&](const som::model& map, const row_source<Scalar>& source) {
                            return som::predict(map, source, units.data(), threads, command.run.memory_limit,
                                                data.weights(), control, command.run.device);
                          });
  line.wipe();

  json object;
  describe_data(object, command.data, rows, model.columns, data.features.column_names);
  object["model"] = command.model;
  object["width"] = model.width;
  object["height"] = model.height;
  object["quantization_error"] = error;
  if (!data.features.labels.empty()) {
    object["purity"] = labels_of_units(model, units.data(), data.features.labels).overall_purity;
  }
  units.commit();
  object["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  object["output"] = command.output;
  add_machine(object, command.run, threads, scalar, "");
  if (command.run.json) {
    print_json(object);
  } else if (!command.run.quiet) {
    std::string text =
        fact("units", fmt::format("{}: {} on {}", command.output, counted(rows, "row"), shape_words(model)));
    text += fact("quantization", fmt::format("error {:.10g}", error));
    if (object.contains("purity")) {
      text += fact("purity",
                   fmt::format("{:.4f} with column {}", object["purity"].get<double>(), command.data.label_column));
    }
    print(printable_lines(text));
  }
}

}  // namespace

void add_som_predict(CLI::App& noun, verb& selected) {
  const auto command = std::make_shared<predict_command>();
  CLI::App& app = *add_verb(noun, "predict", "Write the best-matching unit of each row", examples, selected, [command] {
    check_outputs({{"--output", command->output}}, files_of(command->data, command->model));
    const som_file file = load_som(command->model);
    const scalar scalar = command->data.chosen_scalar();
    naming_data(command->data, {},
                [&] { with_scalar(scalar, [&]<class Scalar>(Scalar) { run<Scalar>(*command, file, scalar); }); });
  });
  add_file(app, "MODEL", command->model, "", "Model file of shoal som fit", presence::required);
  add_data_options(app, command->data);
  add_output(app, "--output", command->output, "OUT.npy", "File to write", presence::required);
  add_device_options(app, command->run);
  add_run_options(app, command->run);
}

}  // namespace shoal::app
