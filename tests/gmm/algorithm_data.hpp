// Data and starts on which the algorithms for mixtures are compared.
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <shoal/gmm/fit.hpp>

#include "../copying_source.hpp"
#include "fit_data.hpp"

namespace algorithm_data {

namespace gmm = shoal::gmm;
using copied_rows::copying_source;

/// A fit of `components` that takes exactly `passes` from distinct rows, on two threads, without regularisation.
inline gmm::options options_for(gmm::algorithm algorithm, std::size_t components, std::size_t passes,
                                gmm::covariance_type type = gmm::covariance_type::full) {
  gmm::options options;
  options.components = components;
  options.covariance_type = type;
  options.algorithm = algorithm;
  options.init = gmm::initialization::random_rows;
  options.max_iterations = passes;
  options.tolerance = 0;
  options.regularization = 0;
  options.threads = 2;
  return options;
}

inline bool same_bits(const gmm::model& a, const gmm::model& b) {
  return a.weights == b.weights && a.means == b.means && a.covariances == b.covariances;
}

/// The greatest difference of two models' numbers, relative to their size and at least to one.
inline double difference(const gmm::model& a, const gmm::model& b) {
  double greatest = 0;
  const auto look = [&](const std::vector<double>& x, const std::vector<double>& y) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      greatest = std::max(greatest, std::abs(x[i] - y[i]) / (1 + std::abs(y[i])));
    }
  };
  look(a.weights, b.weights);
  look(a.means, b.means);
  look(a.covariances, b.covariances);
  return greatest;
}

/// A fit that is stopped after `pass` passes, and a second one that resumes it on one thread.
inline gmm::fit_result stopped_and_resumed(const shoal::row_source<double>& rows, gmm::options options,
                                           std::size_t pass) {
  const std::string path = (std::filesystem::temp_directory_path() / "shoal-gmm-algorithm.checkpoint").string();
  std::filesystem::remove(path);
  options.checkpoint = path;
  options.checkpoint_seconds = 0;
  std::stop_source stop;
  shoal::control control;
  control.stop = stop.get_token();
  std::size_t passes = 0;
  control.report = [&](const shoal::progress& progress) {
    if (progress.phase == "gmm" && ++passes == pass) stop.request_stop();
  };
  try {
    gmm::fit(rows, options, nullptr, control);
  } catch (const shoal::interrupted&) {
  }
  if (passes != pass) throw shoal::error("the fit was not stopped");
  options.threads = 1;
  gmm::fit_result result = gmm::fit(rows, options);
  std::filesystem::remove(path);
  return result;
}

}  // namespace algorithm_data
