// A build without CUDA says so, and says what to do.
#include <string>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/devices.hpp>

TEST(CudaAbsent, SaysHowToBuildIt) {
  try {
    shoal::cuda_devices();
    FAIL() << "nothing was thrown";
  } catch (const shoal::not_built& failure) {
    EXPECT_NE(std::string(failure.what()).find("-DSHOAL_CUDA=ON"), std::string::npos) << failure.what();
  }
}
