// Answers as values and as text, and the list of nouns.
#include <filesystem>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "common/answer.hpp"
#include "common/selection.hpp"
#include "nouns.hpp"

namespace {

using namespace shoal::app;

TEST(answers, a_name_is_said_once_where_it_first_stands) {
  const named_values all = joined({{{"rows", 3}, {"scalar", "float64"}}, {}, {{"scalar", "float32"}, {"seed", 7}}});
  EXPECT_EQ(json_text(object_of(all)), R"({"rows":3,"scalar":"float64","seed":7})");
}

TEST(answers, texts_that_are_empty_are_left_out) {
  EXPECT_EQ(lines({{"rows", "3"}, {"labels", ""}, {"a name of many letters", "x"}}),
            "rows            3\na name of many letters x\n");
  EXPECT_EQ(json_text(object_of(given_values({{"output", ""}, {"labels", "l.npy"}}))), R"({"labels":"l.npy"})");
  EXPECT_EQ(json_text(object_of({})), "{}");
}

TEST(answers, numbers_of_a_table_stand_by_their_points) {
  EXPECT_EQ(table({{"cluster", "eruptions", "waiting"}, {"0", "4.29793", "80.2849"}, {"1", "2", "154.75"}}),
            "cluster  eruptions   waiting\n"
            "0          4.29793   80.2849\n"
            "1          2        154.75\n");
}

TEST(answers, paragraphs_have_a_blank_line_between_them) {
  const answer said{.values = {{"rows", 3}}, .paragraphs = {"", "one\n", "", "two\n"}};
  run_options run;
  testing::internal::CaptureStdout();
  give(said, run);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "one\n\ntwo\n");
  run.quiet = true;
  testing::internal::CaptureStdout();
  give(said, run);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  run.json = true;
  testing::internal::CaptureStdout();
  give(said, run);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "{\"rows\":3,\"program\":\"shoal " SHOAL_VERSION "\"}\n");
}

TEST(selections, a_number_that_failed_has_no_figures) {
  const selection_words words{"component", "mean_log_likelihood", "log-likelihood", "{:.6f}"};
  const selection tried{"bic", {{1, -2.5, 10, 9, 4, true, 0.5, {}}, {.groups = 2, .failure = "singular"}}};
  EXPECT_EQ(json_text(object_of(selection_values(tried, words))),
            R"({"criterion":"bic","candidates":[{"components":1,"mean_log_likelihood":-2.5,"bic":10.0,"aic":9.0,)"
            R"("iterations":4,"converged":true,"seconds":0.5},{"components":2,"error":"singular"}]})");
  const std::string text = selection_table(tried, words, 1);
  EXPECT_NE(text.find("-2.500000"), std::string::npos) << text;
  EXPECT_NE(text.find("chosen"), std::string::npos) << text;
  EXPECT_NE(text.find("failed"), std::string::npos) << text;
  EXPECT_TRUE(selection_values({}, words).empty());
  EXPECT_EQ(selection_table({}, words, 1), "");
}

TEST(nouns, have_a_folder_each_and_verbs_or_stand_alone) {
  std::set<std::string> names;
  for (const noun& known : nouns()) {
    EXPECT_TRUE(names.insert(known.name).second) << known.name << " is listed twice";
    EXPECT_TRUE(std::filesystem::is_directory(SHOAL_SOURCE_DIR "/apps/shoal/" + known.name)) << known.name;
    EXPECT_EQ(known.verbs.empty(), known.alone != nullptr) << known.name;
    EXPECT_EQ(known.example.rfind("shoal " + known.name + " ", 0) == 0, known.alone == nullptr) << known.name;
  }
}

}  // namespace
