// shoal metrics, on labels that can be counted by hand.
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "program.hpp"

namespace {

using namespace shoal_test;
using nlohmann::json;

class metrics : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("shoal_metrics_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }

  fs::path folder_;
};

TEST_F(metrics, tell_agreement_separation_and_memberships) {
  const std::string truth = write("true.csv", "0\n0\n0\n1\n1\n1\n"), found = write("found.csv", "7\n7\n3\n3\n3\n3\n");
  const std::string rows = write("rows.csv", "0,0\n1,0\n9,0\n10,0\n11,0\n12,0\n");
  const std::string p = write("p.csv", "1,0\n1,0\n0,1\n0,1\n"), q = write("q.csv", "0,1\n0,1\n1,0\n0,1\n");
  const outcome result = run({"metrics", truth, found, "--data", rows, "--probabilities", p, q, "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const json object = json::parse(result.out);
  // Of 15 pairs of rows 4 are together in both, 6 in the first, 7 in the second: both agree on 15 + 2 · 4 − 6 − 7.
  EXPECT_DOUBLE_EQ(object["rand_index"].get<double>(), 10.0 / 15);
  EXPECT_DOUBLE_EQ(object["matched_accuracy"].get<double>(), 5.0 / 6);
  EXPECT_EQ(object["counts"], json::parse("[[1, 2], [3, 0]]"));
  EXPECT_EQ(object["matched_groups"], json::parse(R"([{"true": 0, "found": 7}, {"true": 1, "found": 3}])"));
  for (const char* name :
       {"adjusted_rand_index", "mutual_information", "normalized_mutual_information", "adjusted_mutual_information",
        "homogeneity", "completeness", "v_measure", "fowlkes_mallows_index", "silhouette", "simplified_silhouette",
        "davies_bouldin_index", "calinski_harabasz_index"})
    EXPECT_TRUE(object[name].is_number()) << name;
  EXPECT_EQ(object["centroid_index"], 0);
  EXPECT_DOUBLE_EQ(object["modelling_error"].get<double>(), 0.5);
  EXPECT_EQ(object["matched_components"], json::parse("[1, 0]"));
  EXPECT_NE(run({"metrics", truth, found}).out.find("adjusted_rand_index"), std::string::npos);
}

TEST_F(metrics, say_what_does_not_fit) {
  const std::string truth = write("true.csv", "0\n1\n1\n"), few = write("few.csv", "0\n1\n");
  const outcome unequal = run({"metrics", truth, few});
  EXPECT_EQ(unequal.status, 1);
  EXPECT_NE(unequal.err.find("3 labels"), std::string::npos) << unequal.err;
  EXPECT_NE(run({"metrics", truth, write("half.csv", "0\n1.5\n1\n")}).err.find("row 1 is 1.5"), std::string::npos);
  EXPECT_NE(run({"metrics", truth, write("two.csv", "0,1\n1,1\n1,0\n")}).err.find("one column"), std::string::npos);
  EXPECT_EQ(run({"metrics", truth, truth, "--data", few}).status, 1);
  EXPECT_EQ(run({"metrics", truth, truth, "--probabilities", truth}).status, 2);
  EXPECT_EQ(run({"metrics", truth}).status, 2);
}

}  // namespace
