// shoal wave run
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <type_traits>

#include <fmt/format.h>

#include <shoal/io/npy_format.hpp>
#include <shoal/io/whole_file.hpp>
#include <shoal/reaction_diffusion/reaction_diffusion.hpp>

#include "common/answer.hpp"
#include "common/device.hpp"
#include "common/interruption.hpp"
#include "common/progress_line.hpp"
#include "common/rows.hpp"
#include "report/wave/wave_report.hpp"
#include "wave/presets.hpp"
#include "wave/verbs.hpp"

namespace shoal::app {
namespace {

namespace rd = reaction_diffusion;

constexpr const char* run_examples = R"(Examples:
  shoal wave run --preset front --nodes 801 --spacing 0.25 --time 40 --json
  shoal wave run --preset impulse --scheme tr-bdf2 --times 0,38,243 --output states.npy
  shoal wave run --preset axon-input --scheme crank-nicolson --step 0.1 --checkpoint axon.json

v_t = v_xx + v(1 - v)(v - a) - w and w_t = epsilon (v - gamma w) on an axon, or in the plane with --rows and --columns. --output
is [times][2][nodes] or [times][2][rows][columns]: v, then w.)";

struct wave_command {
  wave_preset_name preset = wave_preset_name::impulse;
  rd::grid grid;
  std::optional<std::size_t> rows, columns;
  std::optional<double> a, gamma, epsilon, time;
  std::optional<rd::boundary> boundary;
  double input_level = 1;
  double input_period = 100;
  rd::noise noise;
  std::optional<double> coupling;
  rd::options options;
  std::optional<shoal::scalar> scalar;
  std::string output;
  std::string report;
  run_options run;
};

const choices<rd::scheme>& scheme_choices() {
  static const choices<rd::scheme> known = {{"explicit", rd::scheme::explicit_steps},
                                            {"adaptive", rd::scheme::adaptive},
                                            {"crank-nicolson", rd::scheme::crank_nicolson},
                                            {"pieces", rd::scheme::pieces},
                                            {"tr-bdf2", rd::scheme::tr_bdf2},
                                            {"source-2016", rd::scheme::source_2016}};
  return known;
}

const choices<rd::noise_kind>& noise_choices() {
  static const choices<rd::noise_kind> known = {{"additive", rd::noise_kind::additive},
                                                {"multiplicative", rd::noise_kind::multiplicative}};
  return known;
}

const choices<rd::second_differences>& differences_choices() {
  static const choices<rd::second_differences> known = {{"three-point", rd::second_differences::three_point},
                                                        {"five-point", rd::second_differences::five_point},
                                                        {"spline", rd::second_differences::spline}};
  return known;
}

std::vector<double> parse_times(const std::string& text) {
  std::vector<double> times;
  for (const std::string& word : parse_names("--times", text)) times.push_back(parse_number("--times", word, 0));
  return times;
}

template <class Scalar>
void write_states(const std::string& path, const rd::result<Scalar>& found, const rd::grid& grid) {
  std::vector<std::size_t> shape = {found.times.size(), 2};
  if (grid.rows > 1) shape.push_back(grid.rows);
  shape.push_back(grid.columns);
  std::string file =
      make_npy_header(std::is_same_v<Scalar, float> ? element_type::float32 : element_type::float64, shape);
  const std::size_t begin = file.size();
  file.resize(begin + found.states.size() * sizeof(Scalar));
  std::memcpy(file.data() + begin, found.states.data(), file.size() - begin);
  write_file_atomically(path, file);
}

template <class Scalar>
void write_report(const wave_command& command, const rd::problem& wave, const rd::result<Scalar>& found) {
  const rd::parameters& of = wave.parameters;
  report::wave_page({.title = word_for(wave_preset_choices(), command.preset),
                     .facts = {{"equations", fmt::format("a {}, gamma {}, epsilon {}", of.a, of.gamma, of.epsilon)},
                               {"scheme", word_for(scheme_choices(), command.options.scheme)},
                               {"ends", word_for(wave_boundary_choices(), wave.boundary)},
                               {"nodes", fmt::format("{} of spacing {}", wave.grid.nodes(), wave.grid.spacing)},
                               {"steps", report::count(found.steps)}},
                     .grid = wave.grid,
                     .times = found.times,
                     .states = {found.states.begin(), found.states.end()},
                     .nodes_in_use = found.nodes_in_use})
      .write(command.report);
}

template <class Scalar>
answer answer_of(const wave_command& command, const rd::problem& wave, const rd::result<Scalar>& found,
                 std::size_t threads, scalar scalar) {
  const std::optional<double> speed = rd::wave_speed(found, wave.grid);
  const double per_step = found.steps_here == 0 ? 0 : found.seconds / static_cast<double>(found.steps_here);
  const std::string scheme = word_for(scheme_choices(), command.options.scheme);
  const bool is_implicit =
      command.options.scheme != rd::scheme::explicit_steps && command.options.scheme != rd::scheme::adaptive;
  named_values counts = {{"steps", found.steps}};
  named_values plane;
  if (wave.grid.rows > 1) plane = {{"rows", wave.grid.rows}, {"columns", wave.grid.columns}};
  if (wave.coupling) plane.emplace_back("coupling", *wave.coupling);
  if (wave.has_noise()) {
    counts.emplace_back("noise", wave.noise.strength);
    counts.emplace_back("noise_kind", word_for(noise_choices(), wave.noise.kind));
    counts.emplace_back("seed", wave.noise.seed);
  }
  if (command.options.scheme == rd::scheme::adaptive) {
    counts.emplace_back("differences", word_for(differences_choices(), command.options.adaptive.differences));
    counts.emplace_back("mean_nodes", found.mean_nodes);
  }
  if (is_implicit) {
    counts.emplace_back("newton_iterations", found.newton_iterations);
    counts.emplace_back("refused_steps", found.refused_steps);
  }
  return {.values = joined({{{"preset", word_for(wave_preset_choices(), command.preset)},
                             {"scheme", scheme},
                             {"order", command.options.order},
                             {"nodes", wave.grid.nodes()}},
                            plane,
                            {{"spacing", wave.grid.spacing},
                             {"a", wave.parameters.a},
                             {"gamma", wave.parameters.gamma},
                             {"epsilon", wave.parameters.epsilon},
                             {"boundary", word_for(wave_boundary_choices(), wave.boundary)},
                             {"times", found.times}},
                            counts,
                            {{"wave_speed", speed ? json(*speed) : json(nullptr)}},
                            given_values({{"output", command.output},
                                          {"report", command.report},
                                          {"checkpoint", command.options.checkpoint}}),
                            {{"seconds", found.seconds}, {"seconds_per_step", per_step}},
                            machine_values(command.run, threads, scalar, "")}),
          .paragraphs = {
              lines({{"wave", fmt::format("{} on {} of spacing {}", word_for(wave_preset_choices(), command.preset),
                                          counted(wave.grid.nodes(), "node"), wave.grid.spacing)},
                     {"scheme", fmt::format("{}, {} to time {} in {}", scheme, counted(found.steps, "step"),
                                            found.times.back(), duration_text(found.seconds))},
                     {"front", speed ? fmt::format("moves by {:.5g} of x in a unit of time", *speed) : std::string()},
                     {"states", command.output.empty()
                                    ? std::string()
                                    : fmt::format("{}: {}", command.output, counted(found.times.size(), "time"))}})}};
}

template <class Scalar>
void run(const wave_command& command, const rd::problem& wave, const rd::initial_state& begin, scalar scalar) {
  rd::options how = command.options;
  how.threads = resolved_threads(command.run);
  how.device = command.run.device;
  progress_line line(!command.run.quiet);
  const control control{[&](const progress& now) { line(now); }, interruptions().token()};
  const rd::result<Scalar> found =
      with_resume_hint(how.checkpoint, [&] { return rd::solve<Scalar>(wave, begin, how, {}, control); });
  line.wipe();
  if (!command.output.empty()) write_states(command.output, found, wave.grid);
  if (!command.report.empty()) write_report(command, wave, found);
  give(answer_of(command, wave, found, how.threads, scalar), command.run);
}

void run(const wave_command& given) {
  wave_command command = given;
  check_outputs(
      {{"--output", command.output}, {"--report", command.report}, {"--checkpoint", command.options.checkpoint}});
  if (command.time && !command.options.times.empty()) {
    throw bad_argument("--time and --times both say when to end; give one of them");
  }
  if (command.rows.has_value() != command.columns.has_value()) {
    throw bad_argument("--rows and --columns say the size of the plane together; give both, or --nodes for an axon");
  }
  const wave_preset preset = wave_preset_of(command.preset);
  if (preset.in_plane) {
    command.grid.rows = 200;
    command.grid.columns = 200;
  }
  if (command.rows) command.grid = {*command.rows, *command.columns, command.grid.spacing};
  rd::problem wave{.parameters = preset.parameters,
                   .grid = command.grid,
                   .boundary = command.boundary.value_or(preset.boundary),
                   .input_level = command.input_level,
                   .input_period = command.input_period,
                   .fields = {},
                   .noise = command.noise,
                   .coupling = command.coupling};
  wave.parameters.a = command.a.value_or(wave.parameters.a);
  wave.parameters.gamma = command.gamma.value_or(wave.parameters.gamma);
  wave.parameters.epsilon = command.epsilon.value_or(wave.parameters.epsilon);
  if (command.options.times.empty()) command.options.times = {0, command.time.value_or(preset.time)};
  const rd::initial_state begin = preset.begin(wave);
  const scalar scalar = command.scalar.value_or(shoal::scalar::float64);
  with_scalar(scalar, [&]<class Scalar>(Scalar) { run<Scalar>(command, wave, begin, scalar); });
}

void add_some_number(CLI::App& app, const std::string& name, std::optional<double>& value, const std::string& help,
                     double least) {
  add_option(app, name, "X", help, "that of the preset",
             [&value, name, least](const std::string& text) { value = parse_number(name, text, least); });
}

void add_some_count(CLI::App& app, const std::string& name, std::optional<std::size_t>& value,
                    const std::string& help) {
  add_option(app, name, "N", help, "", [&value, name](const std::string& text) { value = parse_count(name, text, 2); });
}

}  // namespace

