// shoal assign experiment
#include "assign/experiment.hpp"

#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <shoal/assignment/assignment.hpp>
#include <shoal/core/error.hpp>
#include <shoal/io/whole_file.hpp>
#include <shoal/random/stream.hpp>

#include "assign/timings.hpp"
#include "common/answer.hpp"
#include "common/words.hpp"
#include "report/assign/experiment_page.hpp"

namespace shoal::app {
namespace {

constexpr const char* experiment_examples = R"(Examples:
  shoal assign experiment --report experiment.html
  shoal assign experiment --sizes 10,100,400 --repeats 30 --output experiment.json

Costs are standard exponential. Each factor is a cost over the expected least one, the sum of 1/k^2; theory expects
H_n / sum 1/k^2 of greedy, n / sum 1/k^2 of random, and 1 of exact methods. Times far from their median are left out.)";

struct experiment_command {
  std::vector<std::size_t> sizes = {10, 20, 40, 80, 160, 320};
  std::uint64_t repeats = 120;
  std::uint64_t seed = 0;
  bool quick = false;
  std::string output;
  std::string report;
  run_options run;
};

enum class kind { exact, greedy, random };

struct tried_method {
  assignment::method method;
  app::kind kind;
  std::size_t most;  ///< rows
};

// The last size is where one matrix takes about a tenth of a second.
constexpr tried_method methods[] = {{assignment::method::brute_force, kind::exact, 9},
                                    {assignment::method::random, kind::random, 100000},
                                    {assignment::method::greedy_naive, kind::greedy, 320},
                                    {assignment::method::greedy, kind::greedy, 2000},
                                    {assignment::method::hungarian, kind::exact, 640},
                                    {assignment::method::shortest_augmenting_paths, kind::exact, 10000},
                                    {assignment::method::auction, kind::exact, 1000}};

double harmonic(std::size_t n, int power) {
  double sum = 0;
  for (std::size_t k = n; k > 0; --k) sum += std::pow(static_cast<double>(k), -power);
  return sum;
}

double expected_factor(kind kind, std::size_t n) {
  const double least = harmonic(n, 2);
  return kind == kind::exact ? 1 : kind == kind::greedy ? harmonic(n, 1) / least : static_cast<double>(n) / least;
}

// The costs of one size, and what each method makes of them.
void measure(const experiment_command& command, std::size_t n, std::vector<report::method_points>& found) {
  const double least = harmonic(n, 2);
  std::vector<std::vector<double>> factors(std::size(methods)), seconds(std::size(methods));
  std::vector<double> costs(n * n);
  for (std::size_t repeat = 0; repeat < command.repeats; ++repeat) {
    random::stream uniforms(command.seed + n, repeat);
    for (double& cost : costs) cost = -std::log(uniforms.uniform());
    for (std::size_t m = 0; m < std::size(methods); ++m) {
      if (n > methods[m].most) continue;
      const auto begin = std::chrono::steady_clock::now();
      const assignment::solution one = assignment::solve(matrix_view<const double>(costs.data(), n, n),
                                                         {.method = methods[m].method, .seed = repeat, .threads = 1});
      seconds[m].push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
      factors[m].push_back(one.cost / least);
    }
  }
  for (std::size_t m = 0; m < std::size(methods); ++m) {
    if (factors[m].empty()) continue;
    const estimate factor = estimate_of(factors[m]);
    const estimate time = estimate_of(without_outliers(seconds[m]));
    report::method_points& points = found[m];
    points.sizes.push_back(static_cast<double>(n));
    points.factors.push_back(factor.mean);
    points.factor_errors.push_back(factor.error);
    points.expected.push_back(expected_factor(methods[m].kind, n));
    points.seconds.push_back(time.mean);
    points.second_errors.push_back(time.error);
  }
}

std::vector<report::method_points> measure_all(const experiment_command& command) {
  std::vector<report::method_points> found(std::size(methods));
  for (std::size_t m = 0; m < std::size(methods); ++m) found[m].name = assignment::method_name(methods[m].method);
  for (const std::size_t n : command.sizes) measure(command, n, found);
  std::erase_if(found, [](const report::method_points& points) { return points.sizes.empty(); });
  for (report::method_points& points : found) {
    for (std::size_t i = 0; i < points.sizes.size(); ++i) {
      points.mean_squared_error +=
          std::pow(points.factors[i] - points.expected[i], 2) / static_cast<double>(points.sizes.size());
    }
    const power_law law = fit_power(points.sizes, points.seconds);
    points.exponent = law.exponent;
    points.constant = law.constant;
  }
  return found;
}

json values_of(const report::method_points& points) {
  return object_of({{"method", points.name},
                    {"sizes", points.sizes},
                    {"factors", points.factors},
                    {"factor_standard_errors", points.factor_errors},
                    {"expected_factors", points.expected},
                    {"mean_squared_error", points.mean_squared_error},
                    {"seconds", points.seconds},
                    {"seconds_standard_errors", points.second_errors},
                    {"exponent", points.exponent},
                    {"constant", points.constant}});
}

void run(experiment_command command) {
  if (command.quick) {
    command.sizes = {4, 8, 16};
    command.repeats = std::min<std::uint64_t>(command.repeats, 20);
  }
  check_outputs({{"--output", command.output}, {"--report", command.report}});
  for (const std::size_t n : command.sizes) {
    if (n == 0) throw bad_argument("--sizes: a size is at least 1; got 0");
  }
  const std::vector<report::method_points> found = measure_all(command);
  json all = json::array();
  std::vector<std::vector<std::string>> shown = {
      {"method", "n", "factor", "±", "theory", "squared error", "seconds", "exponent"}};
  for (const report::method_points& points : found) {
    all.push_back(values_of(points));
    shown.push_back({points.name, fmt::format("{}", points.sizes.back()), fmt::format("{:.4g}", points.factors.back()),
                     fmt::format("{:.2g}", points.factor_errors.back()), fmt::format("{:.4g}", points.expected.back()),
                     fmt::format("{:.2g}", points.mean_squared_error), fmt::format("{:.2e}", points.seconds.back()),
                     std::isfinite(points.exponent) ? fmt::format("{:.2f}", points.exponent) : "-"});
  }
  const named_values values = {{"costs", "standard exponential"},
                               {"repeats", command.repeats},
                               {"seed", command.seed},
                               {"sizes", command.sizes},
                               {"methods", all}};
  if (!command.output.empty()) write_file_atomically(command.output, json_text(object_of(values)) + "\n");
  if (!command.report.empty()) {
    report::experiment_page({.title = "Experiment",
                             .facts = {{"costs", "standard exponential"},
                                       {"matrices for each n", report::count(command.repeats)},
                                       {"seed", std::to_string(command.seed)}},
                             .methods = found})
        .write(command.report);
  }
  give({.values = joined({values, given_values({{"output", command.output}, {"report", command.report}})}),
        .paragraphs = {app::table(shown), lines({{"written", command.output}, {"report", command.report}})}},
       command.run);
}

}  // namespace

void add_assign_experiment(CLI::App& assign, verb& selected) {
  const auto command = std::make_shared<experiment_command>();
  CLI::App& app = *add_verb(assign, "experiment", "Each method's cost against theory, and its run time, by size",
                            experiment_examples, selected, [command] { run(*command); });
  add_option(app, "--sizes", "LIST", "Rows and columns of the matrices: 10,20,40", "10,20,40,80,160,320",
             [command](const std::string& text) { command->sizes = parse_counts("--sizes", text); });
  add_count(app, "--repeats", command->repeats, "R", "Matrices for each size", 2);
  add_count(app, "--seed", command->seed, "S", "Seed of the costs");
  add_flag(app, "--quick", command->quick, "Sizes 4, 8 and 16, and at most 20 matrices for each");
  add_output(app, "--output", command->output, "FILE.json", "Write all numbers");
  add_output(app, "--report", command->report, "FILE.html", "Write a page with the figures");
  add_run_options(app, command->run, false);
}

}  // namespace shoal::app
