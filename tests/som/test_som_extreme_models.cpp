// Codebooks at the ends of float64's range: distances to their units are numbers, or they are refused.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/som/som.hpp>

namespace {

namespace som = shoal::som;

template <class Scalar>
void expect_numbers_or_refusals() {
  const std::vector<Scalar> values = {0, 0, 1, 2, 3e37F, -3e37F, 1, 1e-30F};
  const shoal::view_source<Scalar> rows({values.data(), 4, 2});
  std::size_t computed = 0, refused = 0;
  const auto trial = [&](const auto& work) {
    try {
      work();
      ++computed;
    } catch (const shoal::error&) {
      ++refused;
    }
  };
  for (const auto metric :
       {som::metric::euclidean, som::metric::taxicab, som::metric::cosine, som::metric::chebyshev}) {
    for (const double unit : {1e-320, 1e20, 1e100, -1e149, 1e151, 1e308}) {
      som::model model;
      model.width = 2;
      model.height = 1;
      model.columns = 2;
      model.metric = metric;
      model.codebook = {unit, 1, 0, 0.5};
      trial([&] {
        std::vector<std::int32_t> units(4, -1);
        EXPECT_TRUE(std::isfinite(som::predict(model, rows, units.data(), 1))) << unit;
        for (const std::int32_t found : units) EXPECT_TRUE(found == 0 || found == 1) << unit;
      });
      trial([&] {
        std::vector<Scalar> distances(8);
        som::distances(model, rows, distances.data(), 1);
        for (const Scalar distance : distances) EXPECT_FALSE(std::isnan(distance)) << unit;
      });
      trial([&] {
        for (const double mean : som::u_matrix(model)) EXPECT_FALSE(std::isnan(mean)) << unit;
      });
    }
  }
  EXPECT_EQ(refused, 16u);
  EXPECT_EQ(computed, 56u);
}

TEST(SomExtremeModels, MeasureNumbersOrAreRefusedInFloat32) { expect_numbers_or_refusals<float>(); }
TEST(SomExtremeModels, MeasureNumbersOrAreRefusedInFloat64) { expect_numbers_or_refusals<double>(); }

}  // namespace
