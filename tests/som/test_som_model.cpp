// Model files: every double round-trips, everything damaged is refused with its place.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <shoal/core/error.hpp>
#include <shoal/som/model_file.hpp>

namespace {

namespace som = shoal::som;

std::string path_of(const char* name) { return (std::filesystem::path(testing::TempDir()) / name).string(); }

som::model small_map() {
  return {1,
          2,
          3,
          som::lattice::hexagonal,
          true,
          som::metric::chebyshev,
          {0.1, -0.0, std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max(), 1.0 / 3,
           123456789.123456789},
          {"a", "wärts", "\"quoted\""}};
}

TEST(SomModelFile, RoundTripsEveryDouble) {
  const std::string path = path_of("som_model.json");
  const som::model model = small_map();
  som::save_model(path, model, R"({"seed": 7})");
  const som::model loaded = som::load_model(path);
  EXPECT_EQ(loaded.width, 1u);
  EXPECT_EQ(loaded.height, 2u);
  EXPECT_EQ(loaded.columns, 3u);
  EXPECT_EQ(loaded.lattice, model.lattice);
  EXPECT_EQ(loaded.toroidal, true);
  EXPECT_EQ(loaded.metric, model.metric);
  EXPECT_EQ(loaded.codebook, model.codebook);
  EXPECT_TRUE(std::signbit(loaded.codebook[1]));
  EXPECT_EQ(loaded.column_names, model.column_names);
  std::ifstream stream(path);
  const auto json = nlohmann::json::parse(stream);
  EXPECT_EQ(json.at("format"), "shoal/som");
  EXPECT_EQ(json.at("version"), 1);
  EXPECT_EQ(json.at("lattice"), "hexagonal");
  EXPECT_EQ(json.at("metric"), "chebyshev");
  EXPECT_EQ(json.at("codebook").size(), 2u);
  EXPECT_EQ(json.at("provenance").at("seed"), 7);
}

TEST(SomModelFile, RefusesWhatItCannotTrust) {
  const std::string path = path_of("som_broken.json");
  const auto whole = nlohmann::json::parse(
      R"({"format":"shoal/som","version":1,"width":2,"height":1,"lattice":"rectangular","toroidal":false,
          "metric":"euclidean","codebook":[[1,2],[3,4]]})");
  const auto refused = [&](const nlohmann::json& json, const std::string& part) {
    std::ofstream(path) << json.dump();
    try {
      som::load_model(path);
      ADD_FAILURE() << "accepted: " << json.dump();
    } catch (const shoal::bad_data& failure) {
      const std::string message = failure.what();
      EXPECT_EQ(message.rfind(path, 0), 0u) << message;
      EXPECT_NE(message.find(part), std::string::npos) << message;
    }
  };
  std::ofstream(path) << whole.dump();
  EXPECT_EQ(som::load_model(path).codebook, (std::vector<double>{1, 2, 3, 4}));
  const auto with = [&](const char* member, const nlohmann::json& value, const std::string& part) {
    auto changed = whole;
    changed[member] = value;
    refused(changed, part);
    changed = whole;
    changed.erase(member);
    refused(changed, member);
  };
  with("format", "shoal/kmeans", "shoal/kmeans");
  with("version", 2, "version");
  with("width", 0, "width");
  with("height", 3, "codebook: expected the weights of 2 x 3 units, got those of 2");
  with("lattice", "square", "lattice: expected one of \"rectangular\", \"hexagonal\"; got \"square\"");
  with("toroidal", 1, "toroidal");
  with("metric", "cubic", "metric");
  with("codebook", nlohmann::json::parse("[[1,2],[3]]"), "codebook[1]");
  with("codebook", nlohmann::json::parse("[[1,2],[3,null]]"), "codebook[1][1]");
  with("codebook", nlohmann::json::parse("[[],[]]"), "codebook[0]: expected at least one column");
  auto torus = whole;
  torus["lattice"] = "hexagonal";
  torus["toroidal"] = true;
  refused(torus, "even height");
  auto large = whole;
  large["width"] = large["height"] = 2147483647;
  refused(large, "at most");
  auto named = whole;
  named["column_names"] = {"one"};
  refused(named, "column_names");
}

TEST(SomModelFile, WritesOnlyWholeModels) {
  som::model model = small_map();
  model.codebook.pop_back();
  EXPECT_THROW(som::save_model(path_of("som_unwritten.json"), model), shoal::bad_argument);
  model = small_map();
  model.column_names.pop_back();
  EXPECT_THROW(som::save_model(path_of("som_unwritten.json"), model), shoal::bad_argument);
  model = small_map();
  model.codebook[0] = std::nan("");
  EXPECT_THROW(som::save_model(path_of("som_unwritten.json"), model), shoal::bad_argument);
  EXPECT_FALSE(std::filesystem::exists(path_of("som_unwritten.json")));
}

}  // namespace
