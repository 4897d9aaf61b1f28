// Explicit steps: against steps written for clarity, the same bits however they are cut, and their order.
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/random/stream.hpp>

#include "reference.hpp"

namespace {

using namespace wave_reference;

rd::options steps_of(double step, std::vector<double> times) {
  rd::options how;
  how.step = step;
  how.times = std::move(times);
  return how;
}

// Each of the 150 steps rounds a value below 1.2 a few times, and diffusion averages what is left of that.
template <class Scalar>
void expect_reference(const rd::problem& wave) {
  const rd::initial_state begin = random_state(wave.grid, wave.grid.nodes());
  const double tolerance = 150 * static_cast<double>(std::numeric_limits<Scalar>::epsilon());
  const double step = 0.125 * 0.25;
  const auto found = rd::solve<Scalar>(wave, begin, steps_of(step, {150 * step}));
  EXPECT_EQ(found.steps, 150u);
  EXPECT_LE(largest_difference(found, explicit_steps(wave, begin, step, 150)), tolerance)
      << wave.grid.rows << " x " << wave.grid.columns << ", boundary " << int(wave.boundary);
}

}  // namespace

TEST(Explicit, AgreesWithStepsWrittenForClarity) {
  for (const auto boundary :
       {rd::boundary::no_flux, rd::boundary::input, rd::boundary::periodic_input, rd::boundary::periodic}) {
    for (const std::size_t nodes : {3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 401, 1025, 2049}) {
      rd::problem wave;
      wave.grid = {1, nodes, 0.5};
      wave.boundary = boundary;
      wave.input_period = 3;
      expect_reference<double>(wave);
      expect_reference<float>(wave);
      wave.parameters.recovery_diffusion = 0.7;
      expect_reference<double>(wave);
    }
  }
}

// Many windows, and a last one that is short.
TEST(Explicit, AgreesOnALongAxon) {
  rd::problem wave;
  wave.grid = {1, 70001, 0.5};
  for (const auto boundary : {rd::boundary::no_flux, rd::boundary::periodic, rd::boundary::input}) {
    wave.boundary = boundary;
    const rd::initial_state begin = random_state(wave.grid, 4);
    const double step = 0.05;
    const auto expected = explicit_steps(wave, begin, step, 40);
    EXPECT_LE(largest_difference(rd::solve<double>(wave, begin, steps_of(step, {40 * step})), expected), 1e-14);
    EXPECT_LE(largest_difference(rd::solve<float>(wave, begin, steps_of(step, {40 * step})), expected), 1e-5);
  }
}

// Steps in a pass, windows, tiles and threads change no bit.
TEST(Explicit, EveryCutGivesTheSameBits) {
  const double step = 0.0625;  // a power of two, so that every list of times cuts into the same steps
  for (const std::size_t nodes : {5, 401, 60000}) {
    for (const auto boundary : {rd::boundary::no_flux, rd::boundary::periodic_input, rd::boundary::periodic}) {
      rd::problem wave;
      wave.grid = {1, nodes, 0.5};
      wave.boundary = boundary;
      const rd::initial_state begin = random_state(wave.grid, 8);
      std::vector<double> every_step;
      for (int i = 1; i <= 70; ++i) every_step.push_back(i * step);
      const auto one_by_one = rd::solve<float>(wave, begin, steps_of(step, every_step));
      const std::vector<float> expected(one_by_one.states.end() - std::ptrdiff_t(2 * nodes), one_by_one.states.end());
      for (const std::size_t threads : {1, 2, 3, 8}) {
        rd::options how = steps_of(step, {70 * step});
        how.threads = threads;
        const auto found = rd::solve<float>(wave, begin, how);
        EXPECT_EQ(std::vector<float>(found.states.begin(), found.states.end()), expected)
            << nodes << " nodes, " << threads << " threads, boundary " << int(boundary);
      }
    }
  }
}

