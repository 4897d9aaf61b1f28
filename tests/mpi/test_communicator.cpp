// The communicator over MPI: what is said arrives, and whoever waits for a rank that has failed hears of it.
#include <gtest/gtest.h>

#include "launched.hpp"

using namespace shoal_test;

namespace {

// Started in place of the program, which takes no part: the launcher's words end in a program of its own.
outcome start(std::size_t ranks, const words& command) {
  spawn_options options = on_ranks(ranks);
  options.program = SHOAL_MPI_RANKS;
  return run(command, options);
}

TEST(MpiCommunicator, CarriesWords) {
  for (const std::size_t ranks : {2, 3, 5}) {
    const outcome ended = start(ranks, {"speak"});
    EXPECT_EQ(ended.status, 0) << ranks << " ranks: " << ended.err;
  }
}

TEST(MpiCommunicator, EveryoneHearsOfAFailureAndOneTells) {
  for (const char* who : {"0", "2"}) {
    const outcome ended = start(3, {"throw", who});
    EXPECT_EQ(ended.status, 4) << ended.err;
    EXPECT_EQ(times(ended.err, "told: "), 1U) << ended.err;
    EXPECT_EQ(times(ended.err, "this one has failed"), 1U) << ended.err;
  }
}

TEST(MpiCommunicator, ARankThatLeavesIsMissed) {
  const outcome ended = start(3, {"leave", "1"});
  EXPECT_EQ(ended.status, 4) << ended.err;
  EXPECT_EQ(times(ended.err, "rank 1 failed: it ended before the others"), 1U) << ended.err;
}

TEST(MpiCommunicator, AnInterruptionIsOneForAll) {
  const outcome ended = start(3, {"stop", "2"});
  EXPECT_EQ(ended.status, 5) << ended.err;
  EXPECT_EQ(times(ended.err, "interrupted: stopped here"), 1U) << ended.err;
}

}  // namespace
