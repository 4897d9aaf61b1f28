// Completion for fish.
#include <fmt/format.h>

#include "completion/scripts.hpp"

namespace shoal::app {
namespace {

// The words of the command line that name a command, joined.
constexpr const char* fish_head = R"fish(# Completion of shoal's words for fish; made by 'shoal completion fish'.
function __shoal_is
    set -l command ''
    for word in (commandline -opc)[2..-1]
        switch (string trim -- "$command $word")
            case $__shoal_commands
                set command (string trim -- "$command $word")
        end
    end
    test "$command" = "$argv[1]"
end

complete -c shoal -f
)fish";

std::string quoted_for_fish(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

}  // namespace

std::string fish_completion(const described_command& program) {
  std::string script = fish_head;
  std::string paths = "set -g __shoal_commands";
  std::string lines;
  for (const described_command* command : all_commands(program)) {
    if (!command->path.empty()) paths += " " + quoted_for_fish(command->path);
    const std::string here =
        fmt::format("complete -c shoal -n {}", quoted_for_fish(fmt::format("__shoal_is \"{}\"", command->path)));
    for (const described_command& below : command->commands) {
      lines += fmt::format("{} -a {} -d {}\n", here, below.name, quoted_for_fish(below.title));
    }
    for (const described_option& place : command->places) {
      lines += place.words.empty()
                   ? here + " -F\n"
                   : fmt::format("{} -a {}\n", here, quoted_for_fish(fmt::format("{}", fmt::join(place.words, " "))));
    }
    for (const described_option& option : command->options) {
      lines += here;
      for (const std::string& name : option.names) {
        lines += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!option.words.empty()) {
        lines += fmt::format(" {} -a {}", option.file ? "-r -F" : "-x",
                             quoted_for_fish(fmt::format("{}", fmt::join(option.words, " "))));
      } else if (option.file) {
        lines += " -r -F";
      } else if (!option.metavariable.empty()) {
        lines += " -x";
      }
      lines += fmt::format(" -d {}\n", quoted_for_fish(option.help));
    }
  }
  return script + paths + "\n" + lines;
}

}  // namespace shoal::app
