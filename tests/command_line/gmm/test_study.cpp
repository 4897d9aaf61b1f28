// shoal gmm study: every part at its quick size, its report, and what it says of data that are not there.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "../program.hpp"

namespace {

using namespace shoal_test;
using nlohmann::json;

json study(const words& options) {
  const outcome result = run(words{"gmm", "study", "--quick", "--json", "--device", "cpu"} + options);
  EXPECT_EQ(result.status, 0) << result.err;
  return json::parse(result.out);
}

TEST(study, overlap_shows_slower_convergence_and_a_falling_error) {
  const scratch_folder folder;
  const json object = study({"--parts", "overlap", "--output", folder / "study.json", "--report", folder / "s.html"});
  EXPECT_EQ(object["format"], "shoal/gmm-study");
  const json& degrees = object["overlap"];
  ASSERT_EQ(degrees.size(), 4u);
  double confusion = -1;
  for (const json& degree : degrees) {
    EXPECT_GT(degree["confusion"].get<double>(), confusion);
    confusion = degree["confusion"];
    ASSERT_FALSE(degree["algorithms"].empty());
    const json& batch = degree["algorithms"][0];
    EXPECT_EQ(batch["algorithm"], "batch");
    EXPECT_EQ(batch["passes"].size(), degree["starts"].get<std::size_t>());
    const json& curve = batch["curve"];
    // Expectation-maximisation without regularisation to speak of never loses likelihood.
    for (std::size_t i = 1; i < curve["deficit"].size(); ++i) {
      EXPECT_LE(curve["deficit"][i].get<double>(), curve["deficit"][i - 1].get<double>() + 1e-9);
    }
    EXPECT_LT(curve["modelling_error"].back().get<double>(), curve["modelling_error"].front().get<double>());
  }
  const json& apart = degrees[1]["algorithms"][0];
  const json& mixed = degrees[2]["algorithms"][0];
  // Linear convergence, the slower the more components overlap.
  EXPECT_NEAR(apart["order"].get<double>(), 1, 0.15);
  EXPECT_LT(apart["constant"].get<double>(), 0.6);
  EXPECT_GT(mixed["constant"].get<double>(), apart["constant"].get<double>());

  // Where components lie apart, all that have a limit end where batch ends.
  for (const json& row : degrees[1]["algorithms"]) {
    if (row["algorithm"] == "stepwise") continue;
    EXPECT_LT(row["curve"]["deficit"].back().get<double>(), 1e-3) << row["algorithm"];
    EXPECT_FALSE(row["median_passes"].is_null()) << row["algorithm"];
  }

  const json written = json::parse(read_file(folder / "study.json"));
  EXPECT_EQ(written["overlap"], degrees);
  EXPECT_EQ(object["output"], folder / "study.json");
  EXPECT_FALSE(written.contains("output"));
  const std::string page = read_file(folder / "s.html");
  EXPECT_NE(page.find("<svg"), std::string::npos);
  EXPECT_NE(page.find("Modelling error"), std::string::npos);
}

TEST(study, compares_the_algorithms_that_are_named) {
  const json object = study({"--parts", "overlap", "--algorithms", "squarem,incremental", "--starts", "1"});
  const json& algorithms = object["overlap"][0]["algorithms"];
  ASSERT_EQ(algorithms.size(), 3u);
  EXPECT_EQ(algorithms[0]["algorithm"], "batch");
  EXPECT_EQ(algorithms[1]["algorithm"], "incremental");
  EXPECT_EQ(algorithms[2]["algorithm"], "squarem");
  EXPECT_EQ(algorithms[2]["passes"].size(), 1u);
}

TEST(study, speed_covers_both_covariances) {
  const json object = study({"--parts", "speed"});
  std::size_t diagonal = 0, full = 0;
  for (const json& row : object["speed"]["iterations"]) {
    EXPECT_GT(row["seconds"].get<double>(), 0);
    (row["covariance_type"] == "diag" ? diagonal : full) += 1;
  }
  EXPECT_GE(diagonal, 4u);
  EXPECT_EQ(diagonal, full);
  EXPECT_EQ(object["speed"]["reach"][0]["algorithm"], "batch");
}

// Seven groups of whole numbers, with a column class, as Shuttle has.
std::string seven_groups() {
  std::string text = "a,b,class\n";
  for (int i = 0; i < 700; ++i) {
    text += std::to_string(40 * (i % 7) + (i * 7919) % 11) + "," + std::to_string(30 * (i % 3) + (i * 104729) % 13) +
            "," + std::to_string(i % 7) + "\n";
  }
  return text;
}

TEST(study, data_that_are_there_are_fitted_and_others_are_named) {
  const scratch_folder folder;
  write_file(folder / "shuttle.csv", seven_groups());
  const json object = study({"--parts", "data", "--shuttle", folder / "shuttle.csv", "--report", folder / "s.html"});
  ASSERT_EQ(object["data"].size(), 1u);
  EXPECT_EQ(object["data"][0]["data"], "Shuttle");
  EXPECT_EQ(object["data"][0]["columns"], 2);
  const json& batch = object["data"][0]["algorithms"][0];
  EXPECT_GT(batch["iterations"]["mean"].get<double>(), 0);
  EXPECT_TRUE(std::isfinite(batch["negative_log_likelihood"]["mean"].get<double>()));
  EXPECT_EQ(batch["failed"], 0);
  ASSERT_EQ(object["skipped"].size(), 1u);
  EXPECT_NE(object["skipped"][0].get<std::string>().find("Covertype"), std::string::npos);
  EXPECT_NE(read_file(folder / "s.html").find("Covertype was left out"), std::string::npos);
}

TEST(study, refuses_words_that_it_does_not_know) {
  const outcome part = run({"gmm", "study", "--quick", "--parts", "spede"});
  EXPECT_EQ(part.status, 2);
  EXPECT_NE(part.err.find("did you mean 'speed'"), std::string::npos) << part.err;
  const outcome algorithm = run({"gmm", "study", "--quick", "--algorithms", "bach"});
  EXPECT_EQ(algorithm.status, 2);
  EXPECT_NE(algorithm.err.find("did you mean 'batch'"), std::string::npos) << algorithm.err;
  const outcome file = run({"gmm", "study", "--quick", "--parts", "data", "--shuttle", "no/such/file.csv"});
  EXPECT_EQ(file.status, 1);
  EXPECT_NE(file.err.find("no/such/file.csv"), std::string::npos) << file.err;
}

}  // namespace
