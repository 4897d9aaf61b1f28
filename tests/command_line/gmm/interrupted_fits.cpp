// The fits of shoal gmm that test_interruption.cpp stops and resumes.
#include <algorithm>
#include <string>
#include <thread>

#include "../interruption.hpp"

namespace shoal_test {

namespace {

// Less than the rows take, and a buffer of the least size for every thread.
std::string small_memory_limit() {
  return std::to_string(std::max(200u, 8 * std::thread::hardware_concurrency())) + "KiB";
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(
    gmm, interruption,
    testing::Values(interrupted_fit{"full",
                                    {"gmm", "fit", "--components", "6", "--tolerance", "0", "--max-iterations", "80"},
                                    {{"--seed", "8"},
                                     {"--restarts", "5"},
                                     {"--scalar", "float32"},
                                     {"--standardize"},
                                     {"--covariance", "diag"},
                                     {"--init", "random-rows"},
                                     {"--regularization", "1e-5"}}},
                    interrupted_fit{"diagonal_restarts",
                                    {"gmm", "fit", "--components", "5", "--covariance", "diag", "--tolerance", "0",
                                     "--max-iterations", "25", "--restarts", "3", "--init", "random-responsibilities",
                                     "--standardize", "--scalar", "float32", "--memory-limit", small_memory_limit()},
                                    {{"--seed", "8"}}},
                    interrupted_fit{"incremental",
                                    {"gmm", "fit", "--components", "6", "--tolerance", "0", "--max-iterations", "60",
                                     "--algorithm", "incremental"},
                                    {{"--seed", "8"}, {"--superchunks", "7"}, {"--chunk-rows", "700"}}},
                    interrupted_fit{"accelerated",
                                    {"gmm", "fit", "--components", "6", "--tolerance", "0", "--max-iterations", "80",
                                     "--accelerate", "squarem"},
                                    {{"--seed", "8"}}}),
    fit_name);

// An interrupted sweep goes on with the number that it was at.
TEST(interrupted_sweep, goes_on) {
  const scratch_folder folder;
  ASSERT_EQ(run({"data", "generate", "--rows", "3000", "--columns", "2", "--components", "3", "--output",
                 folder / "rows.npy"})
                .status,
            0);
  const words sweep = {"gmm",          "select",         folder / "rows.npy", "--components",      "1..3",
                       "--checkpoint", folder / "sweep", "--output",          folder / "best.json"};
  ASSERT_EQ(run(sweep).status, 0);
  const std::string best = read_file(folder / "best.json");
  for (const char* k : {"1", "2", "3"}) EXPECT_TRUE(fs::exists(folder / (std::string("sweep.") + k)));
  fs::remove(folder / "sweep.2");
  ASSERT_EQ(run(sweep).status, 0);
  EXPECT_EQ(read_file(folder / "best.json"), best);
}

}  // namespace shoal_test
