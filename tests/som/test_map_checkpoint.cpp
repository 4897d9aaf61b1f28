// Checkpoints of maps that no training has written: refused, or led to an end.
#include <shoal/som/fit.hpp>

#include "../mutated_checkpoint.hpp"
#include "som_reference.hpp"

namespace {

namespace som = shoal::som;

template <class Scalar>
void expect_safe(som::training training, som::metric metric, std::size_t side) {
  const auto data = som_reference::clouds<Scalar>(600, 3);
  const shoal::view_source<Scalar> rows(data.view());
  som::options options;
  options.width = options.height = side;
  options.training = training;
  options.metric = metric;
  options.epochs = 4;
  options.threads = 1;
  options.checkpoint = mutated_checkpoint::file_named("map_checkpoint");
  mutated_checkpoint::expect_safe(
      options.checkpoint,
      [&](const shoal::control& control, double checkpoint_seconds) {
        options.checkpoint_seconds = checkpoint_seconds;
        som::fit(rows, options, nullptr, control);
      },
      2);
}

TEST(MapCheckpoint, OfBatchTrainingIsCheckedWordByWord) {
  expect_safe<float>(som::training::batch, som::metric::euclidean, 3);
  expect_safe<double>(som::training::batch, som::metric::taxicab, 3);
}

// Enough units for the search that looks at some of them first.
TEST(MapCheckpoint, OfManyUnitsIsCheckedWordByWord) {
  expect_safe<float>(som::training::batch, som::metric::euclidean, 12);
}

TEST(MapCheckpoint, OfOnlineTrainingIsCheckedWordByWord) {
  expect_safe<float>(som::training::online, som::metric::euclidean, 3);
}

}  // namespace
