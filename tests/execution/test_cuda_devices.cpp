// What a build with CUDA says about its devices, on a machine with or without one.
#include <gtest/gtest.h>

#include <shoal/execution/devices.hpp>

TEST(CudaDevices, AreListedInOrderWithPlausibleFigures) {
  const auto devices = shoal::cuda_devices();
  if (devices.empty()) GTEST_SKIP() << "this machine has no CUDA device";
  for (std::size_t i = 0; i < devices.size(); ++i) {
    EXPECT_EQ(devices[i].index, static_cast<int>(i));
    EXPECT_FALSE(devices[i].name.empty());
    EXPECT_GT(devices[i].memory_bytes, std::size_t{1} << 30);
    EXPECT_GE(devices[i].compute_capability, 75);
    EXPECT_GT(devices[i].multiprocessors, 0u);
  }
}
