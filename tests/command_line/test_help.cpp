// What the program tells of itself: help in groups, the version, completion in shells, the manual page.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <regex>

#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

#include "nouns.hpp"
#include "program.hpp"

namespace {

using namespace shoal_test;

// What a shell prints; empty where it fails.
std::string output_of(const std::string& command) {
  std::string text;
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  std::array<char, 4096> buffer;
  for (std::size_t got; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) != 0;)
    text.append(buffer.data(), got);
  return pclose(pipe) == 0 ? text : std::string();
}

bool has(const std::string& program) {
  return std::system(("command -v " + program + " > /dev/null 2>&1").c_str()) == 0;
}

// What bash offers for the last of these words, by calling what the script has registered as bash itself does.
std::string offered(const fs::path& script, const words& typed) {
  std::string list;
  for (const std::string& word : typed) list += " '" + word + "'";
  return output_of("bash -c 'set -u; source \"" + script.string() + "\"; COMP_WORDS=(" +
                   std::regex_replace(list, std::regex("'"), "\"") +
                   "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=(); " +
                   "spec=$(complete -p shoal) && eval \"$(sed \"s/.*-F \\([^ ]*\\) .*/\\1/\" <<< \"$spec\")\"; " +
                   "printf \"%s\\n\" \"${COMPREPLY[@]}\"'");
}

class completion : public testing::Test {
 protected:
  void SetUp() override {
    const outcome made = run({"completion", "bash"});
    ASSERT_EQ(made.status, 0) << made.err;
    script_ = folder_ / "shoal.bash";
    write_file(script_, made.out);
  }
  scratch_folder folder_;
  fs::path script_;
};

TEST_F(completion, bash_completes_nouns_and_verbs) {
  EXPECT_EQ(offered(script_, {"shoal", "km"}), "kmeans\n");
  EXPECT_EQ(offered(script_, {"shoal", "gmm", "s"}), "score\nsample\nselect\nstudy\n");
  EXPECT_EQ(offered(script_, {"shoal", "completion", ""}), "bash\nzsh\nfish\n");
}

TEST_F(completion, bash_completes_options_of_the_verb_and_their_values) {
  EXPECT_EQ(offered(script_, {"shoal", "gmm", "fit", "--cov"}), "--covariance\n");
  EXPECT_EQ(offered(script_, {"shoal", "kmeans", "fit", "rows.csv", "--stop-rule", "r"}), "relative-shift\n");
  EXPECT_EQ(offered(script_, {"shoal", "kmeans", "fit", "--cov"}), "\n");
  EXPECT_EQ(offered(script_, {"shoal", "gmm", "fit", "--seed", "7", "--covariance", "di"}), "diag\n");
  EXPECT_EQ(offered(script_, {"shoal", "gmm", "fit", "--seed", ""}), "\n");
}

TEST_F(completion, bash_completes_files) {
  write_file(folder_ / "rows of mine.csv", "1\n");
  const std::string mine = (folder_ / "rows of mine.csv") + "\n";
  EXPECT_EQ(offered(script_, {"shoal", "gmm", "fit", folder_ / "rows"}), mine);
  EXPECT_EQ(offered(script_, {"shoal", "gmm", "fit", "--weights", folder_ / "rows"}), mine);
}

TEST(completions, every_option_is_in_every_script) {
  CLI::App program;
  shoal::app::verb selected;
  shoal::app::declare_nouns(program, selected);
  for (const char* const shell : {"bash", "zsh", "fish"}) {
    const outcome made = run({"completion", shell});
    ASSERT_EQ(made.status, 0) << shell;
    for (const CLI::App* noun : program.get_subcommands([](const CLI::App*) { return true; })) {
      for (const CLI::App* verb : noun->get_subcommands([](const CLI::App*) { return true; })) {
        for (const CLI::Option* option : verb->get_options()) {
          for (const std::string& name : option->get_lnames()) {
            const std::string written = std::string(shell) == "fish" ? "-l " + name + " " : "--" + name;
            EXPECT_NE(made.out.find(written), std::string::npos) << shell << " " << verb->get_name() << " " << name;
          }
        }
      }
    }
  }
  EXPECT_EQ(run({"completion", "tcsh"}).status, 2);
  EXPECT_EQ(run({"completion"}).status, 2);
}

TEST(completions, shells_read_their_scripts) {
  const scratch_folder folder;
  std::string absent;
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    if (!has(shell)) {
      absent += " " + shell;
      continue;
    }
    write_file(folder / shell, run({"completion", shell}).out);
    EXPECT_EQ(std::system((shell + " -n " + folder / shell).c_str()), 0) << shell;
  }
  if (has("fish")) {
    EXPECT_EQ(output_of("cd " + folder.path().string() +
                        " && fish -N -c 'source fish; complete -C \"shoal gmm fit --cov\"' | cut -f1"),
              "--covariance\n");
    EXPECT_EQ(
        output_of("cd " + folder.path().string() + " && fish -N -c 'source fish; complete -C \"shoal km\"' | cut -f1"),
        "kmeans\n");
  }
  if (!absent.empty()) GTEST_SKIP() << "scripts of shells that are not here were not read:" << absent;
}

TEST(help, is_asked_for_in_three_ways) {
  const std::string text = run({"gmm", "fit", "--help"}).out;
  EXPECT_EQ(run({"gmm", "fit", "-h"}).out, text);
  EXPECT_EQ(run({"help", "gmm", "fit"}).out, text);
  EXPECT_EQ(run({"help"}).out, run({"--help"}).out);
  EXPECT_EQ(run({"help", "data"}).out, run({"data", "-h"}).out);
  EXPECT_EQ(run({"-V"}).out, run({"--version"}).out);
  const outcome mistyped = run({"help", "kmean"});
  EXPECT_EQ(mistyped.status, 2);
  EXPECT_NE(mistyped.err.find("did you mean 'kmeans'?"), std::string::npos) << mistyped.err;
  EXPECT_EQ(run({"help", "gmm", "fit", "more"}).status, 2);
}

TEST(help, lists_the_essentials_first) {
  for (const words& verb : {words{"gmm", "fit"}, words{"kmeans", "fit"}, words{"kmeans", "select"}}) {
    const std::string text = run(verb + words{"--help"}).out;
    const std::size_t essentials = text.find("\nEssentials:"), rows = text.find("\nRows and columns:"),
                      method = text.find("\nMethod:"), where = text.find("\nWhere and how it runs:");
    ASSERT_NE(where, std::string::npos) << text;
    EXPECT_LT(essentials, rows);
    EXPECT_LT(essentials, method);
    EXPECT_LT(essentials, where);
    EXPECT_LT(text.find("--output"), std::min({rows, method, where}));
    EXPECT_GT(text.find("--tolerance"), method);
    EXPECT_GT(text.find("--threads"), where);
  }
}

TEST(manual, is_a_page_that_man_can_show) {
  const outcome made = run({"manual"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(made.out.rfind(".TH SHOAL 1", 0), 0u);
  for (const char* const part :
       {"\n.SH gmm\n", "\n.SS shoal kmeans fit\n", "\\fB\\-\\-covariance\\fR", "\n.SH EXIT STATUS\n"}) {
    EXPECT_NE(made.out.find(part), std::string::npos) << part;
  }
  if (!has("groff")) GTEST_SKIP() << "there is no groff here, which would show the page";
  const scratch_folder folder;
  write_file(folder / "shoal.1", made.out);
  EXPECT_EQ(output_of("groff -man -Kutf8 -Tutf8 -ww -z " + (folder / "shoal.1") + " 2>&1; true"), "");
}

}  // namespace
