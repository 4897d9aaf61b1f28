// shoal som fit
#include <memory>

#include "common/fit_verb.hpp"
#include "som/fits.hpp"
#include "som/verbs.hpp"

namespace shoal::app {
namespace {

constexpr const char* fit_examples = R"(Examples:
  shoal som fit rows.csv --width 20 --height 15 --output map.json --report map.html
  shoal som fit rows.npy --width 200 --height 200 --lattice hexagonal --toroidal --radius 50:1 --epochs 20 --json
  shoal som fit rows.csv --init map.json --radius 1:0.5 --epochs 5 --output finer.json

With --json, quantization_error and topographic_error are those of the returned map; history has, for each epoch, the
quantization error of the map which the epoch started from. With --standardize distances are in standardized units, and
the model keeps them for predict and score. With --checkpoint, Ctrl-C or a crash loses nothing but the last moments: the
same command resumes, and its result is the same to the last bit.)";

}  // namespace

void add_som_fit(CLI::App& noun, verb& selected) {
  const auto options = std::make_shared<som_options>();
  CLI::App& app = *add_verb(
      noun, "fit", "Train a self-organizing map", fit_examples, selected,
      [options] { run_fit(som_fits(), *options, library_options); }, processes::several);
  add_som_options(app, *options);
}

}  // namespace shoal::app
