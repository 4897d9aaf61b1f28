// Tests that need CUDA devices skip, and say so, where there are too few.
#pragma once

#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/devices.hpp>

namespace cuda_devices {

inline std::size_t present() {
  try {
    return shoal::cuda_devices().size();
  } catch (const shoal::error&) {
    return 0;
  }
}

inline std::vector<int> first(std::size_t count) {
  std::vector<int> numbers;
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(static_cast<int>(i));
  return numbers;
}

class on_one_device : public testing::Test {
 protected:
  void SetUp() override {
    if (present() == 0) GTEST_SKIP() << "no CUDA device here";
  }
};

}  // namespace cuda_devices
