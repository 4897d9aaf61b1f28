// The words for mixtures on the command line.
#pragma once

#include <optional>
#include <string>

#include <shoal/gmm/covariance_type.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/options.hpp>

#include "common/options.hpp"

namespace shoal::app {

const choices<gmm::covariance_type>& covariance_choices();
const choices<gmm::initialization>& gmm_initialization_choices();

const choices<gmm::algorithm>& algorithm_choices();
const choices<gmm::acceleration>& acceleration_choices();

/// The options of `gmm fit` and `gmm select`.
struct gmm_options {
  data_options data;
  run_options run;
  fit_options fit;
  std::optional<gmm::covariance_type> covariance;
  double regularization = 1e-6;
  std::optional<gmm::algorithm> algorithm;
  gmm::acceleration acceleration = gmm::acceleration::none;
  gmm::chunk_options chunks;
  bool async_em_2013 = false;
};

/// Declares them, but for `--components`.
void add_gmm_options(CLI::App& app, gmm_options& options);

/// What the library is given. A start that `--init` names is read into it.
struct gmm_request {
  gmm::options library;
};

/// Throws bad_argument when the start is of other components, or of another covariance type, than were asked for.
gmm_request library_options(const gmm_options& options, std::optional<std::size_t> components, std::size_t threads);

/// A model file. Its mixture is always in the data's own units.
struct mixture_file {
  gmm::model model;
};
mixture_file read_mixture(const std::string& path);

}  // namespace shoal::app
