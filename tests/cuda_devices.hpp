// Tests that need CUDA devices skip, and say so, where there are too few.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/devices.hpp>

namespace cuda_devices {

/// Why a test that needs so many devices cannot run; empty when it can. A driver that is there and does not serve this
/// build is no reason to skip: it throws, and the test fails.
inline std::string missing(std::size_t needed) {
  std::size_t present = 0;
  try {
    present = shoal::cuda_devices().size();
  } catch (const shoal::not_built&) {
    return "CUDA support was not built";
  }
  if (present >= needed) return {};
  return present == 0 ? "this machine has no CUDA device"
                      : fmt::format("this needs {} CUDA devices, and the machine has {}", needed, present);
}

/// Ends a test, or a fixture's SetUp(), where there are fewer devices.
#define SHOAL_NEEDS_DEVICES(count) \
  if (const std::string reason = cuda_devices::missing(count); !reason.empty()) GTEST_SKIP() << reason

inline std::vector<int> first(std::size_t count) {
  std::vector<int> numbers;
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(static_cast<int>(i));
  return numbers;
}

class on_one_device : public testing::Test {
 protected:
  void SetUp() override { SHOAL_NEEDS_DEVICES(1); }
};

}  // namespace cuda_devices
