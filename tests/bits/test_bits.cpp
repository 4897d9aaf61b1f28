// Fits give the bits that they gave before: hashes of about sixty are kept of every instruction set, so that a change
// of the library's structure shows that it changed no result. A commit that changes one on purpose writes new ones (see
// CONTRIBUTING.md) and says why.
//
// What the bits depend on, other than the library's own code:
// - the instruction set that Highway chooses: it decides how many partial sums there are, and whether products and sums
//   are fused. A set is kept of each that a fit names as its hardware. AVX3_DL, which some kernels multiply integers
//   by, goes by the name of AVX3 and must give its bits.
// - exp, log and pow of the C library, which mixtures call for each component and in SQUAREM's coordinates, seeding for
//   each row, and maps for each distance on the lattice. They are not correctly rounded: another version may round
//   otherwise, and glibc has variants for processors with and without fused multiply-add. Rows' own exponentials
//   are the library's. The kept sets are glibc 2.36's on a machine with fused multiply-add; SCALAR's too, so that a
//   machine without it may differ there.
// - Eigen (factorisations and eigenvectors), compiled for x86-64 without extensions.
// Neither threads, memory limits, optimisation nor sanitizers matter.
#define SHOAL_INTEGER_PRODUCTS
#include <shoal/core/simd_targets.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include "fits.hpp"
#include "kept_hashes.hpp"

namespace {

using bits::kept_fit;
using bits::runs_on;

// Of Highway's targets the lower bits are the better ones.
std::vector<std::int64_t> targets_of_this_machine() {
  std::vector<std::int64_t> targets;
  for (std::int64_t rest = hwy::SupportedTargets() & HWY_TARGETS; rest != 0; rest &= rest - 1) {
    targets.push_back(rest & -rest);
  }
  return targets;
}

// As on a machine whose best instruction set is the parameter: sources that are not compiled for it take the next.
class Bits : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(hwy::SupportedTargets() & ~(GetParam() - 1)); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
};
INSTANTIATE_TEST_SUITE_P(Targets, Bits, testing::ValuesIn(targets_of_this_machine()),
                         [](const auto& target) { return std::string(hwy::TargetName(target.param)); });

TEST_P(Bits, AreThoseThatWereKept) {
  const std::string hardware = bits::hardware_of({});
  ASSERT_EQ(hardware, hwy::TargetName(GetParam() == HWY_AVX3_DL ? HWY_AVX3 : GetParam()));
  if (const std::string reason = bits::nothing_kept(hardware); !reason.empty()) GTEST_SKIP() << reason;
  bits::compare_or_write(hardware, bits::fits_that_run_on(runs_on::host), {});
}

TEST(BitsOfAFewFits, DoNotDependOnTheNumberOfThreads) {
  const std::vector<kept_fit> fits = bits::fits_that_run_on(runs_on::host);
  for (std::size_t i = 0; i < fits.size(); i += 3) {
    const std::uint64_t expected = fits[i].hash({{}, 2});
    for (const std::size_t threads : {1, 7})
      EXPECT_EQ(fits[i].hash({{}, threads}), expected) << fits[i].name << ", " << threads << " threads";
  }
}

}  // namespace
