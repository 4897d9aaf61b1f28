// shoal gmm sample
#include <chrono>
#include <memory>

#include <fmt/format.h>

#include <shoal/gmm/model_file.hpp>
#include <shoal/gmm/work.hpp>

#include "common/answer.hpp"
#include "common/device.hpp"
#include "common/interruption.hpp"
#include "common/rows.hpp"
#include "gmm/generated_rows.hpp"
#include "gmm/verbs.hpp"
#include "gmm/words.hpp"

namespace shoal::app {
namespace {

constexpr const char* sample_examples = R"(Examples:
  shoal gmm sample model.json --rows 1000 --output rows.npy
  shoal gmm sample model.json --rows 1000 --seed 7 --output rows.npy --labels components.npy

Row i is the same for any number of rows and threads. GPUs draw the same components, and the same rows but for the last
bit of a few elements.)";

struct sample_command {
  std::string model;
  drawing_plan drawing;
  std::optional<shoal::scalar> scalar;
  run_options run;
};

answer answer_of(const sample_command& command, const drawing_plan& drawing, const gmm::model& model, scalar scalar,
                 double seconds) {
  return {.values = joined({{{"model", command.model},
                             {"rows", drawing.rows},
                             {"columns", model.columns},
                             {"components", model.components},
                             {"seed", drawing.seed}},
                            given_values({{"output", drawing.output}, {"labels", drawing.labels}}),
                            {{"seconds", seconds}},
                            machine_values(command.run, drawing.threads, scalar, "")}),
          .paragraphs = {lines({{"rows", fmt::format("{}: {} of {}, {}, in {}", drawing.output,
                                                     counted(drawing.rows, "row"), counted(model.columns, "column"),
                                                     word_for(scalar_choices(), scalar), duration_text(seconds))}})}};
}

void run(sample_command& command) {
  check_outputs({{"--output", command.drawing.output}, {"--labels", command.drawing.labels}},
                {{"MODEL", command.model}});
  const auto begin = std::chrono::steady_clock::now();
  const gmm::model model = gmm::load_model(command.model);
  drawing_plan drawing = command.drawing;
  drawing.threads = resolved_threads(command.run);
  const scalar scalar = command.scalar.value_or(shoal::scalar::float64);
  settle_device(command.run, gmm::work_of_sample(drawing.rows, scalar == scalar::float32 ? 4 : 8, model),
                drawing.threads);
  drawing.device = command.run.device;
  const std::stop_token stop = interruptions().token();
  progress_line line(!command.run.quiet);
  with_scalar(scalar, [&]<class Scalar>(Scalar) { draw_rows<Scalar>(model, drawing, line, stop); });
  line.wipe();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  give(answer_of(command, drawing, model, scalar, seconds.count()), command.run);
}

}  // namespace

void add_gmm_sample(CLI::App& noun, verb& selected) {
  const auto command = std::make_shared<sample_command>();
  CLI::App& app =
      *add_verb(noun, "sample", "Draw rows from a model", sample_examples, selected, [command] { run(*command); });
  add_file(app, "MODEL", command->model, "", "Model file of shoal gmm fit", presence::required);
  add_count(app, "--rows", command->drawing.rows, "N", "Rows to draw", 1, presence::required);
  add_count(app, "--seed", command->drawing.seed, "N", "Seed of the rows");
  add_scalar_option(app, command->scalar, "float64");
  add_output(app, "--output", command->drawing.output, "OUT.npy", "File to write", presence::required);
  add_output(app, "--labels", command->drawing.labels, "OUT.npy", "Write the component of each row, as int32");
  add_device_options(app, command->run, false);
  add_run_options(app, command->run, false);
}

}  // namespace shoal::app
