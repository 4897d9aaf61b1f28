// shoal kmeans fit
#include <memory>

#include "common/fit_verb.hpp"
#include "kmeans/fits.hpp"
#include "kmeans/verbs.hpp"

namespace shoal::app {
namespace {

constexpr const char* fit_examples = R"(Examples:
  shoal kmeans fit rows.csv --clusters 8 --output model.json --labels labels.npy
  shoal kmeans fit rows.npy --clusters 100 --init k-means-parallel --restarts 3 --json
  shoal kmeans fit rows.csv --init model.json --tolerance 0

With --json, inertia is that of the returned centroids; history has, for each iteration, that of the centroids which the
iteration started from. With --standardize the inertia is in standardized units, and the model keeps them for predict.
With --checkpoint, Ctrl-C or a crash loses nothing but the last moments: the same command resumes, and its result is the
same to the last bit. In a build with MPI, mpirun -n 8 or srun -n 8 in front of the command shares the rows among as
many processes, with the same result.)";

struct fit_command {
  kmeans_options options;
  std::optional<std::size_t> clusters;
};

void run(const fit_command& command) {
  run_fit(kmeans_fits(), command.options, [&](const kmeans_options& options, std::size_t threads) {
    return library_options(options, command.clusters, threads);
  });
}

}  // namespace

void add_kmeans_fit(CLI::App& noun, verb& selected) {
  const auto command = std::make_shared<fit_command>();
  CLI::App& app = *add_verb(
      noun, "fit", "Fit centroids by k-means", fit_examples, selected, [command] { run(*command); },
      processes::several);
  add_option(app, "--clusters", "K", "Clusters; not needed when --init is a file", "",
             [command](const std::string& text) { command->clusters = parse_count("--clusters", text, 1); });
  add_kmeans_options(app, command->options);
}

}  // namespace shoal::app
