// Maps on ranks: batch training to the bytes of one process; online training is refused by name.
#include "fits.hpp"

using namespace shoal_test;

TEST(MapOnRanks, BatchTraining) {
  expect_bytes_of_one_process({"som", "fit", "--width", "4", "--height", "3", "--epochs", "5"}, true);
}

TEST(MapOnRanks, OnlineTrainingRefuses) {
  const scratch_folder folder;
  write_clouds(folder / "rows.npy", folder / "weights.npy");
  const outcome ended =
      run({"som", "fit", folder / "rows.npy", "--width", "4", "--height", "3", "--training", "online"}, on_ranks(2));
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(times(ended.err, "training='online' runs on one rank"), 1U) << ended.err;
}
