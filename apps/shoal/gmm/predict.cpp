// shoal gmm predict
#include <memory>

#include <fmt/format.h>

#include <shoal/gmm/predict.hpp>
#include <shoal/gmm/work.hpp>

#include "common/labels_output.hpp"
#include "common/model_verb.hpp"
#include "common/report_output.hpp"
#include "gmm/verbs.hpp"
#include "gmm/words.hpp"

namespace shoal::app {
namespace {

constexpr const char* predict_examples = R"(Examples:
  shoal gmm predict model.json rows.csv --output labels.npy
  shoal gmm predict model.json rows.csv --probabilities --output probabilities.npy

The labels are int32, one for each row: the component with the greatest responsibility. The probabilities are a matrix
of rows by components in the scalar of the computation. When model and data both name their columns, they are matched by
name.)";

struct predict_command : model_command {
  bool probabilities = false;
};

struct predicted {
  double mean_log_likelihood = 0;
  std::optional<metrics::contingency_table> agreement;
};

template <class Scalar>
predicted predict(const model_run<Scalar>& run, const predict_command& command, const gmm::model& model) {
  const auto& features = run.data().features;
  labels_output labels(command.probabilities ? std::string() : command.output, run.rows(), !features.labels.empty());
  std::optional<npy_result<Scalar>> probabilities;
  if (command.probabilities) probabilities.emplace(command.output, run.rows(), model.components);
  gmm::prediction<Scalar> out;
  out.labels = labels.data();
  if (probabilities) out.probabilities = probabilities->data();
  predicted found;
  found.mean_log_likelihood = gmm::predict(model, run.data().rows(), out, run.threads(), run.memory_limit(),
                                           run.data().weights(), run.control(), run.device());
  const row_range own = predicted_rows(model, run.rows(), sizeof(Scalar), ranks());
  labels.share(own, !features.labels.empty());
  found.agreement = agreement_of(labels.data(), features.labels, features.label_names.size(), command.run);
  if (probabilities) probabilities->commit(own);
  labels.commit();
  return found;
}

template <class Scalar>
answer answer_of(const predicted& found, const predict_command& command, const gmm::model& model,
                 const model_run<Scalar>& run) {
  return {.values = joined({run.first_values(),
                            {{"components", model.components}, {"mean_log_likelihood", found.mean_log_likelihood}},
                            rand_index_values(found.agreement),
                            run.last_values()}),
          .paragraphs = {lines({{command.probabilities ? "probabilities" : "labels",
                                 fmt::format("{}: {} of {}", command.output, counted(run.rows(), "row"),
                                             counted(model.components, "component"))},
                                {"log-likelihood", fmt::format("{:.10g} mean", found.mean_log_likelihood)},
                                {"agreement", rand_index_text(found.agreement, command.data.label_column)}})}};
}

void run(predict_command& command) {
  apply_model(command, read_mixture, gmm::work_of_prediction, [&](auto& run, const mixture_file& file) {
    const predicted found = predict(run, command, file.model);
    run.end();
    give(answer_of(found, command, file.model, run), command.run);
  });
}

}  // namespace

void add_gmm_predict(CLI::App& noun, verb& selected) {
  const auto command = std::make_shared<predict_command>();
  CLI::App& app = *add_verb(
      noun, "predict", "Write the component of each row, or the probabilities of all components", predict_examples,
      selected, [command] { run(*command); }, processes::several);
  add_file(app, "MODEL", command->model, "", "Model file of shoal gmm fit", presence::required);
  add_data_options(app, command->data);
  add_flag(app, "--probabilities", command->probabilities, "Write responsibilities instead of labels");
  add_output(app, "--output", command->output, "OUT.npy", "File to write", presence::required);
  add_device_options(app, command->run);
  add_run_options(app, command->run);
}

}  // namespace shoal::app
