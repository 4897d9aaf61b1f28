// Predictions on ranks: one file that every rank writes its slice of.
#include "fits.hpp"

using namespace shoal_test;

namespace {

class PredictOnRanks : public testing::Test {
 protected:
  PredictOnRanks() {
    write_clouds(folder / "rows.npy", folder / "weights.npy");
    EXPECT_EQ(run({"gmm", "fit", folder / "rows.npy", "--components", "4", "--max-iterations", "3", "--output",
                   folder / "model.json"})
                  .status,
              0);
  }
  void expect_same(const words& predict) {
    const outcome one = run(predict + words{"--output", folder / "one.npy", "--json"});
    ASSERT_EQ(one.status, 0) << one.err;
    for (const std::size_t ranks : {2, 3}) {
      const outcome several = run(predict + words{"--output", folder / "several.npy", "--json"}, on_ranks(ranks));
      ASSERT_EQ(several.status, 0) << several.err;
      EXPECT_EQ(read_file(folder / "several.npy"), read_file(folder / "one.npy"));
      EXPECT_EQ(nlohmann::json::parse(several.out)["mean_log_likelihood"],
                nlohmann::json::parse(one.out)["mean_log_likelihood"]);
      fs::remove(folder / "several.npy");
    }
    // Nothing is left beside it.
    for (const auto& entry : fs::directory_iterator(folder.path())) EXPECT_NE(entry.path().extension(), ".part");
  }

  scratch_folder folder;
};

TEST_F(PredictOnRanks, Labels) { expect_same({"gmm", "predict", folder / "model.json", folder / "rows.npy"}); }

TEST_F(PredictOnRanks, Probabilities) {
  expect_same({"gmm", "predict", folder / "model.json", folder / "rows.npy", "--probabilities", "--weights",
               folder / "weights.npy"});
}

}  // namespace
