// shoal manual
#include <algorithm>
#include <cstddef>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "common/description.hpp"
#include "common/output.hpp"
#include "manual/noun.hpp"

namespace shoal::app {
namespace {

constexpr const char* manual_examples = R"(Example:
  shoal manual > shoal.1; man ./shoal.1)";

// A line of text: backslashes and dashes are troff's own, and so is a dot or a quote that begins a line.
std::string line(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  if (!escaped.empty() && (escaped[0] == '.' || escaped[0] == '\'')) escaped.insert(0, "\\&");
  return escaped;
}

std::string lines(const std::string& text) {
  std::string all;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.size(), text.find('\n', begin));
    all += line(text.substr(begin, end - begin)) + "\n";
    begin = end + 1;
  }
  return all;
}

std::string option_entry(const described_option& option) {
  std::string names = fmt::format("{}", fmt::join(option.names, ", "));
  std::string head = fmt::format(".TP\n\\fB{}\\fR", line(names));
  if (!option.metavariable.empty()) head += fmt::format(" \\fI{}\\fR", line(option.metavariable));
  head += "\n" + line(option.help) + "\n";
  if (!option.shown_default.empty()) head += fmt::format("(default: {})\n", line(option.shown_default));
  return head;
}

std::string manual_page(const described_command& program) {
  std::string page = fmt::format(
      ".TH SHOAL 1 \"\" \"shoal {0}\" \"User Commands\"\n.SH NAME\nshoal \\- Gaussian mixtures, k\\-means and "
      "self\\-organizing maps\n.SH SYNOPSIS\n.B shoal\n.I NOUN\n.RI [ VERB ]\n.RI [ OPTIONS ]\n.SH DESCRIPTION\n{1}",
      SHOAL_VERSION, lines(program.title));
  page += ".SH OPTIONS\n";
  for (const described_option& option : program.options) page += option_entry(option);
  for (const described_command& noun : program.commands) {
    page += fmt::format(".SH {}\n{}", line(noun.path), lines(noun.title));
    for (const described_command* command : all_commands(noun)) {
      if (command != &noun) page += fmt::format(".SS shoal {}\n{}", line(command->path), lines(command->title));
      std::string group;
      for (const described_option& place : command->places) page += option_entry(place);
      for (const described_option& option : command->options) {
        if (option.group != group) page += fmt::format(".PP\n.I {}\n", line(option.group));
        group = option.group;
        page += option_entry(option);
      }
      if (!command->footer.empty()) page += ".PP\n.nf\n" + lines(command->footer) + ".fi\n";
    }
  }
  page += ".SH EXIT STATUS\n0 on success, 1 when a run failed, 2 for wrong use, 130 or 143 when it was interrupted.\n";
  return page;
}

void declare(CLI::App& program, verb& selected) {
  add_verb(program, "manual", "Print the manual page, for man", manual_examples, selected,
           [&program] { print(manual_page(describe(program))); });
}

}  // namespace

noun manual_noun() { return {.name = "manual", .title = {}, .example = {}, .verbs = {}, .alone = declare}; }

}  // namespace shoal::app
