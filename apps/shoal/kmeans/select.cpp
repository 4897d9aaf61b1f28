// shoal kmeans select
#include <memory>

#include "common/fit_verb.hpp"
#include "kmeans/fits.hpp"
#include "kmeans/verbs.hpp"

namespace shoal::app {
namespace {

constexpr const char* select_examples = R"(Examples:
  shoal kmeans select rows.csv --clusters 1..20 --output best.json --report choice.html
  shoal kmeans select rows.csv --clusters 2,4,8 --criterion aic --json

Fits every number of clusters and keeps the one whose criterion, that of a spherical model with one variance, is least.
With --checkpoint FILE each number has its own file, FILE.K. With --json the object describes the chosen fit, and
candidates has a row for each number.)";

}  // namespace

void add_kmeans_select(CLI::App& noun, verb& selected) {
  const auto command = std::make_shared<select_command<kmeans_types>>();
  CLI::App& app = *add_verb(
      noun, "select", "Choose the number of clusters", select_examples, selected,
      [command] { run_select(kmeans_fits(), *command); }, processes::several);
  add_counts(app, "--clusters", command->groups, "Numbers of clusters to try: 1..20 or 1,2,5");
  add_choice(app, "--criterion", command->criterion, criterion_choices(), "What is to be least", "bic");
  add_kmeans_options(app, command->words);
}

}  // namespace shoal::app
