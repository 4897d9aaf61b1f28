// The program's commands and options as plain values, read from what declares them: help, completion and the manual
// page are all made of this.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace shoal::app {

/// An option, or a place for a word.
struct described_option {
  std::vector<std::string> names;  ///< with their dashes, or the name of a place
  std::string metavariable;        ///< what its value is called; empty: it takes none
  std::string shown_default;       ///< empty: none
  std::string help;
  std::string group;
  std::vector<std::string> words;  ///< the values that it knows
  bool file = false;               ///< its value names a file
};

/// A command, with its place below the program.
struct described_command {
  std::string path;  ///< the words behind "shoal", as in "data info"; empty: the program itself
  std::string name;
  std::string title;
  std::string footer;
  std::vector<described_option> places;
  std::vector<described_option> options;
  std::vector<described_command> commands;
};

described_command describe(const CLI::App& app, const std::string& path = {});

/// The command and all below it, from top to bottom.
std::vector<const described_command*> all_commands(const described_command& top);

/// The words of the names of its commands.
std::vector<std::string> names_of(const std::vector<described_command>& commands);

/// All names of its options, with their dashes.
std::vector<std::string> option_names(const described_command& command);

/// Text between single quotes for a shell of the Bourne kind.
std::string quoted_for_shell(const std::string& text);

}  // namespace shoal::app
