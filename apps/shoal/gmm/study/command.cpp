// shoal gmm study
#include <chrono>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include <shoal/io/io.hpp>

#include "common/device.hpp"
#include "common/interruption.hpp"
#include "common/progress_line.hpp"
#include "gmm/study/study.hpp"
#include "gmm/verbs.hpp"

namespace shoal::app {
namespace {

constexpr const char* study_examples = R"(Examples:
  shoal gmm study --quick --report study.html
  shoal gmm study --data-folder data --output study.json --report study.html
  shoal gmm study --parts speed --device cuda:all --json

Measures EM algorithms as Altinigneli, Plant & Boehm (KDD 2013) did, and says where the figures differ from theirs. Parts:
overlap (convergence order, passes, log-likelihood and modelling error for several degrees of overlap), speed (an
iteration, and the time to come near the end), data (Shuttle and Covertype, which are read from files). On a GPU runs
what runs there, in the parts on speed and data; everything else is measured on the host.)";

enum class study_part { overlap, speed, data };

const choices<study_part>& part_choices() {
  static const choices<study_part> known = {
      {"overlap", study_part::overlap}, {"speed", study_part::speed}, {"data", study_part::data}};
  return known;
}

struct study_command {
  std::vector<study_part> parts{study_part::overlap, study_part::speed, study_part::data};
  std::vector<std::string> algorithms;  ///< empty: all
  bool quick = false;
  std::uint64_t starts = 0;
  std::uint64_t seed = 0;
  std::string shuttle;
  std::string covertype;
  std::string data_folder;
  std::string output;
  std::string report;
  run_options run;
};

std::vector<study_algorithm> chosen_algorithms(const std::vector<std::string>& names) {
  const std::vector<study_algorithm>& known = study_algorithms();
  if (names.empty()) return known;
  choices<std::size_t> places;
  for (std::size_t a = 0; a < known.size(); ++a) places.emplace_back(known[a].name, a);
  std::vector<bool> wanted(known.size(), false);
  for (const std::string& name : names) wanted[choose("--algorithms", name, places)] = true;
  wanted[0] = true;  // what the others are compared with
  std::vector<study_algorithm> chosen;
  for (std::size_t a = 0; a < known.size(); ++a) {
    if (wanted[a]) chosen.push_back(known[a]);
  }
  return chosen;
}

// A file that was named, or the one of that name in the folder, or nothing where neither is there.
std::string data_file(const std::string& named, const std::string& folder, const char* name) {
  if (!named.empty() || folder.empty()) return named;
  const std::string path = (std::filesystem::path(folder) / name).string();
  return is_file(path) ? path : std::string();
}

void study_files(const study_command& command, const study_setting& setting, study_result& study) {
  const auto one = [&](const char* name, const std::string& file, const char* option, const char* label_column,
                       std::size_t starts) {
    if (file.empty()) {
      study.skipped.push_back(
          fmt::format("{} was left out: name its file with {}, or its folder with --data-folder.", name, option));
      return;
    }
    study.data.push_back(study_data(setting, name, file, label_column, starts));
  };
  one("Shuttle", data_file(command.shuttle, command.data_folder, "shuttle.csv.gz"), "--shuttle", "class", 100);
  one("Covertype", data_file(command.covertype, command.data_folder, "covertype10.npy"), "--covertype", "", 25);
}

answer answer_of(const study_command& command, const study_setting& setting, const study_result& study,
                 double seconds) {
  return {.values =
              joined({{{"format", "shoal/gmm-study"}, {"version", 1}, {"quick", command.quick}, {"seed", command.seed}},
                      study_values(study),
                      {{"seconds", seconds},
                       {"threads", setting.threads},
                       {"device", device_name(setting.device)},
                       {"program", "shoal " SHOAL_VERSION}}}),
          .paragraphs = study_paragraphs(study)};
}

void run(const study_command& command) {
  check_outputs({{"--output", command.output}, {"--report", command.report}},
                {{"--shuttle", command.shuttle}, {"--covertype", command.covertype}});
  if (!command.data_folder.empty() && !std::filesystem::is_directory(command.data_folder)) {
    throw io_error(fmt::format("--data-folder: the folder '{}' does not exist", command.data_folder));
  }
  const auto begin = std::chrono::steady_clock::now();
  const std::stop_token stop = interruptions().token();
  progress_line line(!command.run.quiet);
  const control control{{}, stop};
  study_setting setting;
  setting.algorithms = chosen_algorithms(command.algorithms);
  setting.quick = command.quick;
  setting.starts = command.starts;
  setting.seed = command.seed;
  setting.threads = resolved_threads(command.run);
  setting.device = command.run.device;
  if (command.run.device_word == "auto") setting.device.cuda = choose_device("auto").cuda;
  setting.control = &control;
  setting.announce = [&](const std::string& doing) { line({doing, 0, 0, 0}); };

  study_result study;
  for (const study_part part : command.parts) {
    if (part == study_part::overlap) study.overlap = study_overlap(setting);
    if (part == study_part::speed) study.speed = study_speed(setting);
    if (part == study_part::data) study_files(command, setting, study);
  }
  line.wipe();

  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  answer done = answer_of(command, setting, study, seconds);
  // The answer names the files; a file that names itself would be wrong as soon as it is moved.
  if (!command.output.empty()) write_file_atomically(command.output, object_of(done.values).dump(1) + "\n");
  done.values = joined({done.values, given_values({{"output", command.output}, {"report", command.report}})});
  if (!command.report.empty()) {
    write_study_report(study,
                       {{"sizes", command.quick ? "quick: too small to conclude from" : "full"},
                        {"seed", fmt::to_string(command.seed)},
                        {"threads", fmt::to_string(setting.threads)},
                        {"device of speed and data", device_name(setting.device)},
                        {"time", duration_text(seconds)}},
                       command.report);
  }
  give(done, command.run);
}

}  // namespace

