// Crank–Nicolson and TR-BDF2: their Jacobian, their orders, walls, long steps, and the same bits for any threads.
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/random/stream.hpp>
#include <shoal/reaction_diffusion/implicit_stage.hpp>

#include "reference.hpp"

namespace {

using namespace wave_reference;

// The largest difference of v in the last states of two runs; the second may have every `stride`-th node of the first.
double difference_of_v(const rd::result<double>& fine, std::size_t fine_nodes, const rd::result<double>& coarse,
                       std::size_t coarse_nodes) {
  const double* a = fine.states.data() + fine.states.size() - 2 * fine_nodes;
  const double* b = coarse.states.data() + coarse.states.size() - 2 * coarse_nodes;
  const std::size_t stride = (fine_nodes - 1) / (coarse_nodes - 1);
  double largest = 0;
  for (std::size_t i = 0; i < coarse_nodes; ++i) largest = std::max(largest, std::abs(a[i * stride] - b[i]));
  return largest;
}

}  // namespace

TEST(Implicit, TheJacobianIsThatOfFiniteDifferences) {
  const auto executor = shoal::make_sequential();
  for (const auto boundary : {rd::boundary::no_flux, rd::boundary::input, rd::boundary::periodic}) {
    for (const std::size_t nodes : {3, 4, 21}) {
      rd::problem wave;
      wave.grid = {1, nodes, 0.4};
      wave.boundary = boundary;
      rd::implicit_stage<double> stages(wave, *executor);
      shoal::random::stream bits(3, nodes);
      std::vector<double> v(nodes), right(nodes);
      for (double& value : v) value = bits.uniform();
      for (double& value : right) value = bits.uniform();
      const rd::stage<double> asked{0.3, 0.02, right.data(), 0.7, 1e-12, 0};
      stages.assemble(asked, v.data());
      const std::vector<double> lower(stages.lower(), stages.lower() + nodes),
          diagonal(stages.diagonal(), stages.diagonal() + nodes), upper(stages.upper(), stages.upper() + nodes);
      const bool around = boundary == rd::boundary::periodic;
      for (std::size_t j = 0; j < nodes; ++j) {
        constexpr double nudge = 1e-6;
        std::vector<double> change(nodes);
        for (const double sign : {1.0, -1.0}) {
          std::vector<double> moved = v;
          moved[j] += sign * nudge;
          stages.assemble(asked, moved.data());
          for (std::size_t i = 0; i < nodes; ++i) change[i] -= sign * stages.residual()[i] / (2 * nudge);
        }
        for (std::size_t i = 0; i < nodes; ++i) {
          double expected = 0;
          if (i == j) expected += diagonal[i];
          if (i > 0 ? i - 1 == j : around && j == nodes - 1) expected += lower[i];
          if (i + 1 < nodes ? i + 1 == j : around && j == 0) expected += upper[i];
          EXPECT_NEAR(change[i], expected, 1e-9) << i << ", " << j << ", boundary " << int(boundary);
        }
      }
    }
  }
}

// Halving the step quarters the error in time.
TEST(Implicit, AreOfSecondOrderInTime) {
  rd::problem wave;
  wave.parameters = {.a = 0.1, .gamma = 2, .epsilon = 0.05};
  wave.grid = {1, 201, 0.2};
  const rd::initial_state begin = rd::front(wave.grid, wave.parameters);
  for (const rd::scheme scheme : implicit_schemes) {
    const auto exact = rd::solve<double>(wave, begin, options_of(rd::scheme::crank_nicolson, 0.002, {10}));
    std::vector<double> errors;
    for (const double step : {0.2, 0.1, 0.05}) {
      errors.push_back(
          difference_of_v(exact, 201, rd::solve<double>(wave, begin, options_of(scheme, step, {10})), 201));
    }
    EXPECT_NEAR(std::log2(errors[0] / errors[1]), 2, 0.05) << int(scheme);
    EXPECT_NEAR(std::log2(errors[1] / errors[2]), 2, 0.05) << int(scheme);
  }
}

