// Explicit nodes with implicit pieces between them.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/reaction_diffusion/pieces.hpp>

#include "reference.hpp"

namespace {

using namespace wave_reference;

rd::options options_of(double step, std::size_t piece_nodes, double time) {
  rd::options how;
  how.scheme = rd::scheme::pieces;
  how.step = step;
  how.piece_nodes = piece_nodes;
  how.times = {time};
  return how;
}

}  // namespace

TEST(Pieces, TheReachKeepsTheStepBelowTheBound) {
  rd::problem wave;
  EXPECT_EQ(rd::reach_of_step(wave, 0.1), 1u);  // 0.118 at this spacing
  EXPECT_EQ(rd::reach_of_step(wave, 0.12), 2u);
  EXPECT_EQ(rd::reach_of_step(wave, 3), 0u);  // the reaction alone forbids it
}

// However many pieces: short steps agree with explicit ones, and halving the step halves the error.
TEST(Pieces, AreOfFirstOrderInTime) {
  for (const auto boundary : {rd::boundary::no_flux, rd::boundary::periodic_input, rd::boundary::periodic}) {
    rd::problem wave;
    wave.parameters = {.a = 0.1, .gamma = 2, .epsilon = 0.05};
    wave.grid = {1, 121, 0.25};
    wave.boundary = boundary;
    wave.input_period = 20;
    rd::initial_state begin = wave.has_input() ? rd::rest(wave.grid) : rd::impulse(wave.grid);
    // Around, the impulse begins where the axon closes.
    if (boundary == rd::boundary::periodic) std::rotate(begin.v.begin(), begin.v.begin() + 60, begin.v.end());
    const auto expected = explicit_steps(wave, begin, 0.0005, 12000);
    for (const std::size_t piece : {17, 40, 200}) {
      std::vector<double> errors;
      for (const double step : {0.04, 0.02, 0.01}) {
        errors.push_back(largest_difference(rd::solve<double>(wave, begin, options_of(step, piece, 6)), expected));
      }
      EXPECT_LT(errors[2], 0.02) << piece;
      EXPECT_NEAR(std::log2(errors[0] / errors[2]) / 2, 1, 0.15) << piece;
    }
  }
}

// Steps twenty times as long as explicit ones could be.
TEST(Pieces, StayBoundedForLongSteps) {
  rd::problem wave;
  wave.grid = {1, 2001, 0.1};
  const auto found = rd::solve<double>(wave, rd::impulse(wave.grid), options_of(0.1, 100, 100));
  for (const double value : found.states) EXPECT_LT(std::abs(value), 1.1);
  EXPECT_EQ(found.steps, 1000u);
  EXPECT_EQ(rd::crossings(found.states.data(), wave.grid).size(), 4u);
}

TEST(Pieces, ThreadsGiveTheSameBits) {
  rd::problem wave;
  wave.grid = {1, 5003, 0.5};
  rd::options how = options_of(0.2, 97, 4);
  const auto one = rd::solve<double>(wave, rd::impulse(wave.grid), how);
  how.threads = 3;
  EXPECT_EQ(rd::solve<double>(wave, rd::impulse(wave.grid), how).states, one.states);
}

TEST(Pieces, RefuseStepsThatReachTooFar) {
  rd::problem wave;
  EXPECT_THROW(rd::solve<double>(wave, rd::impulse(wave.grid), options_of(1, 4, 1)), shoal::bad_argument);
  EXPECT_THROW(rd::solve<double>(wave, rd::impulse(wave.grid), options_of(3, 100, 1)), shoal::bad_argument);
  wave.grid.columns = 4;
  EXPECT_NO_THROW(rd::solve<double>(wave, rd::impulse(wave.grid), options_of(1, 100, 1)));
  wave.boundary = rd::boundary::periodic;
  EXPECT_THROW(rd::solve<double>(wave, rd::impulse(wave.grid), options_of(1, 100, 1)), shoal::bad_argument);
}
