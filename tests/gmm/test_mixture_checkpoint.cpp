// Checkpoints of mixtures that no fit has written: refused, or led to an end, by every algorithm.
#include <string>
#include <utility>
#include <vector>

#include <shoal/gmm/fit.hpp>

#include "../mutated_checkpoint.hpp"
#include "fit_data.hpp"

namespace {

namespace gmm = shoal::gmm;

gmm::options small_fit(gmm::algorithm algorithm, gmm::covariance_type type) {
  gmm::options options;
  options.components = 3;
  options.covariance_type = type;
  options.algorithm = algorithm;
  options.init = gmm::initialization::random_rows;
  options.max_iterations = 6;
  options.tolerance = 0;
  options.restarts = 2;
  options.threads = 1;
  options.chunks.rows = 512;
  options.chunks.superchunks = 3;
  options.checkpoint = mutated_checkpoint::file_named("mixture_checkpoint");
  return options;
}

void expect_safe(gmm::options options, std::size_t reports) {
  const std::vector<double> data = fit_data::clusters(1200, 2, 3, 2.0);
  const shoal::view_source<double> rows(shoal::matrix_view<const double>(data.data(), 1200, 2));
  mutated_checkpoint::expect_safe(
      options.checkpoint,
      [&](const shoal::control& control, double checkpoint_seconds) {
        options.checkpoint_seconds = checkpoint_seconds;
        gmm::fit(rows, options, nullptr, control);
      },
      reports);
}

TEST(MixtureCheckpoint, OfBatchIsCheckedWordByWord) {
  expect_safe(small_fit(gmm::algorithm::batch, gmm::covariance_type::full), 8);
  expect_safe(small_fit(gmm::algorithm::batch, gmm::covariance_type::spherical), 2);
}

TEST(MixtureCheckpoint, OfSquaremIsCheckedInEveryPhase) {
  gmm::options options = small_fit(gmm::algorithm::batch, gmm::covariance_type::diag);
  options.acceleration = gmm::acceleration::squarem;
  for (const std::size_t reports : {1, 8, 9}) expect_safe(options, reports);
}

TEST(MixtureCheckpoint, OfAModelThatMovesWithinAPassIsCheckedWordByWord) {
  using enum gmm::algorithm;
  for (const gmm::algorithm algorithm : {incremental, asynchronous, stepwise}) {
    expect_safe(small_fit(algorithm, gmm::covariance_type::tied), 8);
  }
}

}  // namespace
