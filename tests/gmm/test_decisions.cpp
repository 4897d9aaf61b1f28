// What is refused as singular is refused for what the data are, not for how sums happened to be rounded.
#include <gtest/gtest.h>

#include <shoal/gmm/check_resolution.hpp>

#include "decision_cases.hpp"

namespace {

using namespace decision_cases;

TEST(GmmDecisions, Float32RefusesEveryStartWithFewerRowsThanColumns) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    std::string reason;
    const decision_case data = few_rows_for_their_columns(50, 300, seed);
    EXPECT_FALSE(decide<float>(data, {}, &reason)) << data.name;
    EXPECT_NE(reason.find("ill-defined empirical covariance"), std::string::npos) << data.name << ": " << reason;
  }
}

TEST(GmmDecisions, Float64AndMoreRegularizationFitThem) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    decision_case data = few_rows_for_their_columns(50, 300, seed);
    EXPECT_TRUE(decide<double>(data, {})) << data.name;
    data.options.regularization = 1e-3;
    EXPECT_TRUE(decide<float>(data, {})) << data.name;
    data.options.regularization = 1e-6;
    data.options.covariance_type = shoal::gmm::covariance_type::diag;
    EXPECT_TRUE(decide<float>(data, {})) << data.name;
  }
}

// A component of 40 columns, with half a row's weight of 10⁵ rows: its covariance has `rank` directions of variance 7.
shoal::gmm::model light_component(std::size_t rank) {
  constexpr std::size_t d = 40;
  shoal::gmm::model made;
  made.components = 2;
  made.columns = d;
  made.weights = {1 - 5e-6, 5e-6};
  made.means.assign(2 * d, 0.0);
  made.covariances.assign(2 * d * d, 0.0);
  for (std::size_t j = 0; j < d; ++j) {
    made.covariances[j * d + j] = 1;
    made.covariances[(d + j) * d + j] = (j < rank ? 7.0 : 0.0) + 1e-6;
  }
  return made;
}

TEST(GmmDecisions, ALittleOfManyRowsIsEnoughForACovariance) {
  shoal::data_summary summary;
  summary.positive_rows = 100'000;
  EXPECT_NO_THROW(shoal::gmm::check_resolution<float>(light_component(40), summary, 1e-6));
  EXPECT_THROW(shoal::gmm::check_resolution<float>(light_component(39), summary, 1e-6), shoal::error);
  EXPECT_NO_THROW(shoal::gmm::check_resolution<double>(light_component(39), summary, 1e-6));
}

}  // namespace
