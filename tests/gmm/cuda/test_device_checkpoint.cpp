// Checkpoints of mixtures on a CUDA device that no fit has written: refused, or led to an end, by every algorithm.
#include <vector>

#include <shoal/gmm/fit.hpp>

#include "../../cuda_devices.hpp"
#include "../../mutated_checkpoint.hpp"
#include "../fit_data.hpp"

namespace {

namespace gmm = shoal::gmm;

class DeviceCheckpoint : public cuda_devices::on_one_device {};

void expect_safe(gmm::algorithm algorithm, gmm::acceleration acceleration, std::size_t reports) {
  constexpr std::size_t size = 9000;  // two chunks of a device
  const std::vector<double> data = fit_data::clusters(size, 2, 3, 2.0);
  const shoal::view_source<double> rows(shoal::matrix_view<const double>(data.data(), size, 2));
  gmm::options options;
  options.components = 3;
  options.algorithm = algorithm;
  options.acceleration = acceleration;
  options.init = gmm::initialization::random_rows;
  options.max_iterations = 6;
  options.tolerance = 0;
  options.restarts = 2;
  options.chunks.rows = algorithm == gmm::algorithm::batch ? 0 : 4096;
  options.device.cuda = cuda_devices::first(1);
  options.checkpoint = mutated_checkpoint::file_named("mixture_device_checkpoint");
  mutated_checkpoint::expect_safe(
      options.checkpoint,
      [&](const shoal::control& control, double checkpoint_seconds) {
        options.checkpoint_seconds = checkpoint_seconds;
        gmm::fit(rows, options, nullptr, control);
      },
      reports);
}

TEST_F(DeviceCheckpoint, OfBatchIsCheckedWordByWord) { expect_safe(gmm::algorithm::batch, gmm::acceleration::none, 2); }

TEST_F(DeviceCheckpoint, OfSquaremIsCheckedWordByWord) {
  expect_safe(gmm::algorithm::batch, gmm::acceleration::squarem, 2);
}

TEST_F(DeviceCheckpoint, OfAModelThatMovesWithinAPassIsCheckedWordByWord) {
  using enum gmm::algorithm;
  for (const gmm::algorithm algorithm : {incremental, asynchronous, stepwise}) {
    expect_safe(algorithm, gmm::acceleration::none, 2);
  }
}

}  // namespace
