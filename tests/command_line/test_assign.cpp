// shoal assign, on a matrix that can be solved by hand.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "program.hpp"

namespace {

using namespace shoal_test;
using nlohmann::json;

class assign : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("shoal_assign_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    write("ties.csv",
          "62,31,79,6,21,37\n45,27,23,66,9,17\n83,59,25,38,63,25\n1,37,53,100,80,51\n69,72,74,32,82,31\n34,95,61,64,"
          "100,82\n");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return file(name);
  }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  std::string text_of(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ / name).rdbuf();
    return text.str();
  }

  fs::path folder_;
};

TEST_F(assign, solves_by_every_method) {
  for (const std::string method : {"auto", "shortest-augmenting-paths", "hungarian", "auction", "brute-force"}) {
    const outcome result = run({"assign", file("ties.csv"), "--method", method, "--json"});
    ASSERT_EQ(result.status, 0) << result.err;
    const json object = json::parse(result.out);
    EXPECT_EQ(object["cost"], 142);
    EXPECT_EQ(object["certified"], method != "brute-force");
    EXPECT_EQ(object["rows"], 6);
    EXPECT_EQ(object["method"], method);
  }
  EXPECT_EQ(json::parse(run({"assign", file("ties.csv"), "--maximize", "--json"}).out)["cost"], 462);
  EXPECT_EQ(json::parse(run({"assign", file("ties.csv"), "--price", "20", "--json"}).out)["cost"], 76);
}

TEST_F(assign, writes_every_format) {
  const auto written = [&](const std::string& format) {
    const outcome result = run({"assign", file("ties.csv"), "--output", file("out"), "--output-format", format});
    EXPECT_EQ(result.status, 0) << result.err;
    return text_of("out");
  };
  EXPECT_EQ(written("list"), "row,column,cost\n0,3,6\n1,4,9\n2,2,25\n3,1,37\n4,5,31\n5,0,34\n");
  EXPECT_EQ(written("matrix").substr(0, 12), "0,0,0,1,0,0\n");
  EXPECT_NE(written("table").find("[37]"), std::string::npos);
  EXPECT_NE(written("latex").find("\\textbf{37}"), std::string::npos);
}

TEST_F(assign, writes_the_steps) {
  for (const std::string method : {"hungarian", "greedy"}) {
    for (const std::string name : {"steps.html", "steps.tex"}) {
      const outcome result = run({"assign", file("ties.csv"), "--method", method, "--steps", file(name)});
      ASSERT_EQ(result.status, 0) << result.err;
    }
    EXPECT_NE(text_of("steps.html").find("class=\"struck star\""), std::string::npos);
    EXPECT_NE(text_of("steps.tex").find("\\textcolor{red}"), std::string::npos);
  }
  EXPECT_EQ(run({"assign", file("ties.csv"), "--steps", file("steps.html")}).status, 2);
}

TEST_F(assign, tells_the_rows_that_conflict) {
  const std::string table = write("table.csv", "0,0,5\n1,0,1\n2,1,1\n2,2,4\n");
  const outcome result = run({"assign", table, "--input-format", "table", "--json"});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("rows 0, 1"), std::string::npos) << result.err;
  const json object = json::parse(result.out);
  EXPECT_EQ(object["feasible"], false);
  EXPECT_EQ(object["conflicting_rows"], json::array({0, 1}));
  write("table.csv", "0,0,5\n0,0,1\n");
  EXPECT_EQ(run({"assign", table, "--input-format", "table"}).status, 1);
}

