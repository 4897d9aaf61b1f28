// The adaptive scheme: its derivatives, its agreement with the uniform grid, and that fewer nodes are as good.
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/reaction_diffusion/adaptive.hpp>
#include <shoal/reaction_diffusion/second_derivative.hpp>

#include "reference.hpp"

namespace {

using namespace wave_reference;
using rd::second_differences;

const std::vector<second_differences> every_kind = {second_differences::three_point, second_differences::five_point,
                                                    second_differences::spline};

rd::problem source_axon(std::size_t nodes) {
  rd::problem wave;
  wave.parameters = {.a = 0.01, .gamma = 2, .epsilon = 0.01};
  wave.grid = {1, nodes, 200.0 / double(nodes - 1)};
  return wave;
}

rd::options options_of(second_differences kind, double step, std::vector<double> times) {
  rd::options how;
  how.scheme = rd::scheme::adaptive;
  how.adaptive.differences = kind;
  how.step = step;
  how.times = std::move(times);
  return how;
}

// Of v at all states, against every second node of a finer run.
double root_mean_square(const rd::result<double>& found, const rd::result<double>& fine) {
  const std::size_t fine_values = fine.states.size() / fine.times.size();
  double sum = 0;
  for (std::size_t k = 0; k < found.times.size(); ++k) {
    for (std::size_t i = 0; i < 401; ++i) {
      const double off = found.states[k * 802 + i] - fine.states[k * fine_values + 2 * i];
      sum += off * off;
    }
  }
  return std::sqrt(sum / (401 * double(found.times.size())));
}

}  // namespace

TEST(Adaptive, DerivativesAreExactForTheirPolynomials) {
  const std::vector<double> x = {0, 0.5, 1.5, 1.7, 2.4, 3.1, 3.3, 4.9, 5};
  std::vector<double> parabola, quartic, found;
  for (const double at : x) {
    parabola.push_back(3 * at * at - at + 2);
    quartic.push_back(at * at * at * at - 2 * at * at * at + at);
  }
  rd::second_derivative(second_differences::three_point, x, parabola, found);
  for (std::size_t i = 1; i + 1 < x.size(); ++i) EXPECT_NEAR(found[i], 6, 1e-11);
  rd::second_derivative(second_differences::five_point, x, quartic, found);
  for (std::size_t i = 2; i + 2 < x.size(); ++i) EXPECT_NEAR(found[i], 12 * x[i] * x[i] - 12 * x[i], 1e-9);
}

// cos is flat at both ends. On nodes of two spacings the largest error falls by 2, by 8 (the order that their formulas
// have there), and at least by 2 for the spline.
TEST(Adaptive, DerivativesAreOfTheirOrder) {
  for (const auto& [kind, least] : {std::pair{second_differences::three_point, 0.9},
                                    {second_differences::five_point, 2.8},
                                    {second_differences::spline, 1.9}}) {
    std::vector<double> errors;
    for (const int half : {32, 64}) {
      std::vector<double> x, v, found;
      for (int i = 0; i <= half; ++i) x.push_back(1.5 * i / half);
      for (int i = 1; i <= half / 2; ++i) x.push_back(1.5 + (M_PI - 1.5) * 2 * i / half);
      x.back() = M_PI;
      for (const double at : x) v.push_back(std::cos(at));
      rd::second_derivative(kind, x, v, found);
      double largest = 0;
      for (std::size_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::abs(found[i] + std::cos(x[i])));
      errors.push_back(largest);
    }
    EXPECT_GT(std::log2(errors[0] / errors[1]), least) << int(kind);
  }
}

TEST(Adaptive, AllNodesAreTheUniformGrid) {
  const rd::problem wave = source_axon(401);
  const rd::initial_state begin = rd::impulse(wave.grid);
  rd::options how = options_of(second_differences::three_point, 0.1, {60});
  how.adaptive.coarse_stride = 1;
  const auto found = rd::solve<double>(wave, begin, how);
  EXPECT_EQ(found.mean_nodes, 401);
  EXPECT_LE(largest_difference(found, explicit_steps(wave, begin, 0.1, 600)), 1e-12);
}

TEST(Adaptive, AThirdOfTheNodesIsAsGood) {
  std::vector<double> times;
  for (int t = 15; t <= 240; t += 15) times.push_back(t);
  rd::options exact;
  exact.order = 4;
  exact.times = times;
  const rd::problem fine = source_axon(801), wave = source_axon(401);
  const auto reference = rd::solve<double>(fine, rd::impulse(fine.grid), exact);
  for (const second_differences kind : every_kind) {
    const double step = kind == second_differences::spline ? 0.035 : 0.08;
    rd::options uniform;
    uniform.step = step;
    uniform.times = times;
    const auto all = rd::solve<double>(wave, rd::impulse(wave.grid), uniform);
    const auto some = rd::solve<double>(wave, rd::impulse(wave.grid), options_of(kind, step, times));
    EXPECT_GE(401 / some.mean_nodes, 3) << int(kind);
    EXPECT_LE(root_mean_square(some, reference), root_mean_square(all, reference)) << int(kind);
  }
}

