// shoal assign compare
#include "assign/compare.hpp"

#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <shoal/assignment/assignment.hpp>
#include <shoal/core/error.hpp>
#include <shoal/random/stream.hpp>

#include "common/answer.hpp"

namespace shoal::app {
namespace {

constexpr const char* compare_examples = R"(Examples:
  shoal assign compare --base auto --test greedy --size 50 --repeats 120

Costs are standard exponential. The factor is the mean cost of --test over that of --base.)";

struct compare_command {
  assignment::options base;
  assignment::options test{.method = assignment::method::greedy};
  std::size_t size = 50;
  std::size_t repeats = 120;
  std::uint64_t seed = 0;
  run_options run;
};

struct measured {
  double sum = 0;
  double squares = 0;
  double seconds = 0;

  void add(double cost, double time) {
    sum += cost;
    squares += cost * cost;
    seconds += time;
  }
  double mean(std::size_t count) const { return sum / static_cast<double>(count); }
  double error(std::size_t count) const {
    const double n = static_cast<double>(count);
    return count < 2 ? 0 : std::sqrt(std::max(0.0, squares / n - mean(count) * mean(count)) / (n - 1));
  }
};

double solve_in(const std::vector<double>& costs, std::size_t size, assignment::options options, std::uint64_t seed,
                measured& out) {
  options.seed = seed;
  const auto begin = std::chrono::steady_clock::now();
  const assignment::solution found = assignment::solve(matrix_view<const double>(costs.data(), size, size), options);
  out.add(found.cost, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return found.cost;
}

named_values values_of(const assignment::options& options, const measured& one, std::size_t repeats) {
  return {{"method", std::string(assignment::method_name(options.method))},
          {"mean_cost", one.mean(repeats)},
          {"standard_error", one.error(repeats)},
          {"seconds", one.seconds / static_cast<double>(repeats)}};
}

void run(const compare_command& command) {
  measured base, test;
  std::size_t better = 0, equal = 0;
  std::vector<double> costs(command.size * command.size);
  for (std::size_t repeat = 0; repeat < command.repeats; ++repeat) {
    random::stream uniforms(command.seed, repeat);
    for (double& cost : costs) cost = -std::log(uniforms.uniform());
    const double first = solve_in(costs, command.size, command.base, repeat, base);
    const double second = solve_in(costs, command.size, command.test, repeat, test);
    const double slack = 1e-12 * std::abs(first);
    if (second < first - slack) ++better;
    if (std::abs(second - first) <= slack) ++equal;
  }
  const double factor = test.sum / base.sum;
  const auto row = [&](const char* name, const assignment::options& options, const measured& one) {
    return std::vector<std::string>{name, std::string(assignment::method_name(options.method)),
                                    fmt::format("{:.6g}", one.mean(command.repeats)),
                                    fmt::format("{:.2g}", one.error(command.repeats)),
                                    fmt::format("{:.3g}", one.seconds / static_cast<double>(command.repeats))};
  };
  give({.values = {{"size", command.size},
                   {"repeats", command.repeats},
                   {"seed", command.seed},
                   {"base", object_of(values_of(command.base, base, command.repeats))},
                   {"test", object_of(values_of(command.test, test, command.repeats))},
                   {"factor", factor},
                   {"test_costs_less", better},
                   {"equal", equal}},
        .paragraphs = {table({{"", "method", "mean cost", "±", "seconds"},
                              row("base", command.base, base),
                              row("test", command.test, test)}),
                       lines({{"factor", fmt::format("{:.4g}", factor)},
                              {"equal", fmt::format("{} of {}", equal, command.repeats)}})}},
       command.run);
}

}  // namespace

void add_assign_compare(CLI::App& assign, verb& selected) {
  const auto command = std::make_shared<compare_command>();
  CLI::App& app = *add_verb(assign, "compare", "Hold one method against another on random costs", compare_examples,
                            selected, [command] { run(*command); });
  const auto add_method = [&](const char* name, assignment::options& options, const char* help, const char* shown) {
    add_option(app, name, "NAME", help, shown,
               [&options](const std::string& text) { options.method = assignment::method_named(text); });
  };
  add_method("--base", command->base, "The method that is compared with", "auto");
  add_method("--test", command->test, "The method that is tried", "greedy");
  add_count(app, "--size", command->size, "N", "Rows and columns", 1);
  add_count(app, "--repeats", command->repeats, "R", "Matrices", 1);
  add_count(app, "--seed", command->seed, "S", "Seed of the costs");
  add_run_options(app, command->run, false);
}

}  // namespace shoal::app
