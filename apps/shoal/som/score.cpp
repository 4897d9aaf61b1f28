// shoal som score
#include <memory>

#include <fmt/format.h>

#include <shoal/som/model_text.hpp>
#include <shoal/som/predict.hpp>
#include <shoal/som/work.hpp>

#include "common/model_verb.hpp"
#include "som/fits.hpp"
#include "som/units.hpp"
#include "som/verbs.hpp"

namespace shoal::app {
namespace {

constexpr const char* score_examples = R"(Examples:
  shoal som score map.json rows.csv
  shoal som score map.json new.npy --weights weights.npy --json

The quantization error is the mean distance of the rows to their best-matching units, in the map's metric; the
topographic error is the share of the rows whose two best-matching units are not neighbours. Both are less for better
maps.)";

struct score {
  som::quality quality;
  double total_weight = 0;
};

template <class Scalar>
score score_of(const model_run<Scalar>& run, const model_file<som::model>& file) {
  score found;
  found.quality = in_units_of_fit(file.model, file.units_of_fit(), run.data().rows(),
                                  [&](const som::model& map, const row_source<Scalar>& rows) {
                                    return som::score(map, rows, run.threads(), run.memory_limit(),
                                                      run.data().weights(), run.control(), run.device());
                                  });
  found.total_weight = total_weight(run.data());
  return found;
}

template <class Scalar>
answer answer_of(const score& found, const som::model& model, const std::string& path, const model_run<Scalar>& run) {
  const som::quality& quality = found.quality;
  return {.values = joined({run.first_values(),
                            {{"width", model.width},
                             {"height", model.height},
                             {"total_weight", found.total_weight},
                             {"quantization_error", quality.quantization_error},
                             {"topographic_error", quality.topographic_error},
                             {"units_hit", units_hit(quality)}},
                            run.last_values()}),
          .paragraphs = {
              lines({{"quantization", fmt::format("error {:.17g}, {}", quality.quantization_error,
                                                  word_for(metric_choices(), model.metric))},
                     {"topographic", fmt::format("error {:.4g}", quality.topographic_error)},
                     {"data", fmt::format("{}: {} on {}", path, counted(run.rows(), "row"), shape_words(model))}})}};
}

void run_score(model_command& command) {
  apply_model(
      command, [](const std::string& path) { return read_model_file(path, som::parse_model); }, som::work_of_prediction,
      [&](auto& run, const model_file<som::model>& file) {
        const score found = score_of(run, file);
        run.end();
        give(answer_of(found, file.model, command.data.path, run), command.run);
      });
}

}  // namespace

void add_som_score(CLI::App& noun, verb& selected) {
  const auto command = std::make_shared<model_command>();
  CLI::App& app = *add_verb(
      noun, "score", "Report the quantization and topographic errors of rows on a map", score_examples, selected,
      [command] { run_score(*command); }, processes::several);
  add_file(app, "MODEL", command->model, "", "Model file of shoal som fit", presence::required);
  add_data_options(app, command->data);
  add_device_options(app, command->run);
  add_run_options(app, command->run);
}

}  // namespace shoal::app
