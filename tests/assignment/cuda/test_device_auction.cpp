// The auction whose prices a GPU finds: exact, and the same every time.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/assignment/cuda/device_prices.hpp>
#include <shoal/core/error.hpp>

#include "../../cuda_devices.hpp"
#include "../cost_matrices.hpp"

namespace {

using namespace cost_matrices;
using assignment::method;

class device_auction : public cuda_devices::on_one_device {};

const assignment::options on_device{.method = method::auction, .device = {.cuda = {0}}};

TEST_F(device_auction, agrees_with_shortest_paths_on_all_kinds) {
  for (const kind kind : all_kinds) {
    for (const auto& [rows, columns] :
         {std::pair<std::size_t, std::size_t>{1, 1}, {1, 7}, {31, 31}, {33, 20}, {300, 300}, {257, 700}}) {
      SCOPED_TRACE(testing::Message() << rows << " x " << columns << ", kind " << static_cast<int>(kind));
      const cost_matrix costs = make(kind, rows, columns, 5);
      const assignment::solution best = assignment::solve(costs.view());
      const assignment::solution found = assignment::solve(costs.view(), on_device);
      ASSERT_EQ(found.feasible, best.feasible);
      EXPECT_TRUE(found.certified);
      expect_right(costs, found);
      if (best.feasible) {
        EXPECT_NEAR(found.cost, best.cost, 1e-12 * (1 + static_cast<double>(rows) * largest_finite(costs)));
      }
    }
  }
}

TEST_F(device_auction, prices_are_the_same_every_time) {
  const cost_matrix costs = make(kind::few_whole, 1500, 1500, 2);
  assignment::cuda::auction_work first, again;
  const assignment::prices once = assignment::cuda::device_prices(costs.view(), on_device.device, 1e300, {}, &first);
  const assignment::prices twice = assignment::cuda::device_prices(costs.view(), on_device.device, 1e300, {}, &again);
  EXPECT_EQ(once.potentials, twice.potentials);
  EXPECT_EQ(once.column_of_row, twice.column_of_row);
  EXPECT_EQ(first.bids, again.bids);
  EXPECT_EQ(first.steps, again.steps);
  EXPECT_GT(first.rounds, 0u);
}

// Whatever the bids leave, searches end: a long way off as well as near.
TEST_F(device_auction, searches_on_the_device_make_the_assignment) {
  for (const kind kind : {kind::exponential, kind::few_whole, kind::geometric, kind::many_whole}) {
    for (const double last_step : {0x1p-6, 0x1p-24}) {
      SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << ", last step " << last_step);
      const cost_matrix costs = make(kind, 700, 700, 3);
      assignment::cuda::auction_work work;
      const assignment::prices found = assignment::cuda::device_prices(
          costs.view(), on_device.device, 1e300, {.last_step = last_step, .last_rounds = 3}, &work);
      ASSERT_EQ(found.column_of_row.size(), costs.rows);
      EXPECT_GT(work.searches, 0u);
      EXPECT_GE(work.steps, work.searches);
      // Σ of the rows' least reduced costs and of the potentials is the cost of the best assignment.
      double dual = 0, cost = 0;
      for (std::size_t i = 0; i < costs.rows; ++i) {
        double least = infinity;
        for (std::size_t j = 0; j < costs.columns; ++j) least = std::min(least, costs(i, j) - found.potentials[j]);
        dual += least + found.potentials[i];
        cost += costs(i, found.column_of_row[i]);
      }
      const double best = assignment::solve(costs.view()).cost;
      EXPECT_NEAR(cost, best, 1e-12 * static_cast<double>(costs.rows) * largest_finite(costs));
      EXPECT_NEAR(dual, best, 1e-12 * static_cast<double>(costs.rows) * largest_finite(costs));
    }
  }
}

TEST_F(device_auction, tells_where_a_cost_is_no_number) {
  cost_matrix costs = make(kind::exponential, 50, 50, 1);
  costs.values[50 * 17 + 3] = std::nan("");
  try {
    assignment::solve(costs.view(), on_device);
    FAIL() << "not-a-number was taken";
  } catch (const shoal::bad_data& wrong) {
    EXPECT_NE(std::string(wrong.what()).find("row 17 and column 3"), std::string::npos) << wrong.what();
  }
}

TEST(device_auction_options, are_refused_where_they_do_nothing) {
  const cost_matrix costs = make(kind::exponential, 3, 3, 1);
  EXPECT_THROW(assignment::solve(costs.view(), {.device = {.cuda = {0}}}), shoal::bad_argument);
}

}  // namespace
