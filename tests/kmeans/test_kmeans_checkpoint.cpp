// Checkpoints of k-means that no fit has written: refused, or led to an end.
#include <shoal/kmeans/fit.hpp>

#include "../mutated_checkpoint.hpp"
#include "kmeans_reference.hpp"

namespace {

namespace kmeans = shoal::kmeans;

template <class Scalar>
void expect_safe(std::size_t clusters, std::size_t reports) {
  const auto data = kmeans_reference::clouds<Scalar>(700, 2, 5, 1.5);
  const shoal::view_source<Scalar> rows(data.view());
  kmeans::options options;
  options.clusters = clusters;
  options.max_iterations = 8;
  options.tolerance = 0;
  options.restarts = 2;
  options.threads = 1;
  options.checkpoint = mutated_checkpoint::file_named("kmeans_checkpoint");
  mutated_checkpoint::expect_safe(
      options.checkpoint,
      [&](const shoal::control& control, double checkpoint_seconds) {
        options.checkpoint_seconds = checkpoint_seconds;
        kmeans::fit(rows, options, nullptr, control);
      },
      reports);
}

TEST(KmeansCheckpoint, IsCheckedWordByWord) {
  expect_safe<float>(4, 10);
  expect_safe<double>(5, 2);
}

// Enough centroids for the search among cells.
TEST(KmeansCheckpoint, OfManyCentroidsIsCheckedWordByWord) { expect_safe<float>(120, 3); }

}  // namespace
