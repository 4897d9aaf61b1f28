// Ranks that fail: one message, from the first rank, and nobody who waits for ever.
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "fits.hpp"

using namespace shoal_test;

namespace {

class FailureOnRanks : public testing::Test {
 protected:
  FailureOnRanks() { write_clouds(folder / "rows.npy", folder / "weights.npy"); }
  scratch_folder folder;
};

TEST_F(FailureOnRanks, AMistypedOptionIsToldOnce) {
  const outcome ended = run({"kmeans", "fit", folder / "rows.npy", "--clusterz", "3"}, on_ranks(3));
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(times(ended.err, "there is no option --clusterz"), 1U) << ended.err;
}

TEST_F(FailureOnRanks, WhatNoRankCanReadIsToldOnce) {
  const outcome ended = run({"kmeans", "fit", folder / "none.npy", "--clusters", "3"}, on_ranks(3));
  EXPECT_EQ(ended.status, 1);
  EXPECT_EQ(times(ended.err, "none.npy"), 1U) << ended.err;
}

TEST_F(FailureOnRanks, WhatDoesNotFoldRefusesByName) {
  const words rows = {"gmm", "fit", folder / "rows.npy", "--components", "3", "--algorithm", "stepwise"};
  const outcome fit = run(rows, on_ranks(2));
  EXPECT_EQ(fit.status, 2);
  EXPECT_EQ(times(fit.err, "use algorithm='batch'"), 1U) << fit.err;
  const outcome info = run({"data", "info", folder / "rows.npy"}, on_ranks(2));
  EXPECT_EQ(info.status, 2);
  EXPECT_EQ(times(info.err, "this runs as one process; got 2"), 1U) << info.err;
  const outcome pipe = run({"kmeans", "fit", "-", "--clusters", "3"}, on_ranks(2));
  EXPECT_EQ(pipe.status, 2);
  EXPECT_EQ(times(pipe.err, "standard input cannot be read by 2 ranks"), 1U) << pipe.err;
}

TEST_F(FailureOnRanks, ARankThatFailsAloneIsNamed) {
  const words fit = {"kmeans", "fit", "--clusters", "3"};
  words both = fit + words{folder / "rows.npy", ":", "-n", "1", SHOAL_PROGRAM};
  const outcome unread = run(both + fit + words{folder / "none.npy"}, on_ranks(1));
  EXPECT_EQ(unread.status, 1);
  EXPECT_EQ(times(unread.err, "rank 1 failed: "), 1U) << unread.err;
  write_npy(folder / "short.npy", std::vector<double>(300), 100, 3);
  const outcome other = run(both + fit + words{folder / "short.npy"}, on_ranks(1));
  EXPECT_EQ(other.status, 1);
  EXPECT_EQ(times(other.err, "100 rows x 3 columns on this rank, and 20000 x 3 on rank 0"), 1U) << other.err;
}

TEST_F(FailureOnRanks, AnotherBuildIsRefusedByHost) {
  const std::string copy = folder / "shoal";
  fs::copy_file(SHOAL_PROGRAM, copy);
  std::ofstream(copy, std::ios::app) << "another";
  const words fit = {"kmeans", "fit", "--clusters", "3", folder / "rows.npy"};
  const outcome ended = run(fit + words{":", "-n", "1", copy} + fit, on_ranks(1));
  EXPECT_NE(ended.status, 0);
  EXPECT_EQ(times(ended.err, "the build of shoal (its file) of rank 1 on "), 1U) << ended.err;
}

// As where a launcher has lost a rank, and asks the others to stop before it kills them.
TEST_F(FailureOnRanks, ARankThatIsToStopDoesNotWaitForOneThatIsGone) {
  process started(checkpointed_fit(folder, "fit", "100000"), on_ranks(2));
  ASSERT_TRUE(wait_for_checkpoint(started, folder / "fit.checkpoint")) << started.wait().err;
  const std::vector<pid_t> ranks = ranks_of(started.id());
  ASSERT_EQ(ranks.size(), 2U);
  kill(ranks.back(), SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // the other one waits for its words
  const auto asked = std::chrono::steady_clock::now();
  kill(ranks.front(), SIGTERM);
  const outcome ended = started.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - asked, std::chrono::seconds(10));
  EXPECT_NE(ended.status, 0);
  EXPECT_EQ(times(ended.err, "did not answer; the same command goes on from"), 1U) << ended.err;
  EXPECT_FALSE(fs::exists(folder / "fit.json"));
}

TEST_F(FailureOnRanks, AKilledRankEndsAllAndTheSameCommandResumes) {
  const words checkpointed = checkpointed_fit(folder, "fit", "300") + words{"--labels", folder / "fit.npy"};
  process started(checkpointed, on_ranks(2));
  ASSERT_TRUE(wait_for_checkpoint(started, folder / "fit.checkpoint")) << started.wait().err;
  const std::vector<pid_t> ranks = ranks_of(started.id());
  ASSERT_EQ(ranks.size(), 2U);
  const auto killed = std::chrono::steady_clock::now();
  kill(ranks.back(), SIGKILL);
  const outcome ended = started.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - killed, std::chrono::seconds(10));
  EXPECT_NE(ended.status, 0);
  EXPECT_EQ(times(ended.err, "signal 9"), 1U) << ended.err;
  EXPECT_FALSE(fs::exists(folder / "fit.json"));
  EXPECT_FALSE(fs::exists(folder / "fit.npy"));
  const outcome resumed = run(checkpointed, on_ranks(2));
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  ASSERT_EQ(run(whole_fit(folder, "whole", "300") + words{"--labels", folder / "whole.npy"}).status, 0);
  EXPECT_EQ(read_file(folder / "fit.json"), read_file(folder / "whole.json"));
  EXPECT_EQ(read_file(folder / "fit.npy"), read_file(folder / "whole.npy"));
}

}  // namespace
