// Checkpoints of k-means on a CUDA device that no fit has written: refused, or led to an end.
#include <shoal/kmeans/fit.hpp>

#include "../../cuda_devices.hpp"
#include "../../mutated_checkpoint.hpp"
#include "../kmeans_reference.hpp"

namespace {

namespace kmeans = shoal::kmeans;

class DeviceCheckpoint : public cuda_devices::on_one_device {};

template <class Scalar>
void expect_safe(std::size_t clusters) {
  const auto data = kmeans_reference::clouds<Scalar>(700, 2, 5, 1.5);
  const shoal::view_source<Scalar> rows(data.view());
  kmeans::options options;
  options.clusters = clusters;
  options.max_iterations = 8;
  options.tolerance = 0;
  options.restarts = 2;
  options.device.cuda = cuda_devices::first(1);
  options.checkpoint = mutated_checkpoint::file_named("kmeans_device_checkpoint");
  mutated_checkpoint::expect_safe(
      options.checkpoint,
      [&](const shoal::control& control, double checkpoint_seconds) {
        options.checkpoint_seconds = checkpoint_seconds;
        kmeans::fit(rows, options, nullptr, control);
      },
      1);
}

TEST_F(DeviceCheckpoint, IsCheckedWordByWord) {
  expect_safe<float>(4);
  expect_safe<double>(5);
}

TEST_F(DeviceCheckpoint, OfManyCentroidsIsCheckedWordByWord) { expect_safe<float>(120); }

}  // namespace