// The source's axon with input, and one on which w spreads: no worse than explicit steps on all nodes by much.
TEST(Adaptive, TakesInputAndRecoveryThatSpreads) {
  for (const bool input : {true, false}) {
    rd::problem fine = source_axon(801), wave = source_axon(401);
    for (rd::problem* of : {&fine, &wave}) {
      if (input) of->boundary = rd::boundary::input;
      if (!input) of->parameters.recovery_diffusion = 0.5;
    }
    const auto begin = [&](const rd::problem& of) { return input ? rd::rest(of.grid) : rd::impulse(of.grid); };
    rd::options uniform;
    uniform.times = {20, 60, 90};
    uniform.step = 0.02;
    const auto reference = rd::solve<double>(fine, begin(fine), uniform);
    uniform.step = 0.08;
    const auto all = rd::solve<double>(wave, begin(wave), uniform);
    const auto some =
        rd::solve<double>(wave, begin(wave), options_of(second_differences::three_point, 0.08, {20, 60, 90}));
    EXPECT_LT(some.mean_nodes, 401.0 / 2.5);
    EXPECT_LT(root_mean_square(some, reference), 1.5 * root_mean_square(all, reference)) << input;
    if (input) {
      EXPECT_EQ(some.states[400], 1);
    }
  }
}

// The impulse begins where the axon closes, and its pulses meet on the other side.
TEST(Adaptive, TakesAPeriodicAxon) {
  rd::problem fine = source_axon(401), wave = fine;
  fine.grid = {1, 802, wave.grid.spacing / 2};
  const auto begin = [](const rd::problem& of) {
    rd::initial_state from = rd::rest(of.grid);
    for (std::size_t i = 0; i < of.grid.columns; ++i) {
      const double x = double(std::min(i, of.grid.columns - i)) * of.grid.spacing;
      from.v[i] = std::exp(-x * x / 10);
    }
    return from;
  };
  fine.boundary = wave.boundary = rd::boundary::periodic;
  rd::options exact;
  exact.order = 4;
  exact.times = {20, 60, 90, 130, 240};
  const auto reference = rd::solve<double>(fine, begin(fine), exact);
  rd::options uniform;
  uniform.step = 0.08;
  uniform.times = exact.times;
  const auto all = rd::solve<double>(wave, begin(wave), uniform);
  for (const auto kind : {second_differences::three_point, second_differences::five_point}) {
    rd::options how = options_of(kind, 0.08, exact.times);
    const auto some = rd::solve<double>(wave, begin(wave), how);
    EXPECT_LT(some.mean_nodes, 401.0 / 2.5) << int(kind);
    EXPECT_LT(root_mean_square(some, reference), 1.5 * root_mean_square(all, reference)) << int(kind);
    for (std::size_t i = 1; i < 200; ++i) EXPECT_NEAR(some.states[i], some.states[401 - i], 2e-2) << i;
  }
  rd::options every = options_of(second_differences::three_point, 0.08, {8});
  every.adaptive.coarse_stride = 1;
  EXPECT_LE(
      largest_difference(rd::solve<double>(wave, begin(wave), every), explicit_steps(wave, begin(wave), 0.08, 100)),
      1e-12);
}

TEST(Adaptive, ResumesToTheSameBits) {
  const std::string path = testing::TempDir() + "adaptive_checkpoint.json";
  const rd::problem wave = source_axon(4001);
  const rd::initial_state begin = rd::impulse(wave.grid);
  rd::options how = options_of(second_differences::three_point, 0.001, {1, 3});
  const auto whole = rd::solve<double>(wave, begin, how);
  how.checkpoint = path;
  std::filesystem::remove(path);
  std::stop_source stop;
  const auto stop_on_the_way = [&](const shoal::progress& at) {
    if (at.step > 1500) stop.request_stop();
  };
  EXPECT_THROW(rd::solve<double>(wave, begin, how, {}, {stop_on_the_way, stop.get_token()}), shoal::interrupted);
  const auto resumed = rd::solve<double>(wave, begin, how);
  EXPECT_EQ(resumed.states, whole.states);
  EXPECT_EQ(resumed.mean_nodes, whole.mean_nodes);
  EXPECT_LT(resumed.steps_here, whole.steps);
  std::filesystem::remove(path);
}

TEST(Adaptive, RefusesWhatItCannotDo) {
  rd::problem wave = source_axon(401);
  const rd::initial_state begin = rd::impulse(wave.grid);
  EXPECT_THROW(rd::solve<double>(wave, begin, options_of(second_differences::spline, 0.05, {1})), shoal::bad_argument);
  wave.boundary = rd::boundary::input;
  EXPECT_THROW(rd::solve<double>(wave, begin, options_of(second_differences::five_point, 0, {1})), shoal::bad_argument);
  wave.boundary = rd::boundary::periodic;
  EXPECT_THROW(rd::solve<double>(wave, begin, options_of(second_differences::spline, 0, {1})), shoal::bad_argument);
}
