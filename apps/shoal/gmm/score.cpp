// shoal gmm score
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include <shoal/gmm/covariance_type.hpp>
#include <shoal/gmm/predict.hpp>
#include <shoal/gmm/work.hpp>

#include "common/model_verb.hpp"
#include "gmm/verbs.hpp"
#include "gmm/words.hpp"

namespace shoal::app {
namespace {

constexpr const char* score_examples = R"(Examples:
  shoal gmm score model.json rows.csv
  shoal gmm score model.json new.npy --weights weights.npy --json

The score is the model's mean log-likelihood of the rows, per unit of weight; BIC and AIC take it times the total
weight.)";

struct score {
  double mean_log_likelihood = 0;
  double total_weight = 0;
  double bic = 0;
  double aic = 0;
};

template <class Scalar>
score score_of(const model_run<Scalar>& run, const gmm::model& model) {
  const double mean = gmm::predict(model, run.data().rows(), gmm::prediction<Scalar>{}, run.threads(),
                                   run.memory_limit(), run.data().weights(), run.control(), run.device());
  const double weight = total_weight(run.data());
  const double parameters = gmm::free_parameters(model.covariance_type, model.components, model.columns);
  return {mean, weight, -2 * mean * weight + parameters * std::log(weight), -2 * mean * weight + 2 * parameters};
}

template <class Scalar>
answer answer_of(const score& found, const gmm::model& model, const std::string& path, const model_run<Scalar>& run) {
  return {.values = joined({run.first_values(),
                            {{"components", model.components},
                             {"total_weight", found.total_weight},
                             {"mean_log_likelihood", found.mean_log_likelihood},
                             {"bic", found.bic},
                             {"aic", found.aic}},
                            run.last_values()}),
          .paragraphs = {lines({{"log-likelihood", fmt::format("{:.17g} mean; BIC {:.8g}, AIC {:.8g}",
                                                               found.mean_log_likelihood, found.bic, found.aic)},
                                {"data", fmt::format("{}: {}", path, counted(run.rows(), "row"))}})}};
}

void run(model_command& command) {
  apply_model(command, read_mixture, gmm::work_of_prediction, [&](auto& run, const mixture_file& file) {
    const score found = score_of(run, file.model);
    run.end();
    give(answer_of(found, file.model, command.data.path, run), command.run);
  });
}

}  // namespace

void add_gmm_score(CLI::App& noun, verb& selected) {
  const auto command = std::make_shared<model_command>();
  CLI::App& app = *add_verb(
      noun, "score", "Report the mean log-likelihood of rows under a model", score_examples, selected,
      [command] { run(*command); }, processes::several);
  add_file(app, "MODEL", command->model, "", "Model file of shoal gmm fit", presence::required);
  add_data_options(app, command->data);
  add_device_options(app, command->run);
  add_run_options(app, command->run);
}

}  // namespace shoal::app
