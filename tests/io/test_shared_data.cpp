// The real data sets, where they are at hand.
#include <algorithm>
#include <map>

#include "../shared_data.hpp"
#include "files.hpp"

namespace {

using namespace testing_files;

class SharedData : public ::testing::Test {
 protected:
  void SetUp() override { SHOAL_NEEDS_DATA(); }
  std::string path(const std::string& name) const { return shared_data::folder() / name; }
};

TEST_F(SharedData, ShuttleHasLabels) {
  shoal::read_options options;
  options.label_column = "class";
  const auto opened = shoal::open_rows<float>(path("shuttle.csv.gz"), options);
  EXPECT_EQ(opened.rows->rows(), 58000u);
  EXPECT_EQ(opened.rows->columns(), 9u);
  EXPECT_EQ(opened.column_names.front(), "a1");
  EXPECT_EQ(opened.label_names.size(), 7u);
  EXPECT_EQ(opened.labels.size(), 58000u);
  const auto values = all_values(*opened.rows);
  EXPECT_EQ(std::vector<float>(values.begin(), values.begin() + 9),
            (std::vector<float>{50, 21, 77, 0, 28, 0, 27, 48, 22}));
  std::map<std::int32_t, int> counts;
  for (const auto label : opened.labels) ++counts[label];
  int most = 0;
  for (const auto& [label, count] : counts) most = std::max(most, count);
  EXPECT_EQ(most, 45586);  // class 1, as UCI states: four fifths of the rows
}

TEST_F(SharedData, CovertypeIsTheSameInMemoryAndStreamed) {
  const auto whole = shoal::open_rows<float>(path("covertype10.npy"));
  shoal::read_options limited;
  limited.memory_limit = 1 << 20;
  const auto streamed = shoal::open_rows<float>(path("covertype10.npy"), limited);
  EXPECT_EQ(whole.rows->rows(), 286048u);
  EXPECT_EQ(whole.rows->columns(), 10u);
  EXPECT_TRUE(whole.rows->resident());
  EXPECT_FALSE(streamed.rows->resident());
  EXPECT_TRUE(all_values(*whole.rows) == all_values(*streamed.rows, 4096));
  EXPECT_EQ(shoal::describe_file(path("covertype10.npy")).element, "int16");
}

TEST_F(SharedData, TheOthersHaveTheirShapes) {
  const std::map<std::string, std::size_t> rows = {
      {"a1", 3000},       {"a2", 5250},  {"s1", 5000}, {"s2", 5000},        {"s4", 5000},
      {"birch1", 100000}, {"d31", 3100}, {"r15", 600}, {"unbalance", 6500}, {"aggregation", 788}};
  for (const auto& [name, count] : rows) {
    const auto opened = shoal::open_rows<double>(path("sipu/" + name + ".data.gz"));
    EXPECT_EQ(opened.rows->rows(), count) << name;
    EXPECT_EQ(opened.rows->columns(), 2u) << name;
    const auto labels = shoal::open_rows<double>(path("sipu/" + name + ".labels0.gz"));
    EXPECT_EQ(labels.rows->rows(), count) << name;
    EXPECT_EQ(labels.rows->columns(), 1u) << name;
  }
  const auto faithful = shoal::open_rows<double>(path("faithful.csv"));
  EXPECT_EQ(faithful.rows->rows(), 272u);
  EXPECT_EQ(faithful.column_names, (std::vector<std::string>{"eruptions", "waiting"}));
}

}  // namespace
