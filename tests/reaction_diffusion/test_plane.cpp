// Explicit steps in the plane: against steps written for clarity, the same bits however they are cut, symmetry, order.
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "reference.hpp"

namespace {

using namespace wave_reference;

rd::problem plane(std::size_t rows, std::size_t columns, double spacing) {
  rd::problem wave;
  wave.grid = {rows, columns, spacing};
  return wave;
}

rd::options steps_of(double step, std::vector<double> times) {
  rd::options how;
  how.step = step;
  how.times = std::move(times);
  return how;
}

}  // namespace

TEST(Plane, AgreesWithStepsWrittenForClarity) {
  for (const auto& [rows, columns] : std::vector<std::pair<std::size_t, std::size_t>>{
           {3, 3}, {3, 40}, {8, 9}, {17, 5}, {128, 129}, {145, 3}, {270, 139}}) {
    for (const auto boundary : {rd::boundary::no_flux, rd::boundary::periodic}) {
      for (const double recovery_diffusion : {0.0, 0.6}) {
        rd::problem wave = plane(rows, columns, 0.5);
        wave.boundary = boundary;
        wave.parameters.recovery_diffusion = recovery_diffusion;
        const rd::initial_state begin = random_state(wave.grid);
        const double step = 0.03125;
        const auto expected = explicit_steps(wave, begin, step, 21);
        EXPECT_LE(largest_difference(rd::solve<double>(wave, begin, steps_of(step, {21 * step})), expected),
                  21 * std::numeric_limits<double>::epsilon())
            << rows << " x " << columns << ", boundary " << int(boundary);
        EXPECT_LE(largest_difference(rd::solve<float>(wave, begin, steps_of(step, {21 * step})), expected),
                  21 * std::numeric_limits<float>::epsilon())
            << rows << " x " << columns << ", boundary " << int(boundary);
      }
    }
  }
}

TEST(Plane, EveryCutGivesTheSameBits) {
  const rd::problem wave = plane(200, 150, 0.5);
  const rd::initial_state begin = random_state(wave.grid);
  const double step = 0.03125;
  std::vector<double> every_step;
  for (int i = 1; i <= 20; ++i) every_step.push_back(i * step);
  const auto one_by_one = rd::solve<double>(wave, begin, steps_of(step, every_step));
  const std::vector<double> expected(one_by_one.states.end() - 2 * 30000, one_by_one.states.end());
  for (const std::size_t threads : {1, 2, 5}) {
    rd::options how = steps_of(step, {20 * step});
    how.threads = threads;
    const auto found = rd::solve<double>(wave, begin, how);
    EXPECT_EQ(std::vector<double>(found.states.begin(), found.states.end()), expected);
  }
}

// A front that is the same in every row moves as on an axon.
TEST(Plane, AFlatFrontMovesAsOnAnAxon) {
  const rd::problem wave = plane(5, 161, 0.5);
  rd::problem axon = wave;
  axon.grid.rows = 1;
  const double step = 0.05;
  const auto flat = rd::solve<double>(wave, rd::front(wave.grid, wave.parameters), steps_of(step, {20}));
  const auto line = rd::solve<double>(axon, rd::front(axon.grid, axon.parameters), steps_of(step, {20}));
  for (std::size_t row = 0; row < 5; ++row) {
    for (std::size_t i = 0; i < 161; ++i) EXPECT_NEAR(flat.states[row * 161 + i], line.states[i], 1e-12);
  }
}

// A ring is of second order in the spacing, Δt ∝ Δx².
TEST(Plane, IsOfSecondOrder) {
  std::vector<std::vector<double>> found;
  const std::vector<std::size_t> sizes = {41, 81, 161};
  for (const std::size_t size : sizes) {
    const double spacing = 20.0 / double(size - 1);
    const rd::problem wave = plane(size, size, spacing);
    const auto run = rd::solve<double>(wave, rd::impulse(wave.grid), steps_of(0.1 * spacing * spacing, {4}));
    found.emplace_back(run.states.begin(), run.states.begin() + std::ptrdiff_t(size * size));
  }
  std::vector<double> differences;
  for (std::size_t k = 0; k + 1 < sizes.size(); ++k) {
    double largest = 0;
    for (std::size_t i = 0; i < sizes[k]; ++i) {
      for (std::size_t j = 0; j < sizes[k]; ++j) {
        largest = std::max(largest, std::abs(found[k][i * sizes[k] + j] - found[k + 1][2 * i * sizes[k + 1] + 2 * j]));
      }
    }
    differences.push_back(largest);
  }
  EXPECT_NEAR(std::log2(differences[0] / differences[1]), 2, 0.05);
}
