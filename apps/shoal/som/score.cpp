// shoal som score
#include <algorithm>
#include <chrono>
#include <memory>

#include <fmt/format.h>

#include <shoal/som/work.hpp>

#include "common/interruption.hpp"
#include "common/progress_line.hpp"
#include "som/verbs.hpp"
#include "som/words.hpp"

namespace shoal::app {
namespace {

constexpr const char* examples = R"(Examples:
  shoal som score map.json rows.csv
  shoal som score map.json new.npy --weights weights.npy --json

The quantization error is the mean distance of the rows to their best-matching units, in the map's metric; the
topographic error is the share of the rows whose two best-matching units are not neighbours. Both are less for better
maps.)";

struct score_command {
  std::string model;
  data_options data;
  run_options run;
};

template <class Scalar>
void run(score_command& command, const som_file& file, scalar scalar) {
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
  const som::quality quality = in_units_of_the_map(model, file.units ? &*file.units : nullptr, data.rows(),
                                                   [&](const som::model& map, const row_source<Scalar>& source) {
                                                     return som::score(map, source, threads, command.run.memory_limit,
                                                                       data.weights(), control, command.run.device);
                                                   });
  line.wipe();

  json object;
  describe_data(object, command.data, rows, model.columns, data.features.column_names);
  object["model"] = command.model;
  object["width"] = model.width;
  object["height"] = model.height;
  object["total_weight"] = total_weight(data);
  object["quantization_error"] = quality.quantization_error;
  object["topographic_error"] = quality.topographic_error;
  object["units_hit"] =
      std::count_if(quality.hits.begin(), quality.hits.end(), [](double weight) { return weight > 0; });
  object["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  add_machine(object, command.run, threads, scalar, "");
  if (command.run.json) {
    print_json(object);
  } else if (!command.run.quiet) {
    print(printable_lines(
        fact("quantization",
             fmt::format("error {:.17g}, {}", quality.quantization_error, word_for(metric_choices(), model.metric))) +
        fact("topographic", fmt::format("error {:.4g}", quality.topographic_error)) +
        fact("data", fmt::format("{}: {} on {}", command.data.path, counted(rows, "row"), shape_words(model)))));
  }
}

}  // namespace

void add_som_score(CLI::App& noun, verb& selected) {
  const auto command = std::make_shared<score_command>();
  CLI::App& app = *add_verb(
      noun, "score", "Report the quantization and topographic errors of rows on a map", examples, selected, [command] {
        const som_file file = load_som(command->model);
        const scalar scalar = command->data.chosen_scalar();
        naming_data(command->data, {},
                    [&] { with_scalar(scalar, [&]<class Scalar>(Scalar) { run<Scalar>(*command, file, scalar); }); });
      });
  add_file(app, "MODEL", command->model, "", "Model file of shoal som fit", presence::required);
  add_data_options(app, command->data);
  add_device_options(app, command->run);
  add_run_options(app, command->run);
}

}  // namespace shoal::app
