// shoal help
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "common/output.hpp"
#include "help/noun.hpp"

namespace shoal::app {
namespace {

constexpr const char* help_examples = R"(Examples:
  shoal help
  shoal help data info)";

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

// What COMMAND --help prints.
void print_help(CLI::App& program, const std::vector<std::string>& words) {
  CLI::App* app = &program;
  std::string above;
  for (const std::string& word : words) {
    const std::vector<CLI::App*> named =
        app->get_subcommands([&word](const CLI::App* command) { return command->get_name() == word; });
    if (named.empty()) {
      const std::vector<std::string> known = commands_of(*app);
      const std::string name = above.empty() ? app->get_name() : above + " " + app->get_name();
      if (known.empty()) throw bad_argument(fmt::format("'{}' has no commands; '{} --help' tells all", name, name));
      throw bad_argument(fmt::format("there is no command '{}'{}\nthere are: {}", word, suggestion(word, known),
                                     fmt::join(known, ", ")));
    }
    above = above.empty() ? app->get_name() : above + " " + app->get_name();
    app = named.front();
  }
  // Not app->help(), which would tell of the command that was parsed: this one.
  const std::string name = above.empty() ? app->get_name() : above + " " + app->get_name();
  print(app->get_formatter()->make_help(app, name, CLI::AppFormatMode::Normal));
}

void declare(CLI::App& program, verb& selected) {
  program.require_subcommand(0, 1);  // the nouns behind it are its words
  const auto words = std::make_shared<std::vector<std::string>>();
  CLI::App& app = *add_verb(program, "help", "Tell of a command what --help tells", help_examples, selected,
                            [&program, words] { print_help(program, *words); });
  const auto take = [words](const std::string& text) { words->push_back(text); };
  add_option(app, "NOUN", "", "The noun to tell of; the program itself without", "", take, presence::optional,
             commands_of(program));
  add_option(app, "VERB", "", "Its verb to tell of", "", take);
}

}  // namespace

noun help_noun() { return {.name = "help", .title = {}, .example = {}, .verbs = {}, .alone = declare}; }

}  // namespace shoal::app
