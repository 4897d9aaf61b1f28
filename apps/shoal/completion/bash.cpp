// Completion for bash.
#include <fmt/format.h>

#include "completion/scripts.hpp"

namespace shoal::app {
namespace {

// The words that stand before the one being completed say which command it is for: a noun, and a verb where nouns have
// verbs. An option's value is completed by the option.
constexpr const char* bash_head = R"bash(# Completion of shoal's words for bash; made by 'shoal completion bash'.
_shoal_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$1")  # names may hold blanks
}

_shoal() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command ${COMP_WORDS[i]}" in
)bash";

// What offers these words, and the names of files.
std::string values(const std::vector<std::string>& words, bool files) {
  if (words.empty()) return files ? "_shoal_files \"$word\"" : "COMPREPLY=()";
  return fmt::format("COMPREPLY=($(compgen{} -W {} -- \"$word\"))", files ? " -f" : "",
                     quoted_for_shell(fmt::format("{}", fmt::join(words, " "))));
}

constexpr const char* bash_tail = R"bash(  esac
}

complete -F _shoal shoal
)bash";

}  // namespace

std::string bash_completion(const described_command& program) {
  std::string script = bash_head;
  const std::vector<const described_command*> commands = all_commands(program);
  for (const described_command* command : commands) {
    if (command->path.empty()) continue;
    const std::string above = command->path.substr(0, command->path.size() - command->name.size());
    script += fmt::format("      {}) command={} ;;\n",
                          quoted_for_shell(above.empty() ? " " + command->name : above + command->name),
                          quoted_for_shell(command->path));
  }
  script += "    esac\n  done\n  case \"$command $before\" in\n";
  for (const described_command* command : commands) {
    for (const described_option& option : command->options) {
      if (option.metavariable.empty()) continue;
      for (const std::string& name : option.names) {
        script += fmt::format("    {}) {}; return ;;\n", quoted_for_shell(command->path + " " + name),
                              values(option.words, option.file));
      }
    }
  }
  script += "  esac\n  case \"$command\" in\n";
  for (const described_command* command : commands) {
    std::vector<std::string> words = names_of(command->commands);
    for (const described_option& place : command->places)
      words.insert(words.end(), place.words.begin(), place.words.end());
    bool files = false;
    for (const described_option& place : command->places) files = files || place.file;
    script += fmt::format(
        "    {})\n      if [[ $word == -* ]]; then COMPREPLY=($(compgen -W {} -- \"$word\"))\n      else {}\n      fi "
        ";;\n",
        quoted_for_shell(command->path), quoted_for_shell(fmt::format("{}", fmt::join(option_names(*command), " "))),
        values(words, files));
  }
  return script + bash_tail;
}

}  // namespace shoal::app
