// shoal view as a user runs it; tests/viewer/ looks at its pages.
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "program.hpp"

namespace {

using namespace shoal_test;
using nlohmann::json;

void expect_refused(const words& command, int status, const std::string& part) {
  const outcome result = run(words{"view"} + command);
  EXPECT_EQ(result.status, status) << result.err;
  EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
}

TEST(view, writes_a_page_of_a_model_with_its_rows) {
  const scratch_folder folder;
  write_file(folder / "rows.csv", "x,y\n1,2\n3,5\n2,2\n11,12\n13,15\n12,12\n");
  const std::string model = folder / "model.json", page = folder / "view.html", picture = folder / "view.svg";
  ASSERT_EQ(run({"kmeans", "fit", folder / "rows.csv", "--clusters", "2", "--output", model}).status, 0);
  const outcome made = run({"view", model, folder / "rows.csv", "--output", page, "--picture", picture, "--json"});
  ASSERT_EQ(made.status, 0) << made.err;
  const json answer = json::parse(made.out);
  EXPECT_EQ(answer["points"], 6);
  EXPECT_EQ(answer["groups"], 2);
  EXPECT_EQ(answer["bytes"], read_file(page).size());
  EXPECT_EQ(read_file(page).rfind("<!DOCTYPE html>", 0), 0u);
  EXPECT_EQ(read_file(picture).rfind("<svg", 0), 0u);
  // The model alone, and columns by their names.
  EXPECT_EQ(run({"view", model, "--output", page}).status, 0);
  EXPECT_EQ(run({"view", model, folder / "rows.csv", "--axes", "y,x", "--output", page}).status, 0);
  expect_refused({model, folder / "rows.csv", "--axes", "z", "--output", page}, 2, "no column 'z'");
  expect_refused({model, folder / "rows.csv", "--output", model}, 2, "model.json");
  // Notes end what is told.
  ASSERT_EQ(run({"gmm", "fit", folder / "rows.csv", "--components", "1", "--output", model}).status, 0);
  const outcome told = run({"view", model, folder / "rows.csv", "--output", page});
  EXPECT_TRUE(told.out.ends_with("is certain.\n")) << told.out;
}

TEST(view, writes_a_page_of_waves) {
  const scratch_folder folder;
  const std::string line = folder / "line.npy", plane = folder / "plane.npy", page = folder / "view.html";
  ASSERT_EQ(run({"wave", "run", "--times", "0,5,10", "--output", line}).status, 0);
  EXPECT_EQ(run({"view", line, "--times", "0,5,10", "--output", page}).status, 0);
  ASSERT_EQ(
      run({"wave", "run", "--rows", "12", "--columns", "9", "--time", "1", "--scalar", "float32", "--output", plane})
          .status,
      0);
  EXPECT_EQ(run({"view", plane, "--variable", "w", "--play", "--output", page}).status, 0);
  expect_refused({line, "--times", "0,5", "--output", page}, 2, "2 times were given for 3 states");
  const std::string whole = read_file(line);
  write_file(folder / "cut.npy", whole.substr(0, whole.size() - 9));
  expect_refused({folder / "cut.npy", "--output", page}, 1, "truncated: expected");
  ASSERT_EQ(
      run({"data", "generate", "--rows", "10", "--columns", "4", "--components", "1", "--output", folder / "rows.npy"})
          .status,
      0);
  expect_refused({folder / "rows.npy", "--output", page}, 1, "the array has shape (10, 4); states are [times][2]");
}

TEST(view, refuses_wrong_use) {
  const scratch_folder folder;
  const std::string page = folder / "view.html";
  expect_refused({"--output", page}, 2, "either FILE or --sponge ORDER");
  expect_refused({"model.json", "--sponge", "1", "--output", page}, 2, "either FILE or --sponge ORDER");
  expect_refused({"--sponge", "1"}, 2, "--output, --picture, --screenshot or --window is needed");
  expect_refused({"--sponge", "6", "--output", page}, 2, "129,048,576 faces, 516,194,304 bytes");
  expect_refused({"--sponge", "1", "--section", "diagnal", "--output", page}, 2, "did you mean 'diagonal'?");
  expect_refused({"--sponge", "1", "--quantiles", "1", "--output", page}, 2, "between 0 and 1");
  expect_refused({"--sponge", "1", "--pan", "1", "--output", page}, 2, "is not two numbers");
  write_file(folder / "other.json", "{\"format\": \"other\", \"version\": 1}");
  expect_refused({folder / "other.json", "--output", page}, 1, "its format is 'other'; shoal/");
}

}  // namespace
