// shoal assign
#include "assign/noun.hpp"

#include <chrono>
#include <memory>
#include <string>

#include <fmt/format.h>

#include <shoal/assignment/assignment.hpp>
#include <shoal/core/error.hpp>
#include <shoal/execution/device_choice.hpp>
#include <shoal/io/whole_file.hpp>

#include "assign/compare.hpp"
#include "assign/costs.hpp"
#include "assign/experiment.hpp"
#include "assign/pairs_text.hpp"
#include "assign/steps.hpp"
#include "common/answer.hpp"

namespace shoal::app {
namespace {

constexpr const char* assign_examples = R"(Examples:
  shoal assign costs.csv --output pairs.csv
  shoal assign costs.npy --method auction --maximize --json
  shoal assign costs.csv --method hungarian --steps steps.html
  shoal assign costs.npy --method auction --device cuda
  shoal assign compare --base auto --test greedy --size 50 --repeats 120
  shoal assign experiment --report experiment.html

An infinite cost forbids a pair. When no assignment is left, the rows that conflict are told, and the exit status is 1.)";

const choices<costs_format> input_formats = {{"matrix", costs_format::matrix}, {"table", costs_format::table}};
const choices<pairs_format> output_formats = {{"list", pairs_format::list},
                                              {"matrix", pairs_format::matrix},
                                              {"table", pairs_format::table},
                                              {"latex", pairs_format::latex}};

struct assign_command {
  std::string path;
  costs_format input = costs_format::matrix;
  assignment::options options;
  std::string output;
  pairs_format format = pairs_format::list;
  std::string steps;
  run_options run;
  verb below;  ///< the verb below this one, where one was named
};

std::string listed(const std::vector<std::size_t>& places) {
  std::vector<std::string> words;
  for (const std::size_t place : places) words.push_back(std::to_string(place));
  return words.empty() ? "none" : enumeration(words, 20);
}

void run(const assign_command& command) {
  if (command.path.empty())
    throw bad_argument("COST is missing: a file of costs, or - for standard input\n'shoal assign --help' tells more");
  const bool latex = command.steps.ends_with(".tex");
  if (!command.steps.empty() && !latex && !command.steps.ends_with(".html")) {
    throw bad_argument(fmt::format("--steps: '{}' must end in .html or .tex, which says the format", command.steps));
  }
  check_outputs({{"--output", command.output}, {"--steps", command.steps}}, {{"COST", command.path}});
  const cost_matrix costs = read_costs(command.path, command.input);
  const auto begin = std::chrono::steady_clock::now();
  const assignment::solution found = assignment::solve(costs.view(), command.options);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  named_values values = {{"feasible", found.feasible},
                         {"cost", found.cost},
                         {"seconds", seconds.count()},
                         {"rows", costs.rows},
                         {"columns", costs.columns},
                         {"certified", found.certified},
                         {"method", std::string(assignment::method_name(command.options.method))}};
  if (!found.feasible) {
    values.emplace_back("conflicting_rows", found.conflicting_rows);
    values.emplace_back("conflicting_columns", found.conflicting_columns);
    if (command.run.json) give({.values = values, .paragraphs = {}}, command.run);
    throw bad_data(fmt::format(
        "{}: every assignment needs a forbidden pair: the rows {} and the columns {} have too few allowed pairs "
        "between them and the others",
        command.path, listed(found.conflicting_rows), listed(found.conflicting_columns)));
  }
  if (!command.steps.empty()) write_file_atomically(command.steps, steps_of(costs, command.options, latex));
  const std::string text = text_of(costs, found, command.format);
  if (!command.output.empty()) write_file_atomically(command.output, text);
  const named_values files = given_values({{"output", command.output}, {"steps", command.steps}});
  give({.values = joined({values,
                          {{"column_of_row",
                            [&] {
                              json pairs = json::array();
                              for (const std::size_t j : found.column_of_row) {
                                pairs.push_back(j == assignment::unassigned ? json() : json(j));
                              }
                              return pairs;
                            }()}},
                          files}),
        .paragraphs = {command.output.empty() ? text : std::string(),
                       lines({{"cost", fmt::format("{}", found.cost)},
                              {"certified", found.certified ? "yes" : "no"},
                              {"method", std::string(assignment::method_name(command.options.method))},
                              {"seconds", fmt::format("{:.3g}", seconds.count())},
                              {"written", command.output}})}},
       command.run);
}

void declare(CLI::App& program, verb& selected) {
  const auto command = std::make_shared<assign_command>();
  CLI::App& app = *add_verb(
      program, "assign", "Which column each row takes at least cost; compare, experiment: methods on random costs",
      assign_examples, selected, [command] { command->below ? command->below() : run(*command); });
  add_file(app, "COST", command->path, "", "Costs: .npy, .csv, or - for standard input");
  add_choice(app, "--input-format", command->input, input_formats, "What COST holds", "matrix");
  add_option(app, "--method", "NAME",
             "How: auto, shortest-augmenting-paths, hungarian, auction, brute-force, random, greedy-naive, greedy, "
             "greedy-paths",
             "auto", [command](const std::string& text) { command->options.method = assignment::method_named(text); });
  add_flag(app, "--maximize", command->options.maximise, "Seek the greatest sum");
  add_number(app, "--price", command->options.price, "What a row costs that stays single",
             -std::numeric_limits<double>::max(), false, "none: none may");
  add_count(app, "--seed", command->options.seed, "S", "Seed of --method random");
  add_file(app, "--output", command->output, "FILE", "Write the pairs");
  add_choice(app, "--output-format", command->format, output_formats, "How pairs are written", "list");
  add_file(app, "--steps", command->steps, "FILE", "Write the steps of --method hungarian or greedy: .html or .tex");
  add_option(app, "--device", "NAME", "Where --method auction finds its prices: cpu, cuda, cuda:1", "cpu",
             [command](const std::string& text) { command->options.device = choose_device(text); });
  add_run_options(app, command->run, false);
  add_assign_compare(app, command->below);
  add_assign_experiment(app, command->below);
}

}  // namespace

noun assign_noun() { return {.name = "assign", .title = {}, .example = {}, .verbs = {}, .alone = declare}; }

}  // namespace shoal::app