TEST_F(assign, reads_forbidden_pairs_in_texts) {
  const std::string costs = write("costs.csv", "inf,1,Infinity\n2,inf,inf\n3,4,+inf\n");
  const outcome conflict = run({"assign", costs, "--json"});
  EXPECT_EQ(conflict.status, 1);
  EXPECT_EQ(json::parse(conflict.out)["conflicting_rows"], json::array({0, 1, 2})) << conflict.out;
  const outcome result = run({"assign", write("costs.csv", "inf,1,inf\n2,inf,inf\n3,4,5\n"), "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(json::parse(result.out)["cost"], 8);
  const outcome nan = run({"assign", write("costs.csv", "1,2\n3,nan\n")});
  EXPECT_EQ(nan.status, 1);
  EXPECT_NE(nan.err.find("line 2, column 1"), std::string::npos) << nan.err;
  EXPECT_EQ(run({"assign", write("costs.csv", "1,2\n3,-inf\n")}).status, 1);
  EXPECT_EQ(run({"gmm", "fit", write("rows.csv", "1,2\n3,inf\n4,4\n"), "--components", "1"}).status, 1);
}

TEST_F(assign, refuses_whole_numbers_that_would_be_rounded) {
  const auto costs = [&](std::int64_t first) {
    const std::int64_t values[] = {first, 5, 4, 3};
    std::string header = "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 2), }";
    header.resize(117, ' ');
    return write("costs.npy", std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" +
                                  std::string(reinterpret_cast<const char*>(values), sizeof values));
  };
  const std::int64_t least_rounded = (std::int64_t{1} << 53) + 1;
  const outcome result = run({"assign", costs(least_rounded)});
  EXPECT_EQ(result.status, 1) << result.out;
  EXPECT_NE(result.err.find("row 0, column 0"), std::string::npos) << result.err;
  EXPECT_EQ(run({"assign", costs(-least_rounded)}).status, 1);
  const outcome exact = run({"assign", costs(least_rounded - 2), "--json"});
  ASSERT_EQ(exact.status, 0) << exact.err;
  EXPECT_EQ(json::parse(exact.out)["cost"], 9);
}

TEST_F(assign, compares_methods_on_random_costs) {
  const outcome result =
      run({"assign", "compare", "--base", "hungarian", "--test", "auto", "--size", "12", "--repeats", "9", "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(json::parse(result.out)["equal"], 9);
  EXPECT_EQ(run({"assign", "compare", "--test", "magic"}).status, 2);
  EXPECT_EQ(run({"assign"}).status, 2);
}

TEST_F(assign, reruns_the_experiments) {
  const outcome result = run({"assign", "experiment", "--quick", "--repeats", "12", "--output", file("all.json"),
                              "--report", file("page.html"), "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const json object = json::parse(result.out);
  EXPECT_EQ(object["sizes"], json::array({4, 8, 16}));
  ASSERT_EQ(object["methods"].size(), 7u);
  for (const json& method : object["methods"]) {
    SCOPED_TRACE(method["method"].get<std::string>());
    const std::size_t sizes = method["method"] == "brute-force" ? 2 : 3;
    ASSERT_EQ(method["factors"].size(), sizes);
    for (std::size_t i = 0; i < sizes; ++i) {
      // Seven standard errors: 12 matrices are few, and the seed is one.
      EXPECT_NEAR(method["factors"][i].get<double>(), method["expected_factors"][i].get<double>(),
                  7 * method["factor_standard_errors"][i].get<double>());
      EXPECT_GT(method["seconds"][i].get<double>(), 0);
    }
    EXPECT_TRUE(method["exponent"].is_number());
    if (method["method"] == "greedy") {
      EXPECT_NEAR(method["expected_factors"][0].get<double>(), (25.0 / 12) / (205.0 / 144), 1e-12);
    }
    if (method["method"] == "random") {
      EXPECT_NEAR(method["expected_factors"][0].get<double>(), 4 / (205.0 / 144), 1e-12);
    }
  }
  EXPECT_EQ(json::parse(text_of("all.json"))["methods"], object["methods"]);
  EXPECT_NE(text_of("page.html").find("Approximation factor"), std::string::npos);
  EXPECT_NE(text_of("page.html").find("Run time"), std::string::npos);
  EXPECT_EQ(run({"assign", "experiment", "--sizes", "0"}).status, 2);
}

TEST_F(assign, names_a_device_for_the_auction_alone) {
  EXPECT_EQ(run({"assign", file("ties.csv"), "--device", "elsewhere"}).status, 2);
  EXPECT_EQ(
      json::parse(run({"assign", file("ties.csv"), "--method", "auction", "--device", "cpu", "--json"}).out)["cost"],
      142);
}

}  // namespace
