// Mixtures on ranks: the bytes of one process, and checkpoints that any number of ranks goes on from.
#include <csignal>

#include "fits.hpp"

using namespace shoal_test;

TEST(FitOnRanks, Mixture) {
  expect_bytes_of_one_process({"gmm", "fit", "--components", "4", "--max-iterations", "12"});
}

TEST(FitOnRanks, AcceleratedMixtureOfWeightedRows) {
  expect_bytes_of_one_process(
      {"gmm", "fit", "--components", "4", "--max-iterations", "12", "--accelerate", "squarem", "--covariance", "diag"},
      true);
}

TEST(FitOnRanks, ResumesOnAnyNumberOfRanks) {
  const scratch_folder folder;
  write_clouds(folder / "rows.npy", folder / "weights.npy");
  const words restarts = {"--restarts", "2"};
  process started(checkpointed_fit(folder, "first", "100") + restarts, on_ranks(3));
  ASSERT_TRUE(wait_for_checkpoint(started, folder / "first.checkpoint")) << started.wait().err;
  // The launcher would wait a second before it handed a signal on.
  for (const pid_t rank : ranks_of(started.id())) kill(rank, SIGTERM);
  EXPECT_NE(started.wait().status, 0) << "the fit was over before it was stopped";
  EXPECT_FALSE(fs::exists(folder / "first.json"));
  fs::copy_file(folder / "first.checkpoint", folder / "again.checkpoint");
  ASSERT_EQ(run(checkpointed_fit(folder, "first", "100") + restarts).status, 0);
  ASSERT_EQ(run(checkpointed_fit(folder, "again", "100") + restarts, on_ranks(2)).status, 0);
  ASSERT_EQ(run(whole_fit(folder, "whole", "100") + restarts).status, 0);
  EXPECT_EQ(read_file(folder / "first.json"), read_file(folder / "whole.json"));
  EXPECT_EQ(read_file(folder / "again.json"), read_file(folder / "whole.json"));
}

// As by Ctrl-C, of a fit that would not end otherwise.
TEST(FitOnRanks, TheLauncherHandsASignalOn) {
  const scratch_folder folder;
  write_clouds(folder / "rows.npy", folder / "weights.npy");
  process started(checkpointed_fit(folder, "fit", "1000000000"), on_ranks(2));
  ASSERT_TRUE(wait_for_checkpoint(started, folder / "fit.checkpoint")) << started.wait().err;
  started.send(SIGTERM);
  const outcome ended = started.wait();
  EXPECT_GT(ended.status, 0) << "signal " << ended.signal;
  EXPECT_FALSE(fs::exists(folder / "fit.json"));
  EXPECT_GT(fs::file_size(folder / "fit.checkpoint"), 0U);
}