// Halving Δx with Δt ∝ Δx² quarters the error: second order in space, first in time.
TEST(Explicit, IsOfItsOrder) {
  std::vector<double> errors;
  for (const double spacing : {0.4, 0.2, 0.1}) {
    rd::problem wave;
    wave.parameters.epsilon = 0;
    wave.grid = {1, static_cast<std::size_t>(std::lround(40 / spacing)) + 1, spacing};
    const auto found =
        rd::solve<double>(wave, rd::front(wave.grid, wave.parameters), steps_of(0.25 * spacing * spacing, {8}));
    rd::initial_state expected = rd::rest(wave.grid);
    expected.v = exact_front(wave, 8);
    errors.push_back(largest_difference(found, expected));
  }
  EXPECT_NEAR(std::log2(errors[0] / errors[1]), 2, 0.05);
  EXPECT_NEAR(std::log2(errors[1] / errors[2]), 2, 0.05);
}

// Near v = 1 the source's bound 2Δt ≤ Δx² is not enough: there the reaction takes part. Under ours the noise dies.
TEST(Explicit, StaysBoundedUpToItsBound) {
  rd::problem wave;
  wave.parameters.epsilon = 0;
  wave.grid = {1, 201, 0.5};
  rd::initial_state begin = rd::rest(wave.grid);
  shoal::random::stream bits(1, 1);
  for (double& value : begin.v) value = 1 - 1e-6 * bits.uniform();
  const double bound = 2 / (4 / 0.25 + 1 - 0.1);
  const auto found = rd::solve<double>(wave, begin, steps_of(bound, {3000 * bound}));
  rd::initial_state ones = begin;
  ones.v.assign(201, 1);
  EXPECT_LE(largest_difference(found, ones), 1e-6);
  const auto blown_up = explicit_steps(wave, begin, 0.125, 3000);
  EXPECT_FALSE(std::isfinite(blown_up.v[100]));
}

// Halving Δx with Δt ∝ Δx² cuts the error to a sixteenth: at a wall too, which the front has reached.
TEST(Explicit, OrderFourIsOfItsOrder) {
  for (const auto& [boundary, recovery_diffusion] :
       {std::pair{rd::boundary::no_flux, 0.0}, {rd::boundary::no_flux, 0.6}, {rd::boundary::input, 0.0}}) {
    const std::vector<double> spacings = {0.8, 0.4, 0.2, 0.1};
    std::vector<std::vector<double>> found;
    for (const double spacing : spacings) {
      rd::problem wave;
      wave.parameters = {.a = 0.1, .gamma = 2, .epsilon = 0.02};
      wave.parameters.recovery_diffusion = recovery_diffusion;
      wave.boundary = boundary;
      wave.input_level = 0;  // where v begins
      wave.grid = {1, static_cast<std::size_t>(std::lround(32 / spacing)) + 1, spacing};
      rd::options how = steps_of(0.25 * spacing * spacing, {16});
      how.order = 4;
      // Flat at both walls, as the equations ask.
      rd::initial_state begin = rd::rest(wave.grid);
      for (std::size_t i = 0; i < begin.v.size(); ++i) {
        begin.v[i] = 0.5 + 0.5 * std::cos(3.141592653589793 * double(i) * spacing / 32);
      }
      const auto run = rd::solve<double>(wave, begin, how);
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
    EXPECT_NEAR(std::log2(differences[1] / differences[2]), 4, 0.15) << int(boundary);
  }
}

TEST(Explicit, OrderFourAgreesAtEveryEndAndForAnyThreads) {
  for (const auto boundary :
       {rd::boundary::no_flux, rd::boundary::periodic, rd::boundary::input, rd::boundary::periodic_input}) {
    rd::problem wave;
    wave.input_level = boundary == rd::boundary::input ? 0 : 1;  // no jump
    wave.grid = {1, 20001, 0.25};
    wave.boundary = boundary;
    const rd::initial_state begin = rd::impulse(wave.grid);
    rd::options how = steps_of(0, {2});
    how.order = 4;
    const auto one = rd::solve<double>(wave, begin, how);
    how.threads = 3;
    EXPECT_EQ(rd::solve<double>(wave, begin, how).states, one.states);
    EXPECT_LE(largest_difference(
                  rd::solve<double>(wave, begin, steps_of(0.001, {2})),
                  {{one.states.begin(), one.states.begin() + 20001}, {one.states.begin() + 20001, one.states.end()}}),
              2e-3);
  }
}