void add_gmm_study(CLI::App& noun, verb& selected) {
  const auto command = std::make_shared<study_command>();
  CLI::App& app = *add_verb(noun, "study", "Compare EM algorithms: convergence, time, real data", study_examples,
                            selected, [command] { run(*command); });
  add_option(app, "--parts", "LIST", fmt::format("Parts to run: {}", fmt::join(words_of(part_choices()), ", ")), "all",
             [command](const std::string& text) {
               command->parts.clear();
               for (const std::string& word : parse_names("--parts", text)) {
                 command->parts.push_back(choose("--parts", word, part_choices()));
               }
             });
  std::vector<std::string> names;
  for (const study_algorithm& algorithm : study_algorithms()) names.push_back(algorithm.name);
  add_option(app, "--algorithms", "LIST",
             fmt::format("Algorithms to compare; batch is always there: {}", fmt::join(names, ", ")), "all",
             [command](const std::string& text) { command->algorithms = parse_names("--algorithms", text); });
  add_flag(app, "--quick", command->quick, "Sizes that end in seconds, to try the command");
  add_option(app, "--starts", "N", "Most starts of each mixture and each data set", "25, 9, 100 and 25",
             [command](const std::string& text) { command->starts = parse_count("--starts", text, 1); });
  add_count(app, "--seed", command->seed, "N", "Seed of every mixture, row and start");
  add_file(app, "--shuttle", command->shuttle, "FILE", "Statlog (Shuttle) with its column class");
  add_file(app, "--covertype", command->covertype, "FILE", "The numerical columns of Covertype");
  add_file(app, "--data-folder", command->data_folder, "FOLDER", "Where shuttle.csv.gz and covertype10.npy are");
  add_output(app, "--output", command->output, "OUT.json", "Write all figures");
  add_output(app, "--report", command->report, "OUT.html", "Write a page with pictures");
  add_device_options(app, command->run, false);
  add_run_options(app, command->run, false);
}

}  // namespace shoal::app
