// The program shoal: reads its words, runs one verb, and turns every failure into a short message and an exit status.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <shoal/mpi/mpi.hpp>

#include "common/interruption.hpp"
#include "common/output.hpp"
#include "common/ranks.hpp"
#include "nouns.hpp"

namespace {

using namespace shoal::app;

enum exit_status { success = 0, failed_run = 1, wrong_use = 2 };

// A closed descriptor would be given to the next file that is opened, and messages would end up in it. These stand-ins
// make every use of what was closed fail.
void hold_standard_descriptors() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) == -1) {
      [[maybe_unused]] const int opened = open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY);
    }
  }
}

// What a run ends with when it did not end well.
struct complaint : std::runtime_error {
  complaint(const std::string& where, const std::string& message, int exit)
      : std::runtime_error(fmt::format("{}: {}", where, message)), status(exit) {}
  int status;
};

int complain(const std::string& text, int status) {
  const std::string lines = printable_lines(text) + "\n";
  std::fwrite(lines.data(), 1, lines.size(), stderr);
  return status;
}

// Takes no memory, of which there is none.
int complain_of_memory(std::string_view where) {
  constexpr std::string_view first = "shoal: out of memory";
  constexpr std::string_view advice =
      "; fewer columns or groups, diagonal covariances, a smaller --memory-limit or fewer --threads may help\n";
  for (const std::string_view text : {first, where, advice}) {
    [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
  }
  return failed_run;
}

// Memory may run out where nothing can be undone: to destroy a JSON value takes some, and so does a message.
void end_without_memory() {
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    _exit(complain_of_memory(", in the middle of something; a file that ends in .part may be left"));
  } catch (...) {
  }
  std::abort();
}

void build(CLI::App& program, verb& selected) {
  program.set_version_flag("-V,--version", "shoal " SHOAL_VERSION, "Print the version and exit");
  program.get_help_ptr()->group("Options");
  program.get_option("--version")->group("Options");
  program.get_formatter()->column_width(34);
  program.footer(fmt::format("Example:\n  {}\n", program_example));
  declare_nouns(program, selected);
}

// The innermost command that was recognised, and its name as the user writes it.
const CLI::App* innermost(const CLI::App& program, std::string& name) {
  const CLI::App* app = &program;
  name = "shoal";
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().front();
    name += " " + app->get_name();
  }
  return app;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

// Every option takes one value, so it got none or several.
std::string in_our_words(const CLI::ArgumentMismatch& mistake) {
  const std::string message = mistake.what();
  const std::string option = message.substr(0, message.find(": "));
  return option + (message.find("missing") != std::string::npos ? " needs a value" : " is given twice");
}

// A mistyped word makes the right one missing, so the mistyped one is what is told.
[[noreturn]] void refuse_words(const CLI::App& program, const std::string& message) {
  std::string name;
  const CLI::App& app = *innermost(program, name);
  const std::vector<std::string> commands = command_names(app);
  for (const std::string& word : program.remaining(true)) {
    if (word.rfind("-", 0) == 0 && word != "-" && word != "--") {
      const std::string option = word.substr(0, word.find('='));
      throw complaint(name,
                      fmt::format("there is no option {}{}\n'{} --help' lists them", option,
                                  suggestion(option, option_names(app)), name),
                      wrong_use);
    }
    if (!commands.empty()) {
      throw complaint(name,
                      fmt::format("there is no command '{}'{}\nthere are: {}", word, suggestion(word, commands),
                                  fmt::join(commands, ", ")),
                      wrong_use);
    }
    throw complaint(name, fmt::format("'{}' is one word too many\n'{} --help' tells more", word, name), wrong_use);
  }
  throw complaint(name, fmt::format("{}\n'{} --help' tells more", message, name), wrong_use);
}

int run(int argc, char** argv) {
  CLI::App program(program_description, "shoal");
  verb selected;
  build(program, selected);
  std::string name;
  try {
    program.parse(argc, argv);
    const CLI::App& app = *innermost(program, name);
    if (!selected) {
      throw complaint(
          name, fmt::format("say what to do: {}\n'{} --help' tells more", fmt::join(command_names(app), ", "), name),
          wrong_use);
    }
    selected();
    return success;
  } catch (const CLI::Success& asked) {
    if (!first_rank()) return success;
    std::ostringstream told;
    const int status = program.exit(asked, told, told);
    print(told.str());
    return status == 0 ? success : failed_run;
  } catch (const CLI::ArgumentMismatch& mistake) {
    refuse_words(program, in_our_words(mistake));
  } catch (const CLI::ParseError& mistake) {
    refuse_words(program, mistake.what());
  } catch (const shoal::bad_argument& mistake) {
    innermost(program, name);
    throw complaint(name, mistake.what(), wrong_use);
  }
}

// Says what went wrong. Of several processes the first alone comes here.
int explain(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const complaint& known) {
    return complain(known.what(), known.status);
  } catch (const shoal::interrupted& stop) {
    return complain(fmt::format("shoal: {}", stop.what()), interruptions().exit_status());
  } catch (const std::length_error&) {
    return complain("shoal: out of memory: more elements were asked for than any memory holds", failed_run);
  } catch (const std::bad_alloc&) {
    return complain_of_memory({});
  } catch (const std::exception& failure) {
    return complain(fmt::format("shoal: {}", failure.what()), failed_run);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::set_terminate(end_without_memory);
  hold_standard_descriptors();
  // A reader that went away, and a limit on the size of files, are told by the failing write instead.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    interruptions();  // before MPI starts threads of its own
  } catch (...) {
    return explain(std::current_exception());
  }
  return shoal::mpi::run_program(
      [&](shoal::communicator* all) {
        set_ranks(all);
        return run(argc, argv);
      },
      explain, interruptions().watched());
}