void add_wave_run(CLI::App& noun, verb& selected) {
  const auto command = std::make_shared<wave_command>();
  CLI::App& app = *add_verb(noun, "run", "Compute a wave on an axon or in the plane", run_examples, selected,
                            [command] { run(*command); });
  rd::options& how = command->options;
  add_choice(app, "--preset", command->preset, wave_preset_choices(), "Equations, ends, beginning and duration",
             "impulse");
  add_choice(app, "--scheme", how.scheme, scheme_choices(), "How time is discretised", "explicit");
  add_count(app, "--nodes", command->grid.columns, "N", "Nodes of the axon");
  add_some_count(app, "--rows", command->rows, "Rows of nodes in the plane, with --columns");
  add_some_count(app, "--columns", command->columns, "Nodes of a row of the plane");
  add_number(app, "--spacing", command->grid.spacing, "Distance of two nodes", 0, true);
  add_count(app, "--order", how.order, "N", "Of the differences in space: 2, or 4 with explicit (Runge-Kutta steps)",
            2);
  add_number(app, "--step", how.step, "Longest time step; fixes the step", 0, true,
             "0.9 of the bound (explicit, adaptive), 0.1 (crank-nicolson, pieces), half of spacing^2 (source-2016), by "
             "--tolerance (tr-bdf2)");
  add_number(app, "--tolerance", how.tolerance, "With tr-bdf2 and no --step: error of one step", 0, true);
  add_choice(app, "--differences", how.adaptive.differences, differences_choices(),
             "With adaptive: second derivatives on uneven nodes", "three-point");
  add_count(app, "--piece-nodes", how.piece_nodes, "N", "With pieces: nodes from one explicit node to the next", 3);
  add_number(app, "--newton-accuracy", how.newton_accuracy, "What Newton's method may leave of an error", 0, true,
             "1e-12, or 1e-6 in float32");
  add_some_number(app, "--time", command->time, "When to end", 0);
  add_option(app, "--times", "T,...", "Times of the states that are kept, ascending", "0 and the end",
             [&how](const std::string& text) { how.times = parse_times(text); });
  add_some_number(app, "--a", command->a, "a, the threshold of excitation", -1000);
  add_some_number(app, "--gamma", command->gamma, "gamma, how fast the recovery decays", 0);
  add_some_number(app, "--epsilon", command->epsilon, "epsilon, how slow the recovery is", 0);
  add_choice(app, "--boundary", command->boundary, wave_boundary_choices(), "What holds at the ends",
             "that of the preset");
  add_number(app, "--input-level", command->input_level, "v where there is input, at most", -1000);
  add_number(app, "--input-period", command->input_period, "Time between two inputs of periodic-input", 0, true);
  add_number(app, "--noise", command->noise.strength,
             "Strength of white noise in space and time, with explicit or crank-nicolson", 0, false, "0: none");
  add_choice(app, "--noise-kind", command->noise.kind, noise_choices(), "Of noise: as it is, or times v", "additive");
  add_count(app, "--seed", command->noise.seed, "N", "Seed of the noise");
  add_option(app, "--coupling", "X", "Rows are axons; each pulls so strongly at v of the next", "the rows are a plane",
             [command](const std::string& text) { command->coupling = parse_number("--coupling", text, 0); });
  add_scalar_option(app, command->scalar, "float64");
  add_file(app, "--checkpoint", how.checkpoint, "FILE",
           "Save the state here now and then; the same command again goes on from it");
  add_number(app, "--checkpoint-seconds", how.checkpoint_seconds, "Least seconds between two checkpoints", 0);
  add_output(app, "--output", command->output, "STATES.npy",
             "Write the states, [times][2][nodes] or [times][2][rows][columns]");
  add_output(app, "--report", command->report, "OUT.html", "Write a page with pictures of the states that are kept");
  command->run.device_word = "cpu";
  add_option(app, "--device", "NAME", "Where to run: cpu; cuda (the first GPU), cuda:1, cuda:0,1, cuda:all", "cpu",
             [run = &command->run](const std::string& text) {
               run->device = parse_device(text);
               run->device_word = text;
             },
             presence::optional, {"cpu", "cuda"});
  add_run_options(app, command->run, false);
}

}  // namespace shoal::app
