// shoal data generate
#include <chrono>
#include <memory>

#include <fmt/format.h>

#include <shoal/gmm/generate.hpp>
#include <shoal/gmm/model_file.hpp>

#include "common/answer.hpp"
#include "common/device.hpp"
#include "common/interruption.hpp"
#include "common/rows.hpp"
#include "gmm/generated_rows.hpp"
#include "gmm/noun.hpp"
#include "gmm/words.hpp"

namespace shoal::app {
namespace {

constexpr const char* generate_examples = R"(Examples:
  shoal data generate --rows 1000000 --columns 8 --components 10 --output rows.npy
  shoal data generate --rows 1e5 --columns 2 --components 5 --weights dirichlet --alpha 3 --seed 1 \
      --output rows.npy --labels components.npy --model truth.json

A random mixture is drawn, then its rows: weights uniform and normalised, or Dirichlet; means N(0, a I); covariances
Wishart of n degrees of freedom. Row i is the same for any number of rows and threads.)";

struct generate_command {
  gmm::generator_options options;
  drawing_plan drawing;
  std::string model;
  std::optional<double> alpha;
  std::optional<shoal::scalar> scalar;
  run_options run;
};

const choices<random::normal_method>& normal_choices() {
  static const choices<random::normal_method> known = {{"ratio-of-uniforms", random::normal_method::ratio_of_uniforms},
                                                       {"ziggurat", random::normal_method::ziggurat}};
  return known;
}

const choices<gmm::weight_distribution>& weight_choices() {
  static const choices<gmm::weight_distribution> known = {{"uniform", gmm::weight_distribution::uniform_normalized},
                                                          {"dirichlet", gmm::weight_distribution::dirichlet}};
  return known;
}

// What was drawn: the answer says it, and the mixture's file.
named_values mixture_values(const drawing_plan& drawing, const gmm::generator_options& options,
                            const gmm::model& model) {
  named_values values = {
      {"rows", drawing.rows},           {"columns", model.columns},
      {"components", model.components}, {"covariance_type", word_for(covariance_choices(), model.covariance_type)},
      {"seed", drawing.seed},           {"weights", word_for(weight_choices(), options.weights)}};
  if (options.weights == gmm::weight_distribution::dirichlet) values.emplace_back("alpha", options.dirichlet_alpha);
  const double columns = static_cast<double>(options.columns);
  return joined({values,
                 {{"mean_scale", options.mean_scale},
                  {"degrees_of_freedom", options.wishart_degrees > 0 ? options.wishart_degrees : columns + 2},
                  {"normal", word_for(normal_choices(), drawing.method)}}});
}

answer answer_of(const generate_command& command, const drawing_plan& drawing, const gmm::generator_options& options,
                 const gmm::model& model, scalar scalar, double seconds) {
  return {.values =
              joined({mixture_values(drawing, options, model),
                      given_values({{"output", drawing.output}, {"labels", drawing.labels}, {"model", command.model}}),
                      {{"seconds", seconds}},
                      machine_values(command.run, drawing.threads, scalar, "")}),
          .paragraphs = {lines(
              {{"rows", fmt::format("{}: {} of {} from {}, {}, in {}", drawing.output, counted(drawing.rows, "row"),
                                    counted(model.columns, "column"), counted(model.components, "component"),
                                    word_for(scalar_choices(), scalar), duration_text(seconds))}})}};
}

void run(const generate_command& command) {
  check_outputs(
      {{"--output", command.drawing.output}, {"--labels", command.drawing.labels}, {"--model", command.model}});
  const auto begin = std::chrono::steady_clock::now();
  gmm::generator_options options = command.options;
  options.seed = command.drawing.seed;
  options.dirichlet_alpha = command.alpha.value_or(options.dirichlet_alpha);
  if (command.alpha && options.weights != gmm::weight_distribution::dirichlet) {
    throw bad_argument("--alpha: uniform weights have no concentration; add --weights dirichlet");
  }
  if (const double least = static_cast<double>(options.columns) - 1;
      options.wishart_degrees != 0 && options.wishart_degrees <= least) {
    throw bad_argument(fmt::format("--degrees-of-freedom: {} is too small for {} columns; give more than {}",
                                   options.wishart_degrees, options.columns, least));
  }
  const gmm::model model = gmm::generate_model(options);
  drawing_plan drawing = command.drawing;
  drawing.threads = resolved_threads(command.run);
  const scalar scalar = command.scalar.value_or(shoal::scalar::float64);
  const std::stop_token stop = interruptions().token();
  progress_line line(!command.run.quiet);
  with_scalar(scalar, [&]<class Scalar>(Scalar) { draw_rows<Scalar>(model, drawing, line, stop); });
  line.wipe();
  if (!command.model.empty()) {
    gmm::save_model(
        command.model, model,
        object_of(joined({mixture_values(drawing, options, model), {{"program", "shoal " SHOAL_VERSION}}})).dump());
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  give(answer_of(command, drawing, options, model, scalar, seconds.count()), command.run);
}

}  // namespace

void add_gmm_generate(CLI::App& noun, verb& selected) {
  const auto command = std::make_shared<generate_command>();
  gmm::generator_options& options = command->options;
  CLI::App& app = *add_verb(noun, "generate", "Draw a random mixture and rows from it", generate_examples, selected,
                            [command] { run(*command); });
  add_count(app, "--rows", command->drawing.rows, "N", "Rows to draw", 1, presence::required);
  add_count(app, "--columns", options.columns, "D", "Columns", 1, presence::required);
  add_count(app, "--components", options.components, "K", "Components of the mixture", 1, presence::required);
  add_choice(app, "--covariance", options.covariance_type, covariance_choices(), "Shape of the covariances", "full");
  add_count(app, "--seed", command->drawing.seed, "N", "Seed of the mixture and the rows");
  add_choice(app, "--weights", options.weights, weight_choices(), "How the weights are drawn", "uniform");
  add_option(app, "--alpha", "X", "With --weights dirichlet: their concentration, above 0",
             fmt::format("{}", options.dirichlet_alpha),
             [command](const std::string& text) { command->alpha = parse_number("--alpha", text, 0, true); });
  add_number(app, "--mean-scale", options.mean_scale, "a, the variance of each coordinate of the means", 0);
  add_number(app, "--degrees-of-freedom", options.wishart_degrees, "n of the Wishart covariances, more than D - 1", 0,
             true, "D + 2");
  add_choice(app, "--normal", command->drawing.method, normal_choices(), "How normals are drawn", "ziggurat");
  add_scalar_option(app, command->scalar, "float64");
  add_output(app, "--output", command->drawing.output, "OUT.npy", "File to write", presence::required);
  add_output(app, "--labels", command->drawing.labels, "OUT.npy", "Write the component of each row, as int32");
  add_output(app, "--model", command->model, "OUT.json", "Write the mixture that the rows were drawn from");
  add_run_options(app, command->run, false);
}

}  // namespace shoal::app
