// The models that an algorithm passes through, by the number of passes.
#pragma once

#include <cstddef>
#include <map>
#include <optional>

#include <shoal/gmm/model.hpp>
#include <shoal/gmm/options.hpp>
#include <shoal/gmm/result.hpp>

#include "gmm/study/study.hpp"

namespace shoal::app {

/// A path has arrived when its mean log-likelihood is so near to its goal.
inline constexpr double near_enough = 1e-4;

/// Fits of one algorithm from one start that end after given numbers of passes. An algorithm that draws the same
/// numbers whatever its last pass goes through the same models in each; an asynchronous one does so in distribution.
template <class Scalar>
class study_path {
 public:
  /// `options` has the start and the algorithm. Borrows everything.
  study_path(matrix_view<const Scalar> rows, gmm::options options, bool exact_history, const control& control);

  /// Mean log-likelihood after so many passes.
  double log_likelihood(std::size_t passes);
  const gmm::model& model(std::size_t passes);
  /// Seconds that the loop of that fit took.
  double loop_seconds(std::size_t passes);

  /// Mean log-likelihood after `most` passes, or earlier where a pass changes it by less than `tolerance`.
  double last_log_likelihood(std::size_t most, double tolerance);

  /// The least number of passes whose model comes to `target`, among 0 … most, found by doubling and halving.
  std::optional<std::size_t> passes_to(double target, std::size_t most);

 private:
  struct place {
    gmm::model model;
    double log_likelihood = 0;
    double loop_seconds = 0;
  };
  const place& at(std::size_t passes);
  gmm::fit_result fit(std::size_t most_passes, double tolerance);

  view_source<Scalar> rows_;
  gmm::options options_;
  bool exact_history_;
  const control& control_;
  std::map<std::size_t, place> places_;
  std::vector<double> history_;
};

/// Options of one algorithm from the model `start`, to run a given number of passes on the setting's threads.
gmm::options options_from(const gmm::model& start, const study_algorithm& algorithm, const study_setting& setting);

/// The host, or the first of the setting's GPUs.
device_choice first_device(const study_setting& setting);

/// A start whose means are rows drawn by k-means++, with the rows' variances and equal weights.
template <class Scalar>
gmm::model random_start(matrix_view<const Scalar> rows, std::size_t components, gmm::covariance_type type,
                        std::uint64_t seed, const study_setting& setting);

/// Unit Gaussians of equal weight, the coordinates of whose means are normal of that standard deviation.
gmm::model unit_mixture(std::size_t components, std::size_t columns, double spread, std::uint64_t seed);

/// Rows drawn from it.
template <class Scalar>
std::vector<Scalar> draw(const gmm::model& model, std::size_t rows, std::uint64_t seed);

}  // namespace shoal::app
