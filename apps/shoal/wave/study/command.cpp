// shoal wave study
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include <shoal/io/whole_file.hpp>

#include "common/answer.hpp"
#include "common/device.hpp"
#include "common/interruption.hpp"
#include "common/progress_line.hpp"
#include "wave/study/study.hpp"
#include "wave/verbs.hpp"

namespace shoal::app {
namespace {

namespace ws = wave_study;

constexpr const char* study_examples = R"(Examples:
  shoal wave study --quick --report study.html
  shoal wave study --output study.json --report study.html
  shoal wave study --figures 9,11,12 --json

Runs the 14 figures of the article that these waves come from again: waves, errors against spacing and step with fitted
orders, stability, Newton's method, times of steps and of solvers. Puts the article's numbers beside those measured
here, and says what its puzzles were.)";

struct study_command {
  std::vector<int> figures;  ///< empty: all
  bool quick = false;
  std::string output;
  std::string report;
  run_options run;
};

struct part {
  std::vector<int> figures;
  const char* name;
  void (*add)(const ws::setting&, std::vector<ws::figure>&);
};

const std::vector<part>& parts() {
  static const std::vector<part> known = {{{1, 2, 3, 4}, "explicit steps", ws::add_explicit_figures},
                                          {{5, 6}, "times of explicit steps", ws::add_explicit_times},
                                          {{7, 8}, "adaptive steps", ws::add_adaptive_figures},
                                          {{9, 10}, "errors of implicit steps", ws::add_implicit_errors},
                                          {{11, 12}, "stability and Newton's method", ws::add_implicit_newton},
                                          {{13, 14}, "times of implicit steps", ws::add_implicit_times}};
  return known;
}

json json_of(const ws::figure& of) {
  json curves = json::array(), values = json::array();
  for (const ws::curve& line : of.curves) {
    curves.push_back({{"name", line.name}, {"of_source", line.of_source}, {"x", line.x}, {"y", line.y}});
  }
  for (const ws::value& one : of.values) {
    values.push_back({{"name", one.name}, {"measured", one.measured}, {"source", one.source}});
  }
  return {{"figure", of.number}, {"title", of.title}, {"x", of.x_label}, {"y", of.y_label},
          {"curves", curves},    {"values", values},  {"note", of.note}};
}

answer answer_of(const study_command& command, const std::vector<ws::figure>& figures, std::size_t threads,
                 double seconds) {
  json all = json::array();
  std::vector<std::string> paragraphs;
  for (const ws::figure& of : figures) {
    all.push_back(json_of(of));
    std::vector<std::vector<std::string>> rows = {{fmt::format("Figure {}", of.number), "here", "article"}};
    for (const ws::value& one : of.values) {
      rows.push_back({one.name, std::isfinite(one.measured) ? fmt::format("{:.4g}", one.measured) : "-",
                      one.source.empty() ? "-" : one.source});
    }
    paragraphs.push_back(of.title + "\n" + table(rows) + of.note + "\n");
  }
  return {.values = {{"format", "shoal/wave-study"},
                     {"version", 1},
                     {"quick", command.quick},
                     {"figures", all},
                     {"seconds", seconds},
                     {"threads", threads},
                     {"program", "shoal " SHOAL_VERSION}},
          .paragraphs = paragraphs};
}

bool wanted(const study_command& command, const std::vector<int>& figures) {
  return command.figures.empty() || std::any_of(figures.begin(), figures.end(), [&](int number) {
           return std::find(command.figures.begin(), command.figures.end(), number) != command.figures.end();
         });
}

void run(const study_command& command) {
  check_outputs({{"--output", command.output}, {"--report", command.report}});
  const auto begin = std::chrono::steady_clock::now();
  progress_line line(!command.run.quiet);
  const control control{{}, interruptions().token()};
  const ws::setting how{command.quick, resolved_threads(command.run), &control};
  std::vector<ws::figure> figures;
  for (const part& one : parts()) {
    if (!wanted(command, one.figures)) continue;
    line({one.name, 0, 0, 0});
    one.add(how, figures);
  }
  std::erase_if(figures, [&](const ws::figure& of) { return !wanted(command, {of.number}); });
  line.wipe();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  answer done = answer_of(command, figures, how.threads, seconds);
  if (!command.output.empty()) write_file_atomically(command.output, object_of(done.values).dump(1) + "\n");
  done.values = joined({done.values, given_values({{"output", command.output}, {"report", command.report}})});
  if (!command.report.empty()) {
    ws::write_report(figures,
                     {{"sizes", command.quick ? "quick: too small to conclude from" : "full"},
                      {"threads", fmt::to_string(how.threads)},
                      {"time", duration_text(seconds)}},
                     command.report);
  }
  give(done, command.run);
}

}  // namespace

void add_wave_study(CLI::App& noun, verb& selected) {
  const auto command = std::make_shared<study_command>();
  CLI::App& app = *add_verb(noun, "study", "Run the figures of the waves' article again", study_examples, selected,
                            [command] { run(*command); });
  add_option(app, "--figures", "N,...", "Figures to run, from 1 to 14", "all", [command](const std::string& text) {
    for (const std::string& word : parse_names("--figures", text)) {
      const std::uint64_t number = parse_count("--figures", word, 1);
      if (number > 14) throw bad_argument(fmt::format("--figures: there are 14; got {}", number));
      command->figures.push_back(static_cast<int>(number));
    }
  });
  add_flag(app, "--quick", command->quick, "Sizes that end in seconds, to try the command");
  add_output(app, "--output", command->output, "OUT.json", "Write all figures");
  add_output(app, "--report", command->report, "OUT.html", "Write a page with pictures");
  add_run_options(app, command->run, false);
}

}  // namespace shoal::app
