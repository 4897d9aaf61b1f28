// Fits that are killed or stopped, and resumed: what the folder of each noun says of its own, and test_interruption.cpp
// tries.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "program.hpp"

namespace shoal_test {

struct interrupted_fit {
  std::string name;
  words fit;                   ///< without data; as many iterations as leave time to be caught in, and few enough to be
                               ///< repeated under a sanitizer
  std::vector<words> refused;  ///< further options that make it another fit
};

void PrintTo(const interrupted_fit& tested, std::ostream* out);

/// Rows in a file, and the fit of them with and without a checkpoint.
class interruption : public testing::TestWithParam<interrupted_fit> {
 protected:
  interruption();

  /// The model file of a fit that nobody stops.
  std::string uninterrupted();

  /// Waits until the fit has written `checkpoints` different checkpoints; false when it ended before.
  bool wait_for_checkpoints(process& fit, int checkpoints);

  scratch_folder folder;
  words command;
  words checkpointed;
};

/// Names a test after its fit.
inline std::string fit_name(const testing::TestParamInfo<interrupted_fit>& tested) { return tested.param.name; }

}  // namespace shoal_test
