// Model files: every double round-trips, everything damaged is refused with its place. The criteria for choosing K.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <shoal/core/error.hpp>
#include <shoal/kmeans/fit.hpp>
#include <shoal/kmeans/information_criteria.hpp>
#include <shoal/kmeans/model_file.hpp>

namespace {

namespace kmeans = shoal::kmeans;

std::string path_of(const char* name) { return (std::filesystem::path(testing::TempDir()) / name).string(); }

std::string message_of(const std::string& contents) {
  const std::string path = path_of("kmeans_broken.json");
  std::ofstream(path) << contents;
  try {
    kmeans::load_model(path);
  } catch (const shoal::bad_data& failure) {
    std::string message = failure.what();
    EXPECT_EQ(message.rfind(path, 0), 0u) << message;
    return message.substr(path.size());
  }
  ADD_FAILURE() << "accepted: " << contents;
  return "";
}

TEST(KmeansModelFile, RoundTripsEveryDouble) {
  const std::string path = path_of("kmeans_model.json");
  const kmeans::model model{3,
                            2,
                            {0.1, -0.0, std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max(),
                             1.0 / 3, 123456789.123456789},
                            {"eruption, \"min\"", "wärts"}};
  kmeans::save_model(path, model, R"({"seed": 7})");
  const kmeans::model loaded = kmeans::load_model(path);
  EXPECT_EQ(loaded.clusters, 3u);
  EXPECT_EQ(loaded.columns, 2u);
  EXPECT_EQ(loaded.centroids, model.centroids);
  EXPECT_TRUE(std::signbit(loaded.centroids[1]));
  EXPECT_EQ(loaded.column_names, model.column_names);
  std::ifstream stream(path);
  const auto json = nlohmann::json::parse(stream);
  EXPECT_EQ(json.at("format"), "shoal/kmeans");
  EXPECT_EQ(json.at("version"), 1);
  EXPECT_EQ(json.at("provenance").at("seed"), 7);
  EXPECT_EQ(json.at("centroids").size(), 3u);
}

TEST(KmeansModelFile, RefusesWhatItCannotTrust) {
  const auto contains = [](const std::string& contents, const std::string& part) {
    const std::string message = message_of(contents);
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  contains("", "empty");
  contains("{", "byte");
  contains(R"({"version":1,"centroids":[[1]]})", "format");
  contains(R"({"format":"shoal/gmm","version":1,"centroids":[[1]]})", "shoal/kmeans");
  contains(R"({"format":"shoal/kmeans","version":2,"centroids":[[1]]})", "version 2");
  contains(R"({"format":"shoal/kmeans","version":1})", "centroids");
  contains(R"({"format":"shoal/kmeans","version":1,"centroids":[]})", "at least one centroid");
  contains(R"({"format":"shoal/kmeans","version":1,"centroids":[[]]})", "at least one column");
  contains(R"({"format":"shoal/kmeans","version":1,"centroids":[[1,2],[3]]})", "centroids[1]");
  contains(R"({"format":"shoal/kmeans","version":1,"centroids":[[1,2],[3,null]]})", "centroids[1][1]");
  contains(R"({"format":"shoal/kmeans","version":1,"centroids":[[1,2],[3,"4"]]})", "centroids[1][1]");
  contains(R"({"format":"shoal/kmeans","version":1,"centroids":[[1,1e999]]})", "");
  contains(R"({"format":"shoal/kmeans","version":1,"centroids":7})", "array");
  contains(R"({"format":"shoal/kmeans","version":1,"centroids":[[1,2]],"column_names":["a"]})", "column_names");
  EXPECT_THROW(kmeans::load_model(path_of("no_such_file.json")), shoal::io_error);
}

TEST(KmeansModelFile, WritesOnlyWholeModels) {
  const std::string path = path_of("kmeans_unwritten.json");
  EXPECT_THROW(kmeans::save_model(path, {2, 2, {1, 2, 3}, {}}), shoal::bad_argument);
  EXPECT_THROW(kmeans::save_model(path, {1, 2, {1, 2}, {"a"}}), shoal::bad_argument);
  EXPECT_THROW(kmeans::save_model(path, {1, 1, {std::nan("")}, {}}), shoal::bad_argument);
  EXPECT_THROW(kmeans::save_model(path, {1, 1, {1}, {}}, "{not json"), shoal::bad_argument);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(KmeansCriteria, AreThoseOfTheSphericalModel) {
  // Four rows at 0, 1, 10, 12 in one column, two clusters: W = 0.5 + 2, σ² = 2.5 / (4 − 2).
  const double inertia = 2.5, variance = inertia / 2;
  const double log_likelihood =
      2 * 2 * std::log(2) - 4 * std::log(4) - 2 * (std::log(2 * 3.14159265358979323846) + std::log(variance)) - 1;
  const double weights[] = {2, 2};
  const kmeans::criteria got = kmeans::information_criteria(weights, 1, inertia);
  EXPECT_NEAR(got.bic, -2 * log_likelihood + 4 * std::log(4), 1e-12);
  EXPECT_NEAR(got.aic, -2 * log_likelihood + 8, 1e-12);
  EXPECT_TRUE(std::isnan(kmeans::information_criteria(std::vector<double>{1, 1}, 3, 0).bic));
  EXPECT_TRUE(std::isfinite(kmeans::information_criteria(std::vector<double>{3, 0}, 3, 0).bic));
}

TEST(KmeansCriteria, PreferTheTrueNumberOfClusters) {
  std::vector<double> values;
  for (int i = 0; i < 400; ++i) {
    values.push_back(i % 4 * 20 + 0.01 * (i * 37 % 101));
    values.push_back(0.01 * (i * 53 % 97));
  }
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t clusters = 1; clusters <= 8; ++clusters) {
    kmeans::options options;
    options.clusters = clusters;
    options.restarts = 4;
    const double bic = kmeans::fit(shoal::matrix_view<const double>(values.data(), 400, 2), options).bic;
    if (bic < least) {
      least = bic;
      best = clusters;
    }
  }
  EXPECT_EQ(best, 4u);
}

}  // namespace
