// shoal gmm score
#include <chrono>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include <shoal/gmm/work.hpp>

#include "common/interruption.hpp"
#include "common/progress_line.hpp"
#include "gmm/verbs.hpp"
#include "gmm/words.hpp"

namespace shoal::app {
namespace {

constexpr const char* examples = R"(Examples:
  shoal gmm score model.json rows.csv
  shoal gmm score model.json new.npy --weights weights.npy --json

The score is the model's mean log-likelihood of the rows, per unit of weight; BIC and AIC take it times the total
weight.)";

struct score_command {
  std::string model;
  data_options data;
  run_options run;
};

template <class Scalar>
void run(score_command& command, const gmm::model& model, scalar scalar) {
  const auto begin = std::chrono::steady_clock::now();
  const data_set<Scalar> data =
      open_data_for<Scalar>({command.model, model.columns, model.column_names}, command.data, command.run);
  const std::stop_token stop = interruptions().token();
  const std::size_t threads = resolved_threads(command.run);
  settle_device(command.run, gmm::work_of_prediction(data.rows().rows(), sizeof(Scalar), model), threads);
  progress_line line(!command.run.quiet);
  const control control{[&](const progress& now) { line(now); }, stop};
  const double mean = gmm::predict(model, data.rows(), gmm::prediction<Scalar>{}, threads, command.run.memory_limit,
                                   data.weights(), control, command.run.device);
  line.wipe();

  const double weight = total_weight(data);
  const double parameters = gmm::free_parameters(model.covariance_type, model.components, model.columns);
  json object;
  describe_data(object, command.data, data.rows().rows(), model.columns, data.features.column_names);
  object["model"] = command.model;
  object["components"] = model.components;
  object["total_weight"] = weight;
  object["mean_log_likelihood"] = mean;
  object["bic"] = -2 * mean * weight + parameters * std::log(weight);
  object["aic"] = -2 * mean * weight + 2 * parameters;
  object["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  add_machine(object, command.run, threads, scalar, "");
  if (command.run.json) {
    print_json(object);
  } else if (!command.run.quiet) {
    print(
        printable_lines(fact("log-likelihood", fmt::format("{:.17g} mean; BIC {:.8g}, AIC {:.8g}", mean,
                                                           object["bic"].get<double>(), object["aic"].get<double>())) +
                        fact("data", fmt::format("{}: {}", command.data.path, counted(data.rows().rows(), "row")))));
  }
}

}  // namespace

void add_gmm_score(CLI::App& noun, verb& selected) {
  const auto command = std::make_shared<score_command>();
  CLI::App& app =
      *add_verb(noun, "score", "Report the mean log-likelihood of rows under a model", examples, selected, [command] {
        const gmm::model model = gmm::load_model(command->model);
        const scalar scalar = command->data.chosen_scalar();
        naming_data(command->data, {},
                    [&] { with_scalar(scalar, [&]<class Scalar>(Scalar) { run<Scalar>(*command, model, scalar); }); });
      });
  add_file(app, "MODEL", command->model, "", "Model file of shoal gmm fit", presence::required);
  add_data_options(app, command->data);
  add_device_options(app, command->run);
  add_run_options(app, command->run);
}

}  // namespace shoal::app
