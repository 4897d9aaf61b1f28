// The source's implicit scheme: what its figures showed, and why.
#include <cmath>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/reaction_diffusion/source_2016.hpp>

#include "reference.hpp"

namespace {

using namespace wave_reference;

// Newton's changes in one step of a parabola, at r = Δt/Δx² = 0.04.
std::vector<double> changes_with(rd::source_end_rows rows) {
  rd::problem wave;
  wave.grid = {1, 41, 0.5};
  rd::source_2016<double> scheme(wave, 0.01, 1e-15, rows);
  rd::state<double> now;
  now.v.grow(41);
  now.w.grow(41);
  for (std::size_t i = 0; i < 41; ++i) {
    now.v[i] = 0.3 + 0.01 * double(i) * double(i) / 40;  // steep at the last wall
    now.w[i] = 0;
  }
  EXPECT_EQ(scheme.advance(now, {0, 0.01}, 10), 1u);
  return scheme.changes();
}

}  // namespace

// With the printed rows (1, 1) the changes shrink by 0.0376 at r = 0.04, the source's 0.037; with their derivative
// (1, −1) quadratically.
TEST(Source2016, NewtonConvergesLinearlyWithThePrintedRows) {
  const std::vector<double> printed = changes_with(rd::source_end_rows::printed);
  ASSERT_GE(printed.size(), 8u);
  const double r = 0.04, root = (1 + r - std::sqrt(1 + 2 * r)) / r;
  for (std::size_t i = 3; i < 7; ++i) EXPECT_NEAR(printed[i] / printed[i - 1], 2 * root / (1 + root), 2e-3);
  const std::vector<double> right = changes_with(rd::source_end_rows::derivative);
  EXPECT_LE(right.size(), 5u);
  EXPECT_LT(right[1], right[0] * right[0]);
}

// Away from the ends it is a sound Crank–Nicolson.
TEST(Source2016, AgreesWithCrankNicolsonAwayFromTheEnds) {
  rd::problem wave;
  wave.parameters = {.a = 0.01, .gamma = 2, .epsilon = 0.01};
  const rd::initial_state begin = rd::impulse(wave.grid);
  rd::options how;
  how.step = 0.05;
  how.times = {40};
  how.scheme = rd::scheme::crank_nicolson;
  const auto sound = rd::solve<double>(wave, begin, how);
  how.scheme = rd::scheme::source_2016;
  const auto found = rd::solve<double>(wave, begin, how);
  EXPECT_GT(found.newton_iterations, found.steps);
  for (std::size_t i = 0; i < 401; ++i) EXPECT_NEAR(found.states[i], sound.states[i], 2e-3);
}

// A front that reaches a wall: the one-sided rows halve the error where ghost nodes quarter it.
TEST(Source2016, IsOfFirstOrderInSpaceAtAWall) {
  std::vector<std::vector<double>> found;
  const std::vector<double> spacings = {0.4, 0.2, 0.1, 0.05};
  for (const double spacing : spacings) {
    rd::problem wave;
    wave.parameters.epsilon = 0;
    wave.grid = {1, static_cast<std::size_t>(std::lround(20 / spacing)) + 1, spacing};
    rd::options how;
    how.scheme = rd::scheme::source_2016;
    how.end_rows = rd::source_end_rows::derivative;
    how.step = 0.01;
    how.times = {16};
    const auto run = rd::solve<double>(wave, rd::front(wave.grid, wave.parameters), how);
    found.emplace_back(run.states.begin(), run.states.begin() + std::ptrdiff_t(wave.grid.columns));
  }
  std::vector<double> differences;
  for (std::size_t k = 0; k + 1 < found.size(); ++k) {
    double largest = 0;
    for (std::size_t i = 0; i < found[k].size(); ++i) {
      largest = std::max(largest, std::abs(found[k][i] - found[k + 1][2 * i]));
    }
    differences.push_back(largest);
  }
  const double ratio = differences[1] / differences[2];
  EXPECT_GT(ratio, 1.6);
  EXPECT_LT(ratio, 2.4);
}

TEST(Source2016, RefusesOtherEnds) {
  rd::problem wave;
  wave.boundary = rd::boundary::periodic;
  rd::options how;
  how.scheme = rd::scheme::source_2016;
  how.times = {1};
  EXPECT_THROW(rd::solve<double>(wave, rd::impulse(wave.grid), how), shoal::bad_argument);
}
