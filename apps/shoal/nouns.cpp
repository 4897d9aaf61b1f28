// The list of nouns.
#include "nouns.hpp"

#include <CLI/CLI.hpp>

#include "assign/noun.hpp"
#include "completion/noun.hpp"
#include "data/noun.hpp"
#include "devices/noun.hpp"
#include "gmm/noun.hpp"
#include "help/noun.hpp"
#include "kmeans/noun.hpp"
#include "manual/noun.hpp"
#include "metrics/noun.hpp"
#include "som/noun.hpp"
#include "sponge/noun.hpp"
#include "view/noun.hpp"
#include "wave/noun.hpp"

namespace shoal::app {

const char* const program_description =
    "Gaussian mixtures, k-means and self-organizing maps on data of any size, with the same result for any number of "
    "threads.";

const char* const program_example = "shoal gmm fit rows.csv --components 3 --output model.json --report report.html";

const std::vector<noun>& nouns() {
  static const std::vector<noun> known = {gmm_noun(),
                                          kmeans_noun(),
                                          som_noun(),
                                          assign_noun(),
                                          wave_noun(),
                                          metrics_noun(),
                                          sponge_noun(),
                                          view_noun({gmm_view(), kmeans_view(), som_view()}),
                                          data_noun({add_gmm_generate}),
                                          devices_noun(),
                                          help_noun(),
                                          completion_noun(),
                                          manual_noun()};
  return known;
}

void declare_nouns(CLI::App& program, verb& selected) {
  for (const noun& known : nouns()) {
    if (known.alone != nullptr) {
      known.alone(program, selected);
      continue;
    }
    CLI::App& app = *program.add_subcommand(known.name);
    std::vector<std::string> names;
    for (const declare_verb declare : known.verbs) declare(app, selected);
    for (const CLI::App* declared : app.get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(declared->get_name());
    }
    app.description(fmt::format("{}: {}", known.title, fmt::join(names, ", ")));
    app.footer(fmt::format("Example:\n  {}\n\n'shoal {} VERB --help' tells more.", known.example, known.name));
  }
}

}  // namespace shoal::app
