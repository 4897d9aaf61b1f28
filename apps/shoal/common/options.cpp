// Declaring the shared options.
#include "common/options.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <unistd.h>
#include <CLI/CLI.hpp>

#include <shoal/io/file_names.hpp>
#include <shoal/io/output_file.hpp>

#include "common/device.hpp"
#include "common/ranks.hpp"

namespace shoal::app {

namespace fs = std::filesystem;

namespace {

// Endings that make a reader expect a format.
constexpr std::array<std::string_view, 14> known_endings = {".npy",   ".npz",  ".csv",  ".tsv",    ".txt",
                                                            ".gz",    ".json", ".html", ".pdf",    ".fvecs",
                                                            ".bvecs", ".png",  ".svg",  ".parquet"};

bool same_file(const std::string& one, const std::string& other) {
  if (one == other) return true;
  std::error_code code;
  if (fs::equivalent(one, other, code)) return true;
  const fs::path first = fs::weakly_canonical(one, code);
  return !code && first == fs::weakly_canonical(other, code) && !code;
}

// What help lists first, and what belongs together; the rest is of the method. Every option has one name in all verbs.
std::string group_of(const std::string& name) {
  using names = std::vector<std::string_view>;
  static const std::vector<std::pair<std::string, names>> groups = {
      {"Essentials",
       {"--help", "--components", "--clusters", "--width", "--height", "--rows", "--output", "--labels", "--report",
        "--standardize", "--json", "--sponge", "--picture", "--window"}},
      {"Rows and columns", {"--columns", "--label-column", "--weights", "--scalar"}},
      {"Where and how it runs",
       {"--device", "--device-memory", "--precision", "--threads", "--memory-limit", "--checkpoint",
        "--checkpoint-seconds", "--quiet"}}};
  for (const auto& [group, members] : groups) {
    if (std::find(members.begin(), members.end(), name) != members.end()) return group;
  }
  return "Method";
}

// Of the options of this process, which live as long as it does.
std::unordered_map<const CLI::Option*, std::vector<std::string>>& words_by_option() {
  static std::unordered_map<const CLI::Option*, std::vector<std::string>> words;
  return words;
}

}  // namespace

CLI::App* add_verb(CLI::App& noun, const std::string& name, const std::string& description, const std::string& examples,
                   verb& selected, verb run, processes together) {
  CLI::App* const app = noun.add_subcommand(name, description);
  app->footer(examples);
  app->get_help_ptr()->group(group_of("--help"));
  app->callback([&selected, run = std::move(run), together] {
    selected = [run, together] {
      if (together == processes::one && !alone(ranks())) {
        throw bad_argument(fmt::format(
            "this runs as one process; got {}: start it without mpirun or srun, or with -n 1", ranks()->size()));
      }
      run();
    };
  });
  return app;
}

void add_option(CLI::App& app, const std::string& name, const std::string& metavariable, const std::string& help,
                const std::string& shown_default, std::function<void(const std::string&)> read, presence need,
                std::vector<std::string> words) {
  CLI::Option* const option = app.add_option_function<std::string>(name, std::move(read), help);
  option->type_name(metavariable);
  option->default_str(shown_default);
  option->required(need == presence::required);
  if (name.starts_with("-")) option->group(group_of(name));  // places have a part of the help to themselves
  words_by_option()[option] = std::move(words);
}

std::vector<std::string> known_words(const CLI::Option& option) {
  const auto found = words_by_option().find(&option);
  return found == words_by_option().end() ? std::vector<std::string>() : found->second;
}

void add_count(CLI::App& app, const std::string& name, std::uint64_t& value, const std::string& metavariable,
               const std::string& help, std::uint64_t least, presence need) {
  add_option(
      app, name, metavariable, help, need == presence::required ? std::string() : std::to_string(value),
      [&value, name, least](const std::string& text) { value = parse_count(name, text, least); }, need);
}

void add_number(CLI::App& app, const std::string& name, double& value, const std::string& help, double least, bool open,
                const std::string& shown_default) {
  add_option(app, name, "X", help, shown_default.empty() ? fmt::format("{}", value) : shown_default,
             [&value, name, least, open](const std::string& text) { value = parse_number(name, text, least, open); });
}

void add_file(CLI::App& app, const std::string& name, std::string& value, const std::string& metavariable,
              const std::string& help, presence need, std::vector<std::string> words) {
  add_option(
      app, name, metavariable, help, value,
      [&value, name](const std::string& text) {
        if (text.empty()) throw bad_argument(name + ": the name of the file is empty");
        value = text;
      },
      need, std::move(words));
}

void add_two_files(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                   const std::string& metavariable, const std::string& help) {
  CLI::Option* const option = app.add_option(name, values, help)->type_name(metavariable)->expected(2);
  option->group(group_of(name));
  words_by_option()[option] = {};
}

void add_output(CLI::App& app, const std::string& name, std::string& value, const std::string& metavariable,
                const std::string& help, presence need) {
  const std::string written = fs::path(metavariable).extension();
  add_option(
      app, name, metavariable, help, value,
      [&value, name, written](const std::string& text) {
        if (text.empty()) throw bad_argument(name + ": the name of the file is empty");
        if (text == "-") throw bad_argument(name + ": files do not go to standard output; name one");
        const std::string ending = fs::path(text).extension();
        if (ending != written && std::count(known_endings.begin(), known_endings.end(), ending) != 0) {
          throw bad_argument(fmt::format(
              "{}: '{}' ends in {}, but a {} file is written; change the ending{}", name, text, ending, written,
              written == ".npy" && ending == ".csv" ? " ('shoal data convert' makes a .csv of it)" : ""));
        }
        value = text;
      },
      need);
}

void add_flag(CLI::App& app, const std::string& name, bool& value, const std::string& help) {
  app.add_flag(name, value, help)->group(group_of(name));
}

void add_init_option(CLI::App& app, fit_options& options, const std::vector<std::string>& known) {
  add_file(app, "--init", options.init, "NAME|MODEL.json",
           fmt::format("Start: {}, or exactly the model in a file", fmt::join(known, ", ")), presence::optional, known);
}

const choices<shoal::scalar>& scalar_choices() {
  static const choices<shoal::scalar> known = {{"float32", shoal::scalar::float32},
                                               {"float64", shoal::scalar::float64}};
  return known;
}

const choices<precision>& precision_choices() {
  static const choices<precision> known = {
      {"float32", precision::float32}, {"tf32", precision::tf32}, {"bf16", precision::bf16}};
  return known;
}

const choices<selection_criterion>& criterion_choices() {
  static const choices<selection_criterion> known = {{"bic", selection_criterion::bic},
                                                     {"aic", selection_criterion::aic}};
  return known;
}

void add_counts(CLI::App& app, const std::string& name, std::vector<std::size_t>& values, const std::string& help) {
  add_option(
      app, name, "LIST", help, "", [&values, name](const std::string& text) { values = parse_counts(name, text); },
      presence::required);
}

void add_scalar_option(CLI::App& app, std::optional<shoal::scalar>& scalar, const std::string& shown_default) {
  add_choice(app, "--scalar", scalar, scalar_choices(), "Scalar of the arithmetic and of rows that are written",
             shown_default);
}

void add_data_options(CLI::App& app, data_options& options, bool weights, presence need) {
  add_file(app, "DATA", options.path, "",
           ".npy, .csv, .tsv or other text (.gz too), .fvecs, .bvecs; - is standard input", need);
  add_option(app, "--columns", "LIST", "Columns to use, in this order: names, numbers from 0, or ranges 2..5", "",
             [&options](const std::string& text) { options.columns = parse_names("--columns", text); });
  add_file(app, "--label-column", options.label_column, "NAME",
           "Column (name or number) that is left out of the features; results are compared with it");
  if (weights)
    add_file(app, "--weights", options.weights, "FILE", "One weight of at least 0 for each row: .npy or text");
  add_scalar_option(app, options.scalar, "float64 unless the file is float32");
  add_option(app, "--unpacked-limit", "BYTES",
             "Most bytes that a .gz file may unpack to if they are more than 100 times its size (0: no limit)", "64MiB",
             [&options](const std::string& text) { options.unpacked_limit = parse_bytes("--unpacked-limit", text); });
}

void add_device_options(CLI::App& app, run_options& options, bool products) {
  options.device_word = "auto";
  add_option(
      app, "--device", "NAME",
      "Where to run: cpu; cuda (the first GPU), cuda:1, cuda:0,1, cuda:all; cuda:local is a GPU for each process "
      "of mpirun or srun; auto is cuda where there is a GPU and the work is worth it",
      "auto",
      [&options](const std::string& text) {
        options.device.cuda = text == "auto" ? std::vector<int>() : parse_device(text).cuda;
        options.device_word = text;
      },
      presence::optional, {"auto", "cpu", "cuda"});
  add_option(app, "--device-memory", "BYTES",
             "Most memory of each GPU for rows (64MiB, 2GiB); more rows are streamed, with the same result",
             "four fifths of what is free",
             [&options](const std::string& text) { options.device.memory = parse_bytes("--device-memory", text); });
  if (!products) return;
  add_choice(
      app, "--precision", options.device.precision, precision_choices(),
      "Products of float32 rows on a GPU; tf32 and bf16 round the factors, which is faster for large matrix products",
      "float32");
}

void add_run_options(CLI::App& app, run_options& options, bool memory) {
  add_option(app, "--threads", "N", "Threads; the result is the same for any number", "all",
             [&options](const std::string& text) { options.threads = parse_count("--threads", text, 1, 4096); });
  if (memory) {
    add_option(app, "--memory-limit", "BYTES",
               "Most bytes for rows in memory (64MiB, 2GiB; 0: no limit); the result is the same for any limit", "2GiB",
               [&options](const std::string& text) { options.memory_limit = parse_bytes("--memory-limit", text); });
  }
  add_flag(app, "--json", options.json, "Print one JSON object on standard output");
  add_flag(app, "--quiet", options.quiet, "Print no summary and no progress");
}

void add_fit_options(CLI::App& app, fit_options& options) {
  add_count(app, "--max-iterations", options.max_iterations, "N", "Most iterations of one restart");
  add_count(app, "--restarts", options.restarts, "N", "Fits from different starts; the best is kept", 1);
  add_result_options(app, options);
}

void add_result_options(CLI::App& app, fit_options& options) {
  add_count(app, "--seed", options.seed, "N", "Seed of every random choice");
  add_flag(app, "--standardize", options.standardize,
           "Fit columns shifted to mean 0 and scaled to deviation 1; the model is written in the data's own units");
  add_file(app, "--checkpoint", options.checkpoint, "FILE",
           "Save the state here now and then; the same command again goes on from it");
  add_number(app, "--checkpoint-seconds", options.checkpoint_seconds, "Least seconds between two checkpoints", 0);
  add_output(app, "--output", options.output, "MODEL.json", "Write the model");
  add_output(app, "--labels", options.labels, "OUT.npy", "Write the component, cluster or unit of each row, as int32");
  add_output(app, "--report", options.report, "OUT.html", "Write a page with pictures");
}

bool is_file(const std::string& path) {
  std::error_code code;
  return fs::exists(path, code) && !fs::is_directory(path, code);
}

named_files files_of(const data_options& data, const std::string& model) {
  named_files files = {{"MODEL", model}, {"--weights", data.weights}};
  if (data.path != "-") {
    for (const std::string& part : files_named(data.path)) files.emplace_back("DATA", part);
  }
  std::erase_if(files, [](const auto& file) { return file.second == "-"; });
  return files;
}

void check_fit_outputs(const fit_options& options, const data_options& data) {
  check_outputs({{"--output", options.output},
                 {"--labels", options.labels},
                 {"--report", options.report},
                 {"--checkpoint", options.checkpoint}},
                files_of(data));
}

void check_outputs(const named_files& outputs, const named_files& inputs) {
  if (!first_rank()) return;  // the others need not have the folders
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& [option, file] = outputs[i];
    if (file.empty()) continue;
    for (std::size_t j = 0; j < i; ++j) {
      if (same_file(outputs[j].second, file)) {
        throw bad_argument(fmt::format("{} and {} both name '{}'", outputs[j].first, option, file));
      }
    }
    for (const auto& [read_as, read] : inputs) {
      if (!read.empty() && same_file(read, file)) {
        throw bad_argument(fmt::format("{} would replace {}, '{}'; name another file", option, read_as, file));
      }
    }
    if (descriptor_named(file) >= 0) {
      throw bad_argument(
          fmt::format("{}: '{}' is no name of a file: files do not go to standard output or to what is open already; "
                      "name one",
                      option, file));
    }
    std::error_code code;
    fs::path folder = fs::path(file).parent_path();
    if (folder.empty()) folder = ".";
    // A file is replaced as a whole by renaming another onto it, which would turn a device into a file.
    if (fs::exists(file, code) && !fs::is_regular_file(file, code)) {
      throw io_error(fmt::format("{}: '{}' is not a regular file, and cannot be replaced by one", option, file));
    }
    if (!fs::is_directory(folder, code)) {
      throw io_error(fmt::format("{}: the folder '{}' does not exist", option, folder.string()));
    }
    if (access(folder.c_str(), W_OK) != 0) {
      throw io_error(
          fmt::format("{}: cannot write into the folder '{}': {}", option, folder.string(), std::strerror(errno)));
    }
  }
}

}  // namespace shoal::app
