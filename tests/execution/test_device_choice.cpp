// Devices by name, and the precision that only they have.
#include <string>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/device_choice.hpp>

namespace {

using shoal::precision;

TEST(DeviceChoice, NamesTheHost) {
  EXPECT_TRUE(shoal::choose_device("cpu").on_host());
  EXPECT_EQ(shoal::device_name(shoal::choose_device("cpu")), "cpu");
  EXPECT_EQ(shoal::device_name({{0, 2}}), "cuda:0,2");
}

TEST(DeviceChoice, RefusesOtherNames) {
  for (const char* const name : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:0,", "cuda0", "CPU"}) {
    EXPECT_THROW(shoal::choose_device(name), shoal::bad_argument) << name;
  }
}

std::string refusal(const shoal::device_choice& choice, bool rows_are_float64) {
  try {
    shoal::check_precision(choice, rows_are_float64);
  } catch (const shoal::bad_argument& failure) {
    return failure.what();
  }
  return "";
}

TEST(Precision, IsFloat32OnTheHostAndForFloat64Rows) {
  EXPECT_EQ(refusal({}, false), "");
  EXPECT_EQ(refusal({}, true), "");
  EXPECT_EQ(refusal({{0}}, true), "");
  EXPECT_NE(refusal({{}, 0, precision::tf32}, false).find("precision tf32"), std::string::npos);
  EXPECT_NE(refusal({{}, 0, precision::bf16}, true).find("runs on the cpu"), std::string::npos);
  EXPECT_NE(refusal({{0}, 0, precision::bf16}, true).find("precision bf16 is for float32 rows"), std::string::npos);
}

TEST(Precision, RoundsFloat32RowsOnDevices) {
  EXPECT_EQ(refusal({{0}, 0, precision::tf32}, false), "");
  EXPECT_EQ(refusal({{0}, 0, precision::bf16}, false), "");
}

}  // namespace
