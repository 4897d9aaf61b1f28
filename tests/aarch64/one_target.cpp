// What tests ask of Highway's library, which is this machine's, where code is compiled for one instruction set alone.
#include <shoal/core/simd_targets.hpp>

#include <cstdint>

#include <hwy/highway.h>

static_assert((HWY_TARGETS & (HWY_TARGETS - 1)) == 0, "several instruction sets need Highway's library");

namespace hwy {

std::int64_t SupportedTargets() { return HWY_TARGETS; }
void SetSupportedTargetsForTest(std::int64_t) {}

}  // namespace hwy
