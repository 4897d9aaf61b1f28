// Checkpoints of maps on a CUDA device that no training has written: refused, or led to an end.
#include <shoal/som/fit.hpp>

#include "../../cuda_devices.hpp"
#include "../../mutated_checkpoint.hpp"
#include "../som_reference.hpp"

namespace {

namespace som = shoal::som;

class DeviceCheckpoint : public cuda_devices::on_one_device {};

void expect_safe(som::metric metric, std::size_t side) {
  const auto data = som_reference::clouds<float>(600, 3);
  const shoal::view_source<float> rows(data.view());
  som::options options;
  options.width = options.height = side;
  options.metric = metric;
  options.epochs = 4;
  options.device.cuda = cuda_devices::first(1);
  options.checkpoint = mutated_checkpoint::file_named("map_device_checkpoint");
  mutated_checkpoint::expect_safe(
      options.checkpoint,
      [&](const shoal::control& control, double checkpoint_seconds) {
        options.checkpoint_seconds = checkpoint_seconds;
        som::fit(rows, options, nullptr, control);
      },
      1);
}

TEST_F(DeviceCheckpoint, IsCheckedWordByWord) {
  expect_safe(som::metric::euclidean, 3);
  expect_safe(som::metric::taxicab, 3);
}

TEST_F(DeviceCheckpoint, OfManyUnitsIsCheckedWordByWord) { expect_safe(som::metric::euclidean, 12); }

}  // namespace
