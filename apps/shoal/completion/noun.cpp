// shoal completion
#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "common/output.hpp"
#include "completion/noun.hpp"
#include "completion/scripts.hpp"

namespace shoal::app {
namespace {

constexpr const char* completion_examples = R"(Examples:
  source <(shoal completion bash)          # now; or write it to ~/.local/share/bash-completion/completions/shoal
  shoal completion zsh > ~/.zfunc/_shoal   # a folder of $fpath
  shoal completion fish > ~/.config/fish/completions/shoal.fish)";

using script_maker = std::string (*)(const described_command&);

const choices<script_maker>& shells() {
  static const choices<script_maker> known = {
      {"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}};
  return known;
}

void declare(CLI::App& program, verb& selected) {
  const auto maker = std::make_shared<script_maker>(nullptr);
  CLI::App& app = *add_verb(program, "completion", "Print a script that completes words in a shell",
                            completion_examples, selected, [&program, maker] { print((*maker)(describe(program))); });
  add_option(
      app, "SHELL", "", fmt::format("The shell: {}", fmt::join(words_of(shells()), ", ")), "",
      [maker](const std::string& text) { *maker = choose("SHELL", text, shells()); }, presence::required,
      words_of(shells()));
}

}  // namespace

noun completion_noun() { return {.name = "completion", .title = {}, .example = {}, .verbs = {}, .alone = declare}; }

}  // namespace shoal::app
