// shoal wave study at its quick size: every figure is there, and says what the article's puzzles were.
#include <cmath>
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "../program.hpp"

namespace {

using namespace shoal_test;
using nlohmann::json;

double value_of(const json& figure, const std::string& name) {
  for (const json& value : figure["values"]) {
    if (value["name"].get<std::string>().starts_with(name)) return value["measured"].get<double>();
  }
  ADD_FAILURE() << "figure " << figure["figure"] << " has no value " << name;
  return 0;
}

TEST(wave_study, runs_every_figure_again) {
  const scratch_folder folder;
  const std::string output = folder / "study.json", page = folder / "study.html";
  const outcome result =
      run({"wave", "study", "--quick", "--output", output, "--report", page, "--threads", "2", "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const json study = json::parse(read_file(output));
  EXPECT_EQ(study["format"], "shoal/wave-study");
  ASSERT_EQ(study["figures"].size(), 14u);
  std::map<int, json> figures;
  const std::string html = read_file(page);
  EXPECT_EQ(html.find("http:"), std::string::npos);
  for (const json& figure : study["figures"]) {
    figures[figure["figure"].get<int>()] = figure;
    EXPECT_FALSE(figure["curves"].empty());
    EXPECT_NE(html.find("Figure " + std::to_string(figure["figure"].get<int>())), std::string::npos);
  }
  ASSERT_EQ(figures.size(), 14u);
  EXPECT_LT(value_of(figures[1], "speed of the first wave"), 0);
  EXPECT_NEAR(value_of(figures[2], "v in the middle falls below 0"), 37.85, 1.01);
  EXPECT_NEAR(value_of(figures[3], "fitted order"), 2, 0.1);
  EXPECT_NEAR(value_of(figures[4], "fitted order at t = 20"), 1, 0.1);
  EXPECT_LT(value_of(figures[7], "explicit at 0.99"), 1e-3);
  EXPECT_GT(value_of(figures[7], "explicit at 1.02"), 0.05);
  EXPECT_LT(value_of(figures[7], "adaptive at 1.02"), 0.01);
  EXPECT_GT(value_of(figures[8], "the same, mean"), 3);
  EXPECT_NEAR(value_of(figures[9], "fitted order, source-2016, impulse"), 2, 0.15);
  EXPECT_NEAR(value_of(figures[9], "fitted order, source-2016, a front at a wall"), 1, 0.3);
  EXPECT_NEAR(value_of(figures[9], "fitted order, crank-nicolson, a front at a wall"), 2, 0.15);
  EXPECT_NEAR(value_of(figures[10], "fitted order, source-2016, printed"), 2, 0.05);
  EXPECT_EQ(value_of(figures[11], "largest bounded step over spacing squared, explicit"), 0.49);
  EXPECT_EQ(value_of(figures[11], "largest bounded step over spacing squared, crank-nicolson"), 64);
  EXPECT_NEAR(value_of(figures[12], "fourth change"), 0.0376, 5e-4);
}

TEST(wave_study, runs_the_figures_that_are_named) {
  const outcome result = run({"wave", "study", "--quick", "--figures", "12,7", "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const json study = json::parse(result.out);
  ASSERT_EQ(study["figures"].size(), 2u);
  EXPECT_EQ(study["figures"][0]["figure"], 7);
  EXPECT_EQ(run({"wave", "study", "--figures", "15"}).status, 2);
}

}  // namespace
