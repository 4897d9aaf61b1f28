// The words that the program begins with.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/options.hpp"

namespace shoal::app {

/// Declares a verb below its noun, or a noun that is a verb itself below the program.
using declare_verb = void (*)(CLI::App& above, verb& selected);

/// A folder of its own. What it declares in noun.cpp is all that the program knows of it.
struct noun {
  std::string name;
  std::string title;                ///< what the verbs are about; its help lists them behind
  std::string example;              ///< a command that ends its help
  std::vector<declare_verb> verbs;  ///< in the order of the help
  /// A noun without verbs: declares itself, and needs none of the above but its name.
  std::function<void(CLI::App& above, verb& selected)> alone = {};
};

/// All of them, in the order of the help: the one place that lists them.
const std::vector<noun>& nouns();

/// What the program is for, in one sentence, and a command that ends its help.
extern const char* const program_description;
extern const char* const program_example;

/// Declares every noun with its verbs.
void declare_nouns(CLI::App& program, verb& selected);

}  // namespace shoal::app
