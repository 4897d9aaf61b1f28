// Centroids on ranks: the bytes of one process, from the data check to the last label.
#include "fits.hpp"

using namespace shoal_test;

TEST(FitOnRanks, Centroids) { expect_bytes_of_one_process({"kmeans", "fit", "--clusters", "5", "--seed", "3"}); }

TEST(FitOnRanks, WeightedCentroidsFromAParallelStart) {
  expect_bytes_of_one_process(
      {"kmeans", "fit", "--clusters", "5", "--init", "k-means-parallel", "--restarts", "2", "--standardize"}, true);
}