// A front that reaches a wall: ghost nodes keep the second order there, one-sided rows would not.
TEST(Implicit, AreOfSecondOrderInSpaceAtAWall) {
  for (const rd::scheme scheme : implicit_schemes) {
    std::vector<rd::result<double>> found;
    const auto nodes_of = [](double spacing) { return static_cast<std::size_t>(std::lround(20 / spacing)) + 1; };
    const std::vector<double> spacings = {0.4, 0.2, 0.1, 0.05};
    for (const double spacing : spacings) {
      rd::problem wave;
      wave.parameters.epsilon = 0;
      wave.grid = {1, nodes_of(spacing), spacing};
      found.push_back(rd::solve<double>(wave, rd::front(wave.grid, wave.parameters), options_of(scheme, 0.02, {16})));
    }
    std::vector<double> differences;
    for (std::size_t i = 0; i + 1 < found.size(); ++i) {
      differences.push_back(difference_of_v(found[i + 1], nodes_of(spacings[i + 1]), found[i], nodes_of(spacings[i])));
    }
    EXPECT_NEAR(std::log2(differences[0] / differences[1]), 2, 0.06) << int(scheme);
    EXPECT_NEAR(std::log2(differences[1] / differences[2]), 2, 0.05) << int(scheme);
  }
}

// Every kind of end, against explicit steps so short that their own error is small.
TEST(Implicit, AgreeWithShortExplicitSteps) {
  for (const auto boundary :
       {rd::boundary::no_flux, rd::boundary::input, rd::boundary::periodic_input, rd::boundary::periodic}) {
    rd::problem wave;
    wave.parameters = {.a = 0.1, .gamma = 2, .epsilon = 0.05};
    wave.grid = {1, 61, 0.5};
    wave.boundary = boundary;
    wave.input_period = 12;
    rd::initial_state begin = rd::rest(wave.grid);
    for (std::size_t i = 0; i < 12; ++i) begin.v[i] = 0.5 + 0.5 * std::cos(0.25 * double(i));
    const double jump = wave.has_input() ? 2e-3 : 0;  // a constant input begins with one
    const auto expected = explicit_steps(wave, begin, 0.0005, 24000);
    for (const rd::scheme scheme : implicit_schemes) {
      EXPECT_LE(largest_difference(rd::solve<double>(wave, begin, options_of(scheme, 0.02, {12})), expected),
                5e-4 + jump)
          << int(boundary) << ", scheme " << int(scheme);
      EXPECT_LE(largest_difference(rd::solve<float>(wave, begin, options_of(scheme, 0.02, {12})), expected),
                5e-4 + jump)
          << int(boundary) << ", scheme " << int(scheme);
    }
  }
}

TEST(Implicit, TheStepFollowsTheTolerance) {
  rd::problem wave;
  wave.parameters = {.a = 0.01, .gamma = 2, .epsilon = 0.01};
  const rd::initial_state begin = rd::impulse(wave.grid);
  const auto exact = rd::solve<double>(wave, begin, options_of(rd::scheme::crank_nicolson, 0.01, {60}));
  double before = 1;
  std::size_t steps_before = 0;
  for (const double tolerance : {1e-3, 1e-4, 1e-5}) {
    rd::options how = options_of(rd::scheme::tr_bdf2, 0, {60});
    how.tolerance = tolerance;
    const auto found = rd::solve<double>(wave, begin, how);
    const double error = difference_of_v(exact, 401, found, 401);
    EXPECT_LT(error, 60 * tolerance);
    EXPECT_LT(error, before / 2);
    EXPECT_GT(found.steps, steps_before);
    before = error;
    steps_before = found.steps;
  }
}

// Bounded to 64 times the step that explicit steps could take; Rannacher's start keeps box data from ringing.
TEST(Implicit, StayBoundedForLongSteps) {
  rd::problem wave;
  wave.grid = {1, 401, 0.25};
  rd::initial_state begin = rd::rest(wave.grid);
  for (std::size_t i = 150; i < 250; ++i) begin.v[i] = 1;
  for (const rd::scheme scheme : implicit_schemes) {
    for (const double ratio : {1, 8, 32, 64}) {
      const double step = ratio * 0.25 * 0.25;
      const auto found = rd::solve<double>(wave, begin, options_of(scheme, step, {3 * step, 400 * step}));
      for (const double value : found.states) {
        EXPECT_LT(value, 1.02) << ratio;
        EXPECT_GT(value, -0.6) << ratio;
      }
    }
  }
}

