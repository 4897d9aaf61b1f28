// Reading the description.
#include "common/description.hpp"

#include <CLI/CLI.hpp>

#include "common/options.hpp"

namespace shoal::app {
namespace {

described_option describe(const CLI::Option& option) {
  described_option made;
  if (option.get_positional()) {
    made.names.push_back(option.get_name(true));
  } else {
    for (const std::string& name : option.get_snames()) made.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) made.names.push_back("--" + name);
    if (option.get_items_expected_max() > 0) made.metavariable = option.get_type_name();
  }
  made.shown_default = option.get_default_str();
  made.help = option.get_description();
  made.group = option.get_group();
  made.words = known_words(option);
  // Files are named by what they are, as in FILE, MODEL.json and the places DATA and MODEL.
  const std::string& what = option.get_positional() ? made.names.front() : made.metavariable;
  made.file = what.find("FILE") != std::string::npos || what.find('.') != std::string::npos || what == "DATA" ||
              what == "MODEL";
  return made;
}

}  // namespace

described_command describe(const CLI::App& app, const std::string& path) {
  described_command made;
  made.path = path;
  made.name = app.get_name();
  made.title = app.get_description();
  made.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    (option->get_positional() ? made.places : made.options).push_back(describe(*option));
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    made.commands.push_back(describe(*command, (path.empty() ? path : path + " ") + command->get_name()));
  }
  return made;
}

std::vector<const described_command*> all_commands(const described_command& top) {
  std::vector<const described_command*> all = {&top};
  for (const described_command& command : top.commands) {
    const std::vector<const described_command*> below = all_commands(command);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

std::vector<std::string> names_of(const std::vector<described_command>& commands) {
  std::vector<std::string> names;
  for (const described_command& command : commands) names.push_back(command.name);
  return names;
}

std::vector<std::string> option_names(const described_command& command) {
  std::vector<std::string> names;
  for (const described_option& option : command.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

std::string quoted_for_shell(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace shoal::app
