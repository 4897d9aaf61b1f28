// Fits on a GPU give the bits that they gave before, of its kind: see ../test_bits.cpp. Online maps do not run there.
#include <string>

#include <gtest/gtest.h>

#include "../../cuda_devices.hpp"
#include "../fits.hpp"
#include "../kept_hashes.hpp"

namespace {

class BitsOnCuda : public cuda_devices::on_one_device {};

TEST_F(BitsOnCuda, AreThoseThatWereKept) {
  const bits::place first_device{{{0}}};
  const std::string hardware = bits::hardware_of(first_device);
  if (const std::string reason = bits::nothing_kept(hardware); !reason.empty()) GTEST_SKIP() << reason;
  bits::compare_or_write(hardware, bits::fits_that_run_on(bits::runs_on::devices), first_device);
}

}  // namespace
