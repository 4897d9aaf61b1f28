// GPUs refuse what the host refuses, and fit what it fits, to the same answers.
#include <cmath>

#include <gtest/gtest.h>

#include "../../cuda_devices.hpp"
#include "../decision_cases.hpp"

namespace {

using namespace decision_cases;

class GmmDecisionsOnDevices : public cuda_devices::on_one_device {
 protected:
  enum class compare { decisions, likelihoods };

  template <class Scalar>
  void expect_same(const decision_case& data, compare what = compare::likelihoods) {
    std::string here, there;
    const auto host = decide<Scalar>(data, {}, &here);
    const auto device = decide<Scalar>(data, {cuda_devices::first(1), 0}, &there);
    ASSERT_EQ(host.has_value(), device.has_value()) << data.name << "\nhost: " << here << "\nGPU: " << there;
    if (!host || what == compare::decisions) return;
    EXPECT_NEAR(device->mean_log_likelihood, host->mean_log_likelihood,
                (sizeof(Scalar) == 4 ? 1e-3 : 1e-6) * std::abs(host->mean_log_likelihood))
        << data.name;
  }
};

TEST_F(GmmDecisionsOnDevices, AreTheHostsForFewerRowsThanColumns) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    expect_same<float>(few_rows_for_their_columns(50, 300, seed));
    expect_same<double>(few_rows_for_their_columns(50, 300, seed));
  }
  // With the regularization of 1e-6 rounding is up to a quarter of the variance in 200 directions without rows, and so
  // in the likelihood: only whether there is a fit can be compared.
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    decision_case data = few_rows_for_their_columns(2000, 700, seed);
    expect_same<float>(data, compare::decisions);
    data.options.regularization = 1e-4;
    expect_same<float>(data);
  }
}

TEST_F(GmmDecisionsOnDevices, AreTheHostsForOneRowFarAway) {
  using enum shoal::gmm::covariance_type;
  for (const auto type : {full, tied, diag, spherical}) {
    for (const double distance : {1e2, 1e4, 1e6, 1e9, 1e12}) {
      expect_same<double>(one_far_row(distance, type));
      expect_same<float>(one_far_row(distance, type));
    }
  }
}

}  // namespace
