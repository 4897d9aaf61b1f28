// Batch training against MiniSom's, from the same codebook on the same rows (make_minisom.py).
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <shoal/som/fit.hpp>

#include "som_reference.hpp"

namespace {

namespace som = shoal::som;

std::vector<double> flat(const nlohmann::json& matrix) {
  std::vector<double> values;
  for (const auto& row : matrix) {
    for (const double value : row) values.push_back(value);
  }
  return values;
}

template <class Scalar>
void expect_as_minisom(double tolerance) {
  std::ifstream file(SHOAL_SOURCE_DIR "/tests/som/minisom.json");
  const auto facts = nlohmann::json::parse(file);
  const std::vector<double> rows = flat(facts.at("rows"));
  const som_reference::table<Scalar> table{facts.at("rows").size(), 3, std::vector<Scalar>(rows.begin(), rows.end())};
  ASSERT_EQ(facts.at("cases").size(), 8u);
  for (const auto& each : facts.at("cases")) {
    const std::string metric = each.at("metric"), lattice = each.at("lattice");
    som::model map{facts.at("width"),
                   facts.at("height"),
                   3,
                   lattice == "hexagonal" ? som::lattice::hexagonal : som::lattice::rectangular,
                   false,
                   metric == "euclidean" ? som::metric::euclidean
                   : metric == "taxicab" ? som::metric::taxicab
                   : metric == "cosine"  ? som::metric::cosine
                                         : som::metric::chebyshev,
                   flat(facts.at("first")),
                   {}};
    for (const double radius : each.at("radii")) {
      som::options options = som_reference::options_from(map);
      options.radius = som::range{radius, radius};
      map = som::fit(table.view(), options).model;
    }
    EXPECT_LT(som_reference::apart(map.codebook, flat(each.at("codebook"))), tolerance) << metric << ", " << lattice;
    EXPECT_GT(som_reference::apart(map.codebook, flat(facts.at("first"))), 0.1);
  }
}

TEST(SomPeer, BatchTrainingIsMiniSomsInFloat64) { expect_as_minisom<double>(1e-12); }
TEST(SomPeer, BatchTrainingIsMiniSomsInFloat32) { expect_as_minisom<float>(1e-12); }

}  // namespace
