// A solution that was chosen: with ε = 0 the recovery stays as it began, w = V'' + f(V), so that v = V is at rest, flat
// at walls that it does not vanish at. What a scheme finds differs from V by its error in space alone.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "reference.hpp"

namespace {

using namespace wave_reference;

constexpr double pi = 3.141592653589793;

// Near 1, where f' < 0 and the state at rest is stable.
double chosen(double x, double y, bool plane) { return 0.95 + 0.25 * std::cos(x) * (plane ? std::cos(y) : 1); }

// The largest error of v, walls included, on an axon or a square of side π.
double error_of(rd::options how, std::size_t cells, bool plane) {
  rd::problem wave;
  wave.parameters = {.a = 0.1, .gamma = 2, .epsilon = 0};
  const std::size_t nodes = cells + 1;
  wave.grid = {plane ? nodes : 1, nodes, pi / static_cast<double>(cells)};
  rd::initial_state begin = rd::rest(wave.grid);
  std::vector<double> exact(wave.grid.nodes());
  for (std::size_t i = 0; i < wave.grid.rows; ++i) {
    for (std::size_t j = 0; j < nodes; ++j) {
      const std::size_t at = i * nodes + j;
      const double v =
          chosen(static_cast<double>(j) * wave.grid.spacing, static_cast<double>(i) * wave.grid.spacing, plane);
      exact[at] = v;
      begin.v[at] = 0.95;
      begin.w[at] = -(plane ? 2 : 1) * (v - 0.95) + v * (1 - v) * (v - 0.1);
    }
  }
  how.times = {45};
  const auto found = rd::solve<double>(wave, begin, how);
  double largest = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) largest = std::max(largest, std::abs(found.states[i] - exact[i]));
  return largest;
}

void expect_order(const rd::options& how, bool plane, double order) {
  std::vector<double> errors;
  for (const std::size_t cells : {8, 16, 32}) {
    rd::options scaled = how;
    // Split steps have an error at rest too, of second order in the step.
    if (plane && how.scheme != rd::scheme::explicit_steps) scaled.step = 0.8 / static_cast<double>(cells);
    errors.push_back(error_of(scaled, cells, plane));
  }
  EXPECT_NEAR(std::log2(errors[0] / errors[2]) / 2, order, 0.05) << int(how.scheme) << ", plane " << plane;
}

}  // namespace

TEST(Manufactured, SchemesOfSecondOrderAre) {
  for (const rd::scheme scheme :
       {rd::scheme::explicit_steps, rd::scheme::crank_nicolson, rd::scheme::tr_bdf2, rd::scheme::pieces}) {
    rd::options how;
    how.scheme = scheme;
    expect_order(how, false, 2);
  }
  for (const rd::scheme scheme : {rd::scheme::explicit_steps, rd::scheme::crank_nicolson, rd::scheme::tr_bdf2}) {
    rd::options how;
    how.scheme = scheme;
    expect_order(how, true, 2);
  }
}

TEST(Manufactured, OrderFourIs) {
  rd::options how;
  how.order = 4;
  expect_order(how, false, 4);
}

// One-sided rows at the walls are of first order.
TEST(Manufactured, TheSourcesRowsAreOfFirstOrder) {
  rd::options how;
  how.scheme = rd::scheme::source_2016;
  how.step = 0.05;
  how.end_rows = rd::source_end_rows::derivative;
  EXPECT_NEAR(std::log2(error_of(how, 32, false) / error_of(how, 64, false)), 1, 0.1);
}
