// Mixtures carried between standardized units and the data's own.
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>

#include "gmm/units.hpp"

namespace {

using namespace shoal::app;

TEST(standardization, models_go_there_and_back) {
  const standardization units{{10, -5}, {2, 0.5}};
  shoal::gmm::model model;
  model.components = 1;
  model.columns = 2;
  model.weights = {1};
  model.means = {1, -1};
  model.covariance_type = shoal::gmm::covariance_type::full;
  model.covariances = {1, 0.5, 0.5, 2};
  const shoal::gmm::model there = to_data_units(model, units);
  EXPECT_EQ(there.means, (std::vector<double>{12, -5.5}));
  EXPECT_EQ(there.covariances, (std::vector<double>{4, 0.5, 0.5, 0.5}));
  const shoal::gmm::model back = to_standard_units(there, units);
  EXPECT_EQ(back.means, model.means);
  EXPECT_EQ(back.covariances, model.covariances);
  model.covariance_type = shoal::gmm::covariance_type::spherical;
  model.covariances = {3};
  const shoal::gmm::model diagonal = to_data_units(model, units);
  EXPECT_EQ(diagonal.covariance_type, shoal::gmm::covariance_type::diag);
  EXPECT_EQ(diagonal.covariances, (std::vector<double>{12, 0.75}));
  EXPECT_THROW(to_standard_units(model, units), shoal::bad_argument);
}

}  // namespace
