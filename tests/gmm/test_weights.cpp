// Weights of mixtures: their unit and scalar, and rows that weigh nothing.
#include <shoal/gmm/gmm.hpp>
#include <shoal/gmm/statistics.hpp>

#include "../weighted_fits.hpp"

namespace {

using namespace weighted_fits;
namespace gmm = shoal::gmm;
using enum gmm::covariance_type;
using enum gmm::initialization;

auto fit_with(gmm::covariance_type type, gmm::initialization init, gmm::algorithm algorithm = gmm::algorithm::batch) {
  return [=]<class Scalar>(const shoal::row_source<Scalar>& rows, shoal::row_weights weights) {
    gmm::options options;
    options.components = 3;
    options.covariance_type = type;
    options.init = init;
    options.algorithm = algorithm;
    options.seed = 5;
    options.threads = 1;
    options.max_iterations = 5;
    options.tolerance = 0;
    const gmm::fit_result result = gmm::fit(rows, options, weights);
    answer found{result.model.means, result.total_weight};
    found.numbers.insert(found.numbers.end(), result.model.weights.begin(), result.model.weights.end());
    found.numbers.insert(found.numbers.end(), result.model.covariances.begin(), result.model.covariances.end());
    found.numbers.push_back(result.mean_log_likelihood);
    return found;
  };
}

TEST(GmmWeights, TheirUnitAndScalarDoNotMatter) {
  for (const auto type : {full, diag}) expect_any_unit(fit_with(type, kmeans));
  expect_exact_counts(fit_with(full, plus_plus));
}

TEST(GmmWeights, RowsOfWeightZeroAreAsIfAbsentForEveryStart) {
  for (const auto init : {kmeans, plus_plus, parallel, random_rows, random_responsibilities, kmeans_of_tenth}) {
    const std::string of = "start " + std::to_string(static_cast<int>(init));
    expect_absent(fit_with(full, init), of);
    expect_absent_in_float64(fit_with(full, init), of);
  }
  for (const auto type : {tied, diag, spherical}) {
    expect_absent(fit_with(type, kmeans), "type " + std::to_string(static_cast<int>(type)));
    expect_absent_in_float64(fit_with(type, kmeans), "type " + std::to_string(static_cast<int>(type)));
  }
}

TEST(GmmWeights, RowsOfWeightZeroAreMeasuredAndNotCounted) {
  gmm::model model;
  model.covariance_type = diag;
  model.components = model.columns = 1;
  model.weights = model.covariances = {1};
  model.means = {0};
  const std::vector<double> rows = {0.5, 1e120, -1}, weights = {1, 0, 2};
  std::vector<double> log_density(3);
  const shoal::view_source<double> source({rows.data(), 3, 1}), weight_source({weights.data(), 3, 1});
  const double mean =
      gmm::predict(model, source, gmm::prediction<double>{nullptr, nullptr, log_density.data()}, 1, 0, &weight_source);
  EXPECT_NEAR(log_density[1] / -5e239, 1, 1e-12);
  EXPECT_NEAR(mean, (log_density[0] + 2 * log_density[2]) / 3, 1e-14);
}

// Thin components without regularization, and rows that weigh nothing where float64 has no density left.
TEST(GmmWeights, RowsOfWeightZeroMayHaveNoDensity) {
  constexpr std::size_t count = 1400, columns = 3;
  std::vector<double> near, far, weights;
  std::uint64_t state = 3;
  const auto uniform = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      near.push_back(std::ldexp(10.0 * static_cast<double>(i % 2) + uniform() + uniform() + uniform(), -100));
    }
    weights.push_back(i % 7 == 3 ? 0 : 1 + 0.1 * static_cast<double>(i % 5));
  }
  far = near;
  for (std::size_t i = 3; i < count; i += 7) far[i * columns] = 1e140;
  const shoal::view_source<double> held({weights.data(), count, 1});
  const auto fit = [&](const std::vector<double>& values, gmm::covariance_type type, gmm::algorithm algorithm,
                       bool memberships) {
    gmm::options options;
    options.components = 2;
    options.covariance_type = type;
    options.algorithm = algorithm;
    options.init = random_rows;
    options.seed = 4;
    options.regularization = 0;
    options.max_iterations = 5;
    options.tolerance = 0;
    options.threads = 1;
    if (algorithm != gmm::algorithm::batch) options.chunks.rows = 100;
    options.chunks.memberships = options.chunks.local_models = memberships;
    if (memberships) options.chunks.threshold = 0.01;
    return gmm::fit(shoal::view_source<double>({values.data(), count, columns}), options, &held);
  };
  for (const auto type : {full, tied, diag, spherical}) {
    for (const auto algorithm :
         {gmm::algorithm::batch, gmm::algorithm::incremental, gmm::algorithm::stepwise, gmm::algorithm::asynchronous}) {
      for (const bool memberships : {false, true}) {
        if (memberships && algorithm != gmm::algorithm::asynchronous) continue;
        const gmm::fit_result expected = fit(near, type, algorithm, memberships);
        const gmm::fit_result got = fit(far, type, algorithm, memberships);
        EXPECT_NEAR(got.mean_log_likelihood, expected.mean_log_likelihood, 1e-9)
            << "type " << static_cast<int>(type) << ", algorithm " << static_cast<int>(algorithm);
      }
    }
  }
}

TEST(GmmWeights, StatisticsTakeThemInAnyUnit) {
  const table data;
  gmm::options options;
  options.components = 2;
  const shoal::view_source<float> source({data.rows.data(), data.count(), 2});
  const gmm::model model = gmm::fit(source, options).model;
  const auto sums_with = [&](double factor) {
    std::vector<double> weights;
    for (const double weight : data.weights) weights.push_back(weight * factor);
    const shoal::view_source<double> weight_source({weights.data(), weights.size(), 1});
    return gmm::accumulate(model, source, {}, &weight_source);
  };
  const auto once = sums_with(1).sums(), huge = sums_with(0x1p130).sums(), tiny = sums_with(0x1p-200).sums();
  for (std::size_t k = 0; k < 2; ++k) {
    EXPECT_EQ(huge.weight(k), once.weight(k) * 0x1p130);
    EXPECT_EQ(tiny.weight(k), once.weight(k) * 0x1p-200);
  }
}

}  // namespace
