// Mixtures on ranks: the bytes of one process, and checkpoints that any number of ranks goes on from.
#include "fits.hpp"

using namespace shoal_test;

TEST(FitOnRanks, Mixture) {
  expect_bytes_of_one_process({"gmm", "fit", "--components", "4", "--max-iterations", "12"});
}

TEST(FitOnRanks, AcceleratedMixtureOfWeightedRows) {
  expect_bytes_of_one_process({"gmm", "fit", "--components", "4", "--max-iterations", "12", "--accelerate", "squarem",
                               "--covariance", "diag"},
                              true);
}

TEST(FitOnRanks, ResumesOnAnyNumberOfRanks) {
  const scratch_folder folder;
  write_clouds(folder / "rows.npy", folder / "weights.npy");
  const auto fit = [&](const std::string& name, const std::string& iterations) {
    return words{"gmm",         "fit",      folder / "rows.npy",        "--components", "3",
                 "--tolerance", "0",        "--max-iterations",         iterations,     "--output",
                 folder / name, "--quiet",  "--checkpoint-seconds",     "0",            "--checkpoint",
                 folder / (name + ".checkpoint")};
  };
  const words long_fit = fit("model.json", "400");
  process started(long_fit, on_ranks(3));
  // Interrupted as by Ctrl-C: the launcher hands it on to the ranks.
  while (started.running() && (!fs::exists(folder / "model.json.checkpoint") ||
                               fs::file_size(folder / "model.json.checkpoint") == 0)) {
  }
  started.send(SIGTERM);
  EXPECT_NE(started.wait().status, 0);
  EXPECT_FALSE(fs::exists(folder / "model.json"));
  fs::copy_file(folder / "model.json.checkpoint", folder / "again.json.checkpoint");
  ASSERT_EQ(run(long_fit).status, 0);
  ASSERT_EQ(run(fit("again.json", "400"), on_ranks(2)).status, 0);
  ASSERT_EQ(run(fit("whole.json", "400")).status, 0);
  EXPECT_EQ(read_file(folder / "model.json"), read_file(folder / "whole.json"));
  EXPECT_EQ(read_file(folder / "again.json"), read_file(folder / "whole.json"));
}
