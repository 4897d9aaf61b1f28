// Incremental fits from within: the group law on kept statistics, and Neal and Hinton's free energy.
#include <cmath>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <shoal/estimation/data_check.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/gmm/accumulate.hpp>
#include <shoal/gmm/chunked/incremental.hpp>
#include <shoal/gmm/parameters.hpp>

#include "algorithm_data.hpp"

namespace {

using namespace algorithm_data;
using gmm::algorithm;
using gmm::covariance_type;
using gmm::statistics;

// A fit with all that it borrows.
struct fixture {
  fixture(const std::vector<double>& values, std::size_t columns, const gmm::options& wanted)
      : options(wanted),
        workers(shoal::make_executor(2)),
        source({values.data(), values.size() / columns, columns}),
        context{workers.get(), 0, {}},
        summary(shoal::check_data<double>(context, source, nullptr)),
        data{&source, nullptr, 1},
        fit({context, data, summary, options}) {
    fit.seed(0);
  }

  gmm::options options;
  std::unique_ptr<shoal::executor> workers;
  shoal::view_source<double> source;
  shoal::fold_context context;
  shoal::data_summary summary;
  shoal::weighted_rows<double> data;
  gmm::incremental_fit<double> fit;
};

// Σ w E ln p(x, z) under the model, where the statistics about `centres` [K][d] are those of the expectation.
double expected_log_likelihood(const statistics& sums, std::span<const double> centres, const gmm::model& model) {
  const auto d = static_cast<Eigen::Index>(model.columns);
  double total = 0;
  const auto element = [&](std::size_t k, Eigen::Index i, Eigen::Index j) {
    const auto row = static_cast<std::size_t>(i), column = static_cast<std::size_t>(j);
    switch (model.covariance_type) {
      case covariance_type::full:
        return model.covariances[(k * model.columns + row) * model.columns + column];
      case covariance_type::tied:
        return model.covariances[row * model.columns + column];
      case covariance_type::diag:
        return i == j ? model.covariances[k * model.columns + row] : 0.0;
      case covariance_type::spherical:
        return i == j ? model.covariances[k] : 0.0;
    }
    return 0.0;
  };
  // What tied components share is counted once, and so is its product with the common precision.
  const bool tied = model.covariance_type == covariance_type::tied;
  for (std::size_t k = 0; k < model.components; ++k) {
    const double weight = sums.weight(k);
    Eigen::MatrixXd covariance(d, d), moments(d, d);
    Eigen::VectorXd first(d), delta(d);
    for (Eigen::Index i = 0; i < d; ++i) {
      const auto at = static_cast<std::size_t>(i);
      first(i) = sums.first(k, at);
      delta(i) = model.means[k * model.columns + at] - centres[k * model.columns + at];
      for (Eigen::Index j = 0; j < d; ++j) {
        covariance(i, j) = element(k, i, j);
        const bool kept = sums.layout().has_matrices() ? !tied || k == 0 : i == j;
        moments(i, j) = kept ? sums.second(k, at, static_cast<std::size_t>(j)) : 0.0;
      }
    }
    const Eigen::MatrixXd about =
        moments - first * delta.transpose() - delta * first.transpose() + weight * delta * delta.transpose();
    const Eigen::LLT<Eigen::MatrixXd> cholesky(covariance);
    const double log_determinant = 2 * cholesky.matrixLLT().diagonal().array().log().sum();
    total += weight * (std::log(model.weights[k]) -
                       0.5 * (static_cast<double>(d) * std::log(6.283185307179586) + log_determinant));
    total -= 0.5 * cholesky.solve(about).trace();
  }
  return total;
}

class Incremental : public testing::TestWithParam<covariance_type> {};
INSTANTIATE_TEST_SUITE_P(Types, Incremental, testing::ValuesIn(fit_data::all_types()));

void expect_free_energy_never_falls(const std::vector<double>& values, const gmm::options& options,
                                    std::size_t passes) {
  fixture f(values, 2, options);
  const std::size_t chunks = f.fit.plan().chunks;
  std::vector<double> entropies(chunks), objectives(chunks, std::nan(""));
  double before = -INFINITY;
  std::size_t steps = 0, full_passes = 0;
  for (std::size_t pass = 0; pass < passes; ++pass) {
    for (gmm::model visited = f.fit.current(); f.fit.step(); visited = f.fit.current()) {
      const gmm::kept_statistics& kept = f.fit.kept();
      double free_energy = expected_log_likelihood(kept.total(), kept.centres(), f.fit.current());
      for (std::size_t c = 0; c < chunks; ++c) {
        // Only a chunk that was visited has another log-likelihood now; then its entropy is what that is more than the
        // expectation of the complete data under the model that it was visited with.
        const double objective = kept.chunk(c).log_likelihood();
        if (objective != objectives[c]) {
          entropies[c] = objective - expected_log_likelihood(kept.chunk(c), kept.centres(), visited);
          objectives[c] = objective;
        }
        free_energy += entropies[c];
      }
      const double scale = std::abs(free_energy) * 1e-12;
      EXPECT_GE(free_energy, before - scale) << "pass " << pass << ", step " << steps;
      before = free_energy;
      ++steps;
      full_passes += pass == 0 ? 1 : 0;
    }
    f.fit.finish();
  }
  EXPECT_EQ(full_passes, 1u);
  EXPECT_EQ(steps, 1 + (passes - 1) * f.fit.plan().superchunks());
  EXPECT_GT(f.fit.plan().superchunks(), 1u);
  // In the end the bound is tight: it is the log-likelihood of all rows.
  EXPECT_NEAR(f.fit.score() * static_cast<double>(f.source.rows()), before,
              1e-2 * static_cast<double>(f.source.rows()));
}

TEST_P(Incremental, FreeEnergyNeverFallsAtAnyStep) {
  auto options = options_for(algorithm::incremental, 3, 1, GetParam());
  options.chunks.rows = 150;
  options.chunks.superchunks = 7;
  expect_free_energy_never_falls(fit_data::clusters(3000, 2, 3, 2.5), options, 12);
}

TEST_P(Incremental, FreeEnergyNeverFallsRowByRow) {
  auto options = options_for(algorithm::incremental, 2, 1, GetParam());
  options.chunks.rows = 1;
  options.chunks.superchunks = 200;
  expect_free_energy_never_falls(fit_data::clusters(200, 2, 2, 3), options, 6);
}

TEST_P(Incremental, DeltasAndWhatWasThereAreAFullPass) {
  const auto values = fit_data::clusters(4000, 2, 3, 2.5, 1e3);
  auto options = options_for(algorithm::incremental, 3, 1, GetParam());
  options.chunks.rows = 130;
  options.chunks.superchunks = 9;
  fixture f(values, 2, options);
  for (std::size_t pass = 0; pass < 5; ++pass) {
    while (f.fit.step()) {
    }
    if (pass == 4) break;  // before the pass ends and sums anew
    f.fit.finish();
  }
  const gmm::kept_statistics& kept = f.fit.kept();
  const gmm::statistics_group group(kept.total().layout());
  statistics summed = group.identity();
  for (std::size_t c = 0; c < f.fit.plan().chunks; ++c) group.combine_into(summed, kept.chunk(c));
  for (std::size_t i = 0; i < summed.values().size(); ++i) {
    EXPECT_NEAR(kept.total().values()[i], summed.values()[i], 1e-10 * (1 + std::abs(summed.values()[i]))) << i;
  }
  // All chunks under the present model, each in the place of what it said before, make the statistics of a full pass.
  gmm::kept_statistics renewed = kept;
  const auto prepared = gmm::prepare_about<double>(f.fit.current(), kept.centres());
  auto readers = gmm::make_chunk_readers<double>(f.context, f.data, f.fit.plan());
  for (std::size_t c = 0; c < f.fit.plan().chunks; ++c) {
    statistics fresh = group.identity();
    readers[0].sum(f.fit.plan(), c, {&prepared}, fresh);
    renewed.replace(c, fresh);
  }
  const statistics full = shoal::fold<double>(f.context, f.data, group, gmm::accumulation<double>{&prepared});
  for (std::size_t i = 0; i < full.values().size(); ++i) {
    EXPECT_NEAR(renewed.total().values()[i], full.values()[i], 1e-10 * (1 + std::abs(full.values()[i]))) << i;
  }
}

TEST_P(Incremental, RebuildingAboutOtherCentresChangesNothingButTheCentres) {
  const auto values = fit_data::clusters(2000, 2, 2, 3);
  auto options = options_for(algorithm::incremental, 2, 1, GetParam());
  options.chunks.rows = 100;
  fixture f(values, 2, options);
  f.fit.step();
  gmm::kept_statistics moved = f.fit.kept();
  const std::vector<double> there(moved.centres().begin(), moved.centres().end());
  std::vector<double> elsewhere = there;
  for (double& centre : elsewhere) centre += 0.75;
  moved.rebuild(elsewhere, *f.workers);
  moved.rebuild(there, *f.workers);
  for (std::size_t i = 0; i < moved.total().values().size(); ++i) {
    const double expected = f.fit.kept().total().values()[i];
    EXPECT_NEAR(moved.total().values()[i], expected, 1e-11 * (2000 + std::abs(expected))) << i;
  }
}

TEST(WithoutResidue, ClearsOnlyComponentsThatHaveLostTheirRows) {
  statistics sums(gmm::statistics_layout(covariance_type::diag, 2, 1));
  const auto& layout = sums.layout();
  sums.values()[layout.total_weight()] = 1000;
  for (std::size_t k = 0; k < 2; ++k) {
    sums.values()[layout.weight(k)] = k == 0 ? 1e-10 : 1000;
    sums.values()[layout.first(k, 0)] = 3;
    sums.values()[layout.second(k, 0, 0)] = 4;
  }
  const statistics cleared = gmm::without_residue(sums);
  EXPECT_EQ(cleared.weight(0), 0);
  EXPECT_EQ(cleared.first(0, 0), 0);
  EXPECT_EQ(cleared.second(0, 0, 0), 0);
  EXPECT_EQ(cleared.weight(1), 1000);
  EXPECT_EQ(cleared.first(1, 0), 3);
  EXPECT_EQ(cleared.second(1, 0, 0), 4);
}

}  // namespace
