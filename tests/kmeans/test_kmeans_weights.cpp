// Weights of k-means: their unit and scalar, and rows that weigh nothing.
#include <shoal/kmeans/kmeans.hpp>

#include "../weighted_fits.hpp"

namespace {

using namespace weighted_fits;
namespace kmeans = shoal::kmeans;
using enum kmeans::seeding;

auto fit_with(kmeans::seeding init, std::size_t clusters = 3) {
  return [=]<class Scalar>(const shoal::row_source<Scalar>& rows, shoal::row_weights weights) {
    kmeans::options options;
    options.clusters = clusters;
    options.init = init;
    options.seed = 5;
    options.threads = 1;
    const kmeans::fit_result result = kmeans::fit(rows, options, weights);
    answer found{result.model.centroids, result.total_weight};
    for (const double weight : result.cluster_weights) found.numbers.push_back(weight / result.total_weight);
    found.numbers.push_back(result.inertia / result.total_weight);
    return found;
  };
}

TEST(KmeansWeights, TheirUnitAndScalarDoNotMatter) {
  expect_any_unit(fit_with(plus_plus));
  expect_any_unit(fit_with(random_rows));
  expect_exact_counts(fit_with(plus_plus));
}

TEST(KmeansWeights, RowsOfWeightZeroAreAsIfAbsentForEveryStart) {
  for (const auto init : {plus_plus, parallel, random_rows}) {
    for (const std::size_t clusters : {3u, 20u}) {
      const std::string of = "start " + std::to_string(static_cast<int>(init)) + ", K " + std::to_string(clusters);
      expect_absent(fit_with(init, clusters), of);
      expect_absent_in_float64(fit_with(init, clusters), of);
    }
  }
}

}  // namespace
