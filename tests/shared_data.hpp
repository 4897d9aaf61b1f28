// Published data sets, for the tests that read them: they lie beside the repository, or where SHOAL_DATA says.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace shared_data {

/// A folder that somebody has named must be there: its tests fail otherwise, and are not passed over.
inline std::filesystem::path folder() {
  const char* const named = std::getenv("SHOAL_DATA");
  if (named == nullptr) return std::filesystem::path(SHOAL_SOURCE_DIR) / ".." / "shared" / "data";
  if (!std::filesystem::is_directory(named)) {
    throw std::runtime_error(std::string("SHOAL_DATA names ") + named + ", which is no folder");
  }
  return named;
}

/// Ends a test, or a fixture's SetUp(), where there is no such folder. Of one that is there all files are read.
#define SHOAL_NEEDS_DATA()                                                     \
  if (const auto data = shared_data::folder(); !std::filesystem::exists(data)) \
  GTEST_SKIP() << "no data at " << data.string() << " (set SHOAL_DATA)"

}  // namespace shared_data
