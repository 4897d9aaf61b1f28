// shoal kmeans predict
#include <chrono>
#include <memory>

#include <fmt/format.h>

#include <shoal/kmeans/work.hpp>

#include "common/interruption.hpp"
#include "common/labels_output.hpp"
#include "common/progress_line.hpp"
#include "common/report_output.hpp"
#include "kmeans/verbs.hpp"
#include "kmeans/words.hpp"

namespace shoal::app {
namespace {

constexpr const char* examples = R"(Example:
  shoal kmeans predict model.json rows.csv --output labels.npy

The labels are int32, one for each row: the nearest centroid, the first of equals. A model that was fitted with
--standardize keeps the units of its fit, and rows are measured in them. When model and data both name their columns,
they are matched by name.)";

struct predict_command {
  std::string model;
  data_options data;
  run_options run;
  std::string output;
};

template <class Scalar>
void run(predict_command& command, const kmeans_file& file, scalar scalar) {
  const auto begin = std::chrono::steady_clock::now();
  const kmeans::model& model = file.model;
  const data_set<Scalar> data =
      open_data_for<Scalar>({command.model, model.columns, model.column_names}, command.data, command.run);
  const std::stop_token stop = interruptions().token();
  const std::size_t rows = data.rows().rows();
  const std::size_t threads = resolved_threads(command.run);
  settle_device(command.run, kmeans::work_of_prediction(data.rows().rows(), sizeof(Scalar), model), threads);
  progress_line line(!command.run.quiet);
  const control control{[&](const progress& now) { line(now); }, stop};
  labels_output labels(command.output, rows, true);
  const double inertia = assign(model, file.units ? &*file.units : nullptr, data.rows(), labels.data(), data.weights(),
                                threads, command.run.memory_limit, control, command.run.device);
  line.wipe();

  json object;
  describe_data(object, command.data, rows, model.columns, data.features.column_names);
  object["model"] = command.model;
  object["clusters"] = model.clusters;
  object["inertia"] = inertia;
  const auto agreement =
      agreement_of(labels.data(), data.features.labels, data.features.label_names.size(), command.run);
  if (agreement) object["adjusted_rand_index"] = metrics::adjusted_rand_index(*agreement);
  labels.commit();
  object["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  object["output"] = command.output;
  add_machine(object, command.run, threads, scalar, "");
  if (command.run.json) {
    print_json(object);
  } else if (!command.run.quiet) {
    std::string text = fact("labels", fmt::format("{}: {} in {}", command.output, counted(rows, "row"),
                                                  counted(model.clusters, "cluster")));
    text += fact("inertia", fmt::format("{:.10g}", inertia));
    if (agreement) {
      text += fact("agreement", fmt::format("adjusted Rand index {:.4f} with column {}",
                                            object["adjusted_rand_index"].get<double>(), command.data.label_column));
    }
    print(printable_lines(text));
  }
}

}  // namespace

void add_kmeans_predict(CLI::App& noun, verb& selected) {
  const auto command = std::make_shared<predict_command>();
  CLI::App& app = *add_verb(noun, "predict", "Write the nearest centroid of each row", examples, selected, [command] {
    check_outputs({{"--output", command->output}}, files_of(command->data, command->model));
    const kmeans_file file = load_kmeans(command->model);
    const scalar scalar = command->data.chosen_scalar();
    naming_data(command->data, {},
                [&] { with_scalar(scalar, [&]<class Scalar>(Scalar) { run<Scalar>(*command, file, scalar); }); });
  });
  add_file(app, "MODEL", command->model, "", "Model file of shoal kmeans fit", presence::required);
  add_data_options(app, command->data);
  add_output(app, "--output", command->output, "OUT.npy", "File to write", presence::required);
  add_device_options(app, command->run);
  add_run_options(app, command->run);
}

}  // namespace shoal::app
