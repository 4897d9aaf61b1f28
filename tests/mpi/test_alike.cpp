// Ranks that do not run the same code are refused, by host.
#include <string>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/mpi/alike.hpp>

namespace {

using shoal::mpi::runner;

const runner first{"alpha", "1.0", "10 bytes, 0000", "AVX3"};

std::string refusal(const runner& other) {
  try {
    shoal::mpi::check_alike({first, first, other});
  } catch (const shoal::bad_argument& refused) {
    return refused.what();
  }
  return {};
}

TEST(Alike, TheSameIsAllowed) {
  runner elsewhere = first;
  elsewhere.host = "beta";
  EXPECT_EQ(refusal(elsewhere), "");
}

TEST(Alike, WhatDiffersIsNamedWithBothHosts) {
  EXPECT_EQ(refusal({"beta", "1.0", "10 bytes, 0000", "AVX2"}),
            "the instruction set of rank 2 on beta is AVX2, and that of rank 0 on alpha is AVX3: choose hosts with "
            "processors of one kind");
  EXPECT_NE(refusal({"beta", "1.0", "11 bytes, 0001", "AVX3"}).find("the build of shoal (its file) of rank 2 on beta"),
            std::string::npos);
  EXPECT_NE(refusal({"beta", "1.1", "10 bytes, 0000", "AVX3"}).find("the version of shoal of rank 2 on beta is 1.1"),
            std::string::npos);
}

TEST(Alike, ThisProcessKnowsWhatItRuns) {
  const runner here = shoal::mpi::this_runner();
  EXPECT_NE(here.host, "");
  EXPECT_NE(here.build.find(" bytes, "), std::string::npos);
  EXPECT_EQ(here.build, shoal::mpi::this_runner().build);
}

}  // namespace
