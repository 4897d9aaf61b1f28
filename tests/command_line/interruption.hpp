// Fits that are killed or stopped, and resumed: what the folder of each noun says of its own, and test_interruption.cpp
// tries.
#pragma once

#include <memory>
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

  /// The checkpointed fit with `more` options, held where it is after it has written `checkpoints` of its own; nothing
  /// when it was over before that in every one of many tries.
  std::unique_ptr<process> held_fit(int checkpoints, const words& more = {});

  scratch_folder folder;
  words command;
  words checkpointed;
};

/// Names a test after its fit.
inline std::string fit_name(const testing::TestParamInfo<interrupted_fit>& tested) { return tested.param.name; }

}  // namespace shoal_test
