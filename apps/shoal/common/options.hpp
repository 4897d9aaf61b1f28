// The groups of options that several verbs share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/device_choice.hpp>
#include <shoal/io/io.hpp>

#include "common/words.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace shoal::app {

/// Which rows and columns, and how they are read.
struct data_options {
  std::string path;
  std::vector<std::string> columns;
  std::string label_column;
  std::string weights;
  std::optional<shoal::scalar> scalar;
  std::uint64_t unpacked_limit = default_unpacked_limit;

  /// The file at `path`, opened by the first call and never again: a pipe has its rows once.
  data_file& file() const {
    if (!*opened_) opened_->emplace(path, unpacked_limit);
    return **opened_;
  }

  /// `--scalar`, or what keeps the file's values.
  shoal::scalar chosen_scalar() const { return scalar ? *scalar : file().natural_scalar(); }

 private:
  std::shared_ptr<std::optional<data_file>> opened_ = std::make_shared<std::optional<data_file>>();
};

/// Where and how a verb runs, and how it answers.
struct run_options {
  std::size_t threads = 0;  ///< 0: default_threads()
  std::size_t memory_limit = std::size_t{2} << 30;
  std::string device_word = "cpu";  ///< as it was asked for
  device_choice device;             ///< what that means here; of "auto", after settle_device()
  bool json = false;
  bool quiet = false;
};

/// The options that every fit has.
struct fit_options {
  std::string init;
  std::size_t max_iterations = 0;
  double tolerance = 0;
  std::size_t restarts = 1;
  std::uint64_t seed = 0;
  bool standardize = false;
  std::string checkpoint;
  double checkpoint_seconds = 1;
  std::string output;
  std::string labels;
  std::string report;
};

/// Runs a verb after its words were read.
using verb = std::function<void()>;

/// How many processes may run a verb together.
enum class processes { one, several };

/// Adds a verb with its one-line description, and an example that ends its help; `run` becomes `selected` when the
/// verb is the one asked for.
CLI::App* add_verb(CLI::App& noun, const std::string& name, const std::string& description, const std::string& examples,
                   verb& selected, verb run, processes together = processes::one);

/// Whether the program can run without an option.
enum class presence { optional, required };

/// An option, or a place for a word when the name has no dashes. `read` gets its text. All other add_… functions end
/// here, so that the library that reads command lines, which takes long to compile, stays in few sources. `words` are
/// the values that are known, for completion.
void add_option(CLI::App& app, const std::string& name, const std::string& metavariable, const std::string& help,
                const std::string& shown_default, std::function<void(const std::string&)> read,
                presence need = presence::optional, std::vector<std::string> words = {});

/// The values that are known of an option that add_option made.
std::vector<std::string> known_words(const CLI::Option& option);

/// The present value is shown as the default, unless the option is required.
void add_count(CLI::App& app, const std::string& name, std::uint64_t& value, const std::string& metavariable,
               const std::string& help, std::uint64_t least = 0, presence need = presence::optional);
void add_number(CLI::App& app, const std::string& name, double& value, const std::string& help, double least,
                bool open = false, const std::string& shown_default = {});
void add_file(CLI::App& app, const std::string& name, std::string& value, const std::string& metavariable,
              const std::string& help, presence need = presence::optional, std::vector<std::string> words = {});
/// An option that takes two files, `values` [2] or empty.
void add_two_files(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                   const std::string& metavariable, const std::string& help);
/// A file that is written. What the metavariable ends in is its format: names that end in another one are refused.
void add_output(CLI::App& app, const std::string& name, std::string& value, const std::string& metavariable,
                const std::string& help, presence need = presence::optional);
void add_flag(CLI::App& app, const std::string& name, bool& value, const std::string& help);

/// The words that an option of fixed choices takes, with their meanings.
template <class Value>
using choices = std::vector<std::pair<std::string, Value>>;

template <class Value>
std::vector<std::string> words_of(const choices<Value>& known) {
  std::vector<std::string> words;
  for (const auto& [word, value] : known) words.push_back(word);
  return words;
}

/// The choice that `text` names. Throws bad_argument that lists the choices and suggests the nearest.
template <class Value>
Value choose(const std::string& option, const std::string& text, const choices<Value>& known) {
  for (const auto& [word, value] : known) {
    if (word == text) return value;
  }
  const std::vector<std::string> words = words_of(known);
  throw bad_argument(
      fmt::format("{}: '{}' is not one of {}{}", option, text, fmt::join(words, ", "), suggestion(text, words)));
}

/// The word for a value.
template <class Value>
std::string word_for(const choices<Value>& known, Value value) {
  for (const auto& [word, other] : known) {
    if (other == value) return word;
  }
  return {};
}

/// An option that takes one of the known words.
template <class Value, class Target>
void add_choice(CLI::App& app, const std::string& name, Target& target, const choices<Value>& known,
                const std::string& help, const std::string& shown_default) {
  add_option(
      app, name, "NAME", fmt::format("{}: {}", help, fmt::join(words_of(known), ", ")), shown_default,
      [&target, name, known](const std::string& text) { target = choose(name, text, known); }, presence::optional,
      words_of(known));
}

const choices<shoal::scalar>& scalar_choices();

const choices<precision>& precision_choices();

/// What `select` makes least.
enum class selection_criterion { bic, aic };
const choices<selection_criterion>& criterion_choices();

/// A list of numbers of at least one, which must be given.
void add_counts(CLI::App& app, const std::string& name, std::vector<std::size_t>& values, const std::string& help);

void add_data_options(CLI::App& app, data_options& options, bool weights = true, presence need = presence::required);
/// For verbs that run on GPUs too; the others run on the host. `products`: matrix products are part of it, and their
/// precision may be chosen.
void add_device_options(CLI::App& app, run_options& options, bool products = true);
void add_run_options(CLI::App& app, run_options& options, bool memory = true);
void add_scalar_option(CLI::App& app, std::optional<shoal::scalar>& scalar, const std::string& shown_default);
void add_fit_options(CLI::App& app, fit_options& options);
/// Those of them that do not speak of iterations and restarts: seed, units, checkpoint and files.
void add_result_options(CLI::App& app, fit_options& options);

/// Whether something that is no folder has this name.
bool is_file(const std::string& path);

/// `--init`: one of the known ways, or the name of a model file.
void add_init_option(CLI::App& app, fit_options& options, const std::vector<std::string>& known);

/// What `--init` names: a known way, or `from_file` when there is such a file.
template <class Value>
Value chosen_init(const fit_options& options, const choices<Value>& known, Value from_file) {
  for (const auto& [word, value] : known) {
    if (word == options.init) return value;
  }
  if (is_file(options.init)) return from_file;
  const std::vector<std::string> words = words_of(known);
  throw bad_argument(fmt::format("--init: '{}' is not one of {}, and there is no such file{}", options.init,
                                 fmt::join(words, ", "), suggestion(options.init, words)));
}

/// Options or places of the command line with their files; empty names are skipped.
using named_files = std::vector<std::pair<std::string, std::string>>;

/// Refuses, before any work, an output that could not be written, two outputs with one name, and one that would replace
/// a file that is read.
void check_outputs(const named_files& outputs, const named_files& inputs = {});

/// What is read: the files that the options of the rows name, and the model's.
named_files files_of(const data_options& data, const std::string& model = {});

/// check_outputs() for the files of a fit, which may replace the model that it begins from.
void check_fit_outputs(const fit_options& options, const data_options& data);

}  // namespace shoal::app
