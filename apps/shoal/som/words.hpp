// The words for self-organizing maps on the command line.
#pragma once

#include <optional>
#include <string>

#include <shoal/som/model.hpp>
#include <shoal/som/options.hpp>

#include "common/model_file.hpp"
#include "common/options.hpp"

namespace shoal::app {

const choices<som::lattice>& lattice_choices();
const choices<som::metric>& metric_choices();
const choices<som::neighborhood>& neighborhood_choices();
const choices<som::decay>& decay_choices();
const choices<som::training>& training_choices();
const choices<som::initialization>& initialization_choices();

/// The options of `som fit`. What a start from a file decides too is kept apart from its default.
struct som_options {
  data_options data;
  run_options run;
  fit_options fit;
  som::options map;  ///< as far as words alone say it
  std::optional<std::size_t> width;
  std::optional<std::size_t> height;
  std::optional<som::lattice> lattice;
  bool toroidal = false;
  std::optional<som::metric> metric;
  std::optional<som::range> rate;
  std::optional<som::decay> rate_decay;
};

void add_som_options(CLI::App& app, som_options& options);

/// A way from one number to another: "10:1", both at least `least`, strictly above it when `open`. Throws bad_argument
/// that begins with `option`.
som::range parse_range(std::string_view option, std::string_view text, double least, bool open);

/// Options of the library, and the start that `--init` names, if any.
struct som_request {
  som::options library;
  std::optional<model_file<som::model>> start;
};

/// Throws bad_argument when words contradict each other or the start.
som_request library_options(const som_options& options, std::size_t threads);

/// "200 × 200 units, hexagonal, toroidal", for people.
std::string shape_words(const som::model& model);

}  // namespace shoal::app
