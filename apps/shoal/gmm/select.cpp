// shoal gmm select
#include <memory>

#include "common/fit_verb.hpp"
#include "gmm/fits.hpp"
#include "gmm/verbs.hpp"

namespace shoal::app {
namespace {

constexpr const char* select_examples = R"(Examples:
  shoal gmm select rows.csv --components 1..20 --output best.json --report choice.html
  shoal gmm select rows.csv --components 1,2,5 --criterion aic --json

Fits every number of components and keeps the mixture whose criterion is least. With --checkpoint FILE each number has
its own file, FILE.K. With --json the object describes the chosen fit, and candidates has a row for each number.)";

}  // namespace

void add_gmm_select(CLI::App& noun, verb& selected) {
  const auto command = std::make_shared<select_command<gmm_types>>();
  CLI::App& app = *add_verb(
      noun, "select", "Choose the number of components", select_examples, selected,
      [command] { run_select(gmm_fits(), *command); }, processes::several);
  add_counts(app, "--components", command->groups, "Numbers of components to try: 1..20 or 1,2,5");
  add_choice(app, "--criterion", command->criterion, criterion_choices(), "What is to be least", "bic");
  add_gmm_options(app, command->words);
}

}  // namespace shoal::app
