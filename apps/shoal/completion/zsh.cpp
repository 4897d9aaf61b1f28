// Completion for zsh.
#include <fmt/format.h>

#include "completion/scripts.hpp"

namespace shoal::app {
namespace {

constexpr const char* zsh_head = R"zsh(#compdef shoal
# Completion of shoal's words for zsh; made by 'shoal completion zsh'.
_shoal() {
  local command='' before=${words[CURRENT-1]} i
  local -a found
  for ((i = 2; i < CURRENT; i++)); do
    case "$command ${words[i]}" in
)zsh";

constexpr const char* zsh_tail = R"zsh(  esac
}

if [[ $funcstack[1] == _shoal ]]; then _shoal "$@"; else compdef _shoal shoal; fi
)zsh";

// "name:description" as _describe splits it.
std::string described(const std::string& name, const std::string& help) {
  std::string escaped;
  for (const char c : name) escaped += c == ':' ? std::string("\\:") : std::string(1, c);
  return quoted_for_shell(escaped + ":" + help);
}

}  // namespace

std::string zsh_completion(const described_command& program) {
  std::string script = zsh_head;
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
      const std::string words = fmt::format("{}", fmt::join(option.words, " "));
      for (const std::string& name : option.names) {
        script += fmt::format("    {}) {}; return ;;\n", quoted_for_shell(command->path + " " + name),
                              !words.empty() ? "compadd -- " + words + (option.file ? "; _files" : "")
                              : option.file  ? "_files"
                                             : "_message " + quoted_for_shell(option.metavariable));
      }
    }
  }
  script += "  esac\n  case \"$command\" in\n";
  for (const described_command* command : commands) {
    script += fmt::format("    {})\n      if [[ $words[CURRENT] == -* ]]; then\n        found=(",
                          quoted_for_shell(command->path));
    for (const described_option& option : command->options) {
      for (const std::string& name : option.names) script += "\n          " + described(name, option.help);
    }
    script += ")\n        _describe -o option found\n";
    bool files = false;
    std::vector<std::string> words;
    for (const described_option& place : command->places) {
      words.insert(words.end(), place.words.begin(), place.words.end());
      files = files || place.file;
    }
    if (!command->commands.empty()) {
      script += "      else\n        found=(";
      for (const described_command& below : command->commands)
        script += "\n          " + described(below.name, below.title);
      script += ")\n        _describe command found\n";
    } else if (!words.empty()) {
      script += fmt::format("      else compadd -- {}\n", fmt::join(words, " "));
    } else if (files) {
      script += "      else _files\n";
    }
    script += "      fi ;;\n";
  }
  return script + zsh_tail;
}

}  // namespace shoal::app
