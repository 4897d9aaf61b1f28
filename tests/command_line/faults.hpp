// Fits of which every request to the system fails in turn: what the folder of each noun says of its own, and
// test_faults.cpp tries.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "program.hpp"

namespace shoal_test {

struct failing_fit {
  std::string name;
  words fit;         ///< without data: a small one, for thousands of repetitions
  std::string rows;  ///< the file of rows: rows.csv, rows.npy or rows.csv.gz
  long stride = 1;   ///< between two allocations that fail
};

void PrintTo(const failing_fit& tested, std::ostream* out);

class faults : public testing::TestWithParam<failing_fit> {};

/// Names a test after its fit.
inline std::string failing_name(const testing::TestParamInfo<failing_fit>& tested) { return tested.param.name; }

}  // namespace shoal_test