TEST(Implicit, ThreadsGiveTheSameBits) {
  for (const auto boundary : {rd::boundary::no_flux, rd::boundary::periodic}) {
    rd::problem wave;
    wave.grid = {1, 50001, 0.5};
    wave.boundary = boundary;
    const rd::initial_state begin = rd::impulse(wave.grid);
    for (const rd::scheme scheme : implicit_schemes) {
      rd::options how = options_of(scheme, 0.2, {1});
      const auto one = rd::solve<double>(wave, begin, how);
      for (const std::size_t threads : {2, 5}) {
        how.threads = threads;
        EXPECT_EQ(rd::solve<double>(wave, begin, how).states, one.states);
      }
    }
  }
}

TEST(Implicit, ResumeToTheSameBits) {
  rd::problem wave;
  wave.grid = {1, 801, 0.5};
  const rd::initial_state begin = rd::impulse(wave.grid);
  const std::string path = testing::TempDir() + "implicit_checkpoint.json";
  for (const auto& [scheme, step] : {std::tuple{rd::scheme::crank_nicolson, 0.015}, {rd::scheme::tr_bdf2, 0.0}}) {
    rd::options how = options_of(scheme, step, {0.5, 8});
    how.tolerance = 1e-9;
    const auto whole = rd::solve<double>(wave, begin, how);
    ASSERT_GT(whole.steps, 500u) << "too few for a stop within the run";
    how.checkpoint = path;
    std::filesystem::remove(path);
    std::stop_source stop;
    const auto stop_on_the_way = [&](const shoal::progress& at) {
      if (at.step > 100) stop.request_stop();
    };
    EXPECT_THROW(rd::solve<double>(wave, begin, how, {}, {stop_on_the_way, stop.get_token()}), shoal::interrupted);
    const auto resumed = rd::solve<double>(wave, begin, how);
    EXPECT_EQ(resumed.states, whole.states);
    EXPECT_EQ(resumed.steps, whole.steps);
    EXPECT_EQ(resumed.newton_iterations, whole.newton_iterations);
    EXPECT_LT(resumed.steps_here, whole.steps);
  }
  std::filesystem::remove(path);
}

// Pulse speeds of the reference to four digits: second order, so that two spacings give the limit.
TEST(Implicit, PulsesHaveTheKnownSpeeds) {
  for (const auto& [a, epsilon, gamma, speed] :
       {std::tuple{0.1, 0.008, 2.0, 0.48301}, {0.139, 0.008, 2.54, 0.39985}, {0.1, 0.005, 2.0, 0.51950}}) {
    std::vector<double> found;
    for (const double spacing : {0.4, 0.2}) {
      rd::problem wave;
      wave.parameters = {.a = a, .gamma = gamma, .epsilon = epsilon};
      wave.grid = {1, static_cast<std::size_t>(std::lround(220 / spacing)) + 1, spacing};
      rd::initial_state begin = rd::rest(wave.grid);
      for (std::size_t i = 0; i < begin.v.size(); ++i) {
        begin.v[i] = std::exp(-std::pow(double(i) * spacing / 12, 2));
      }
      const auto run =
          rd::solve<double>(wave, begin, options_of(rd::scheme::crank_nicolson, 0.2 * spacing, {240, 340}));
      const std::size_t nodes = wave.grid.columns;
      const auto first = rd::crossings(run.states.data(), wave.grid),
                 second = rd::crossings(run.states.data() + 2 * nodes, wave.grid);
      ASSERT_EQ(first.size(), 2u);
      ASSERT_EQ(second.size(), 2u);
      found.push_back((second[1] - first[1]) / 100);
    }
    EXPECT_NEAR(found[1] + (found[1] - found[0]) / 3, speed, 5e-5);
  }
}
