// shoal gmm fit
#include <memory>

#include "common/fit_verb.hpp"
#include "gmm/fits.hpp"
#include "gmm/verbs.hpp"

namespace shoal::app {
namespace {

constexpr const char* fit_examples = R"(Examples:
  shoal gmm fit rows.csv --components 3 --output model.json --labels labels.npy
  shoal gmm fit huge.npy --components 10 --memory-limit 64MiB --checkpoint fit.checkpoint --output model.json
  shoal gmm fit rows.csv --init model.json --tolerance 0 --max-iterations 1 --json
  shoal gmm fit overlapping.npy --components 6 --tolerance 1e-6 --max-iterations 1000 --accelerate squarem

With --json, mean_log_likelihood is that of the returned model. history has that of the model which each iteration started
from (for algorithms other than batch: of the rows under the models that they met); lower_bound is its last. With
--standardize every figure and the model are in the data's own units; a spherical mixture is then written as the diagonal
one that it is there. With --checkpoint, Ctrl-C or a crash loses nothing but the last moments: the same command resumes,
and its result is the same to the last bit. In a build with MPI, mpirun -n 8 or srun -n 8 in front of the command shares
the rows among as many processes, with the same result.)";

struct fit_command {
  gmm_options options;
  std::optional<std::size_t> components;
};

void run(const fit_command& command) {
  run_fit(gmm_fits(), command.options, [&](const gmm_options& options, std::size_t threads) {
    return library_options(options, command.components, threads);
  });
}

}  // namespace

void add_gmm_fit(CLI::App& noun, verb& selected) {
  const auto command = std::make_shared<fit_command>();
  CLI::App& app = *add_verb(
      noun, "fit", "Fit a Gaussian mixture", fit_examples, selected, [command] { run(*command); }, processes::several);
  add_option(app, "--components", "K", "Components of the mixture; not needed when --init is a file", "",
             [command](const std::string& text) { command->components = parse_count("--components", text, 1); });
  add_gmm_options(app, command->options);
}

}  // namespace shoal::app
