// What is refused as singular is refused for what the data are, not for how sums happened to be rounded.
#include <gtest/gtest.h>

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

}  // namespace
