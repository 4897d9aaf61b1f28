// shoal gmm predict
#include <chrono>
#include <memory>

#include <fmt/format.h>

#include <shoal/gmm/work.hpp>

#include "common/interruption.hpp"
#include "common/labels_output.hpp"
#include "common/progress_line.hpp"
#include "common/report_output.hpp"
#include "gmm/verbs.hpp"
#include "gmm/words.hpp"

namespace shoal::app {
namespace {

constexpr const char* examples = R"(Examples:
  shoal gmm predict model.json rows.csv --output labels.npy
  shoal gmm predict model.json rows.csv --probabilities --output probabilities.npy

The labels are int32, one for each row: the component with the greatest responsibility. The probabilities are a matrix
of rows by components in the scalar of the computation. When model and data both name their columns, they are matched by
name.)";

struct predict_command {
  std::string model;
  data_options data;
  run_options run;
  std::string output;
  bool probabilities = false;
};

template <class Scalar>
void run(predict_command& command, const gmm::model& model, scalar scalar) {
  const auto begin = std::chrono::steady_clock::now();
  const data_set<Scalar> data =
      open_data_for<Scalar>({command.model, model.columns, model.column_names}, command.data, command.run);
  const std::stop_token stop = interruptions().token();
  const std::size_t rows = data.rows().rows();
  const std::size_t threads = resolved_threads(command.run);
  settle_device(command.run, gmm::work_of_prediction(data.rows().rows(), sizeof(Scalar), model), threads);
  progress_line line(!command.run.quiet);
  const control control{[&](const progress& now) { line(now); }, stop};

  const bool compared = !data.features.labels.empty();
  labels_output labels(command.probabilities ? std::string() : command.output, rows, compared);
  std::optional<npy_output<Scalar>> probabilities;
  if (command.probabilities) probabilities.emplace(command.output, rows, model.components);
  gmm::prediction<Scalar> out;
  out.labels = labels.data();
  if (probabilities) out.probabilities = probabilities->data();
  const double mean = gmm::predict(model, data.rows(), out, threads, command.run.memory_limit, data.weights(), control,
                                   command.run.device);
  line.wipe();

  json object;
  describe_data(object, command.data, rows, model.columns, data.features.column_names);
  object["model"] = command.model;
  object["components"] = model.components;
  object["mean_log_likelihood"] = mean;
  const auto agreement =
      agreement_of(labels.data(), data.features.labels, data.features.label_names.size(), command.run);
  if (agreement) object["adjusted_rand_index"] = metrics::adjusted_rand_index(*agreement);
  if (probabilities) probabilities->commit();
  labels.commit();
  object["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  object["output"] = command.output;
  add_machine(object, command.run, threads, scalar, "");
  if (command.run.json) {
    print_json(object);
  } else if (!command.run.quiet) {
    std::string text =
        fact(command.probabilities ? "probabilities" : "labels",
             fmt::format("{}: {} of {}", command.output, counted(rows, "row"), counted(model.components, "component")));
    text += fact("log-likelihood", fmt::format("{:.10g} mean", mean));
    if (agreement) {
      text += fact("agreement", fmt::format("adjusted Rand index {:.4f} with column {}",
                                            object["adjusted_rand_index"].get<double>(), command.data.label_column));
    }
    print(printable_lines(text));
  }
}

}  // namespace

void add_gmm_predict(CLI::App& noun, verb& selected) {
  const auto command = std::make_shared<predict_command>();
  CLI::App& app = *add_verb(
      noun, "predict", "Write the component of each row, or the probabilities of all components", examples, selected,
      [command] {
        check_outputs({{"--output", command->output}}, files_of(command->data, command->model));
        const gmm::model model = gmm::load_model(command->model);
        const scalar scalar = command->data.chosen_scalar();
        naming_data(command->data, {},
                    [&] { with_scalar(scalar, [&]<class Scalar>(Scalar) { run<Scalar>(*command, model, scalar); }); });
      });
  add_file(app, "MODEL", command->model, "", "Model file of shoal gmm fit", presence::required);
  add_data_options(app, command->data);
  add_flag(app, "--probabilities", command->probabilities, "Write responsibilities instead of labels");
  add_output(app, "--output", command->output, "OUT.npy", "File to write", presence::required);
  add_device_options(app, command->run);
  add_run_options(app, command->run);
}

}  // namespace shoal::app
