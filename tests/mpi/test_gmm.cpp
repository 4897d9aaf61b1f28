// Mixtures on ranks: the bytes of one process, and checkpoints that any number of ranks goes on from.
#include <chrono>
#include <csignal>
#include <thread>

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
  const auto fit = [&](const std::string& name) {
    return words{"gmm",
                 "fit",
                 folder / "rows.npy",
                 "--components",
                 "3",
                 "--quiet",
                 "--tolerance",
                 "0",
                 "--max-iterations",
                 "150",
                 "--restarts",
                 "50",
                 "--output",
                 folder / (name + ".json")};
  };
  const auto checkpointed = [&](const std::string& name) {
    return fit(name) + words{"--checkpoint", folder / (name + ".checkpoint"), "--checkpoint-seconds", "0"};
  };
  process started(checkpointed("first"), on_ranks(3));
  // Interrupted as by Ctrl-C: the launcher hands it on to the ranks, which takes it a while; so the fit is a long one.
  while (started.running() &&
         (!fs::exists(folder / "first.checkpoint") || fs::file_size(folder / "first.checkpoint") == 0)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  started.send(SIGTERM);
  EXPECT_NE(started.wait().status, 0);
  EXPECT_FALSE(fs::exists(folder / "first.json"));
  fs::copy_file(folder / "first.checkpoint", folder / "again.checkpoint");
  ASSERT_EQ(run(checkpointed("first")).status, 0);
  ASSERT_EQ(run(checkpointed("again"), on_ranks(2)).status, 0);
  ASSERT_EQ(run(fit("whole")).status, 0);
  EXPECT_EQ(read_file(folder / "first.json"), read_file(folder / "whole.json"));
  EXPECT_EQ(read_file(folder / "again.json"), read_file(folder / "whole.json"));
}
