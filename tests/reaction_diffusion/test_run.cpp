// The loop over time, whatever the scheme: states, checkpoints, stops, speeds, and what is refused.
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <stop_token>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>

#include "reference.hpp"

namespace {

using namespace wave_reference;

rd::problem source_axon() {
  rd::problem wave;
  wave.parameters = {.a = 0.01, .gamma = 2, .epsilon = 0.01};
  return wave;
}

template <class Error>
void expect_refused(const rd::problem& wave, const rd::options& how, const rd::initial_state& begin,
                    const std::string& part) {
  try {
    rd::solve<double>(wave, begin, how);
    FAIL() << "not refused: " << part;
  } catch (const Error& refusal) {
    EXPECT_NE(std::string(refusal.what()).find(part), std::string::npos) << refusal.what();
  }
}

}  // namespace

TEST(Run, KeepsStatesAtTheTimesThatWereAskedFor) {
  const rd::problem wave = source_axon();
  rd::options how;
  how.times = {0, 0, 1.5, 10};
  std::vector<double> seen;
  const rd::initial_state begin = rd::impulse(wave.grid);
  const auto found = rd::solve<double>(
      wave, begin, how, [&](double time, const double* v, const double*) { seen.push_back(time + 0 * v[0]); });
  EXPECT_EQ(seen, how.times);
  EXPECT_EQ(found.times, how.times);
  ASSERT_EQ(found.states.size(), 4 * 2 * 401u);
  EXPECT_EQ(std::vector<double>(found.states.begin(), found.states.begin() + 401), begin.v);
}

// An impulse splits into two pulses, a mirror of each other, which leave the axon at rest.
TEST(Run, ShowsTheSourcesImpulse) {
  const rd::problem wave = source_axon();
  rd::options how;
  how.times = {20, 90, 300};
  const auto found = rd::solve<double>(wave, rd::impulse(wave.grid), how);
  const double* at_90 = found.states.data() + 2 * 401;
  EXPECT_EQ(rd::crossings(at_90, wave.grid).size(), 4u);
  for (std::size_t i = 0; i < 401; ++i) EXPECT_NEAR(at_90[i], at_90[400 - i], 1e-12);
  const double* at_end = found.states.data() + 4 * 401;
  for (std::size_t i = 0; i < 401; ++i) EXPECT_LT(std::abs(at_end[i]), 0.3);
}

TEST(Run, MeasuresTheSpeedOfTheExactFront) {
  rd::problem wave;
  wave.parameters.epsilon = 0;
  wave.grid = {1, 801, 0.25};
  rd::options how;
  how.times = {0, 40};
  const auto found = rd::solve<double>(wave, rd::front(wave.grid, wave.parameters), how);
  const auto speed = rd::wave_speed(found.states.data(), found.states.data() + 2 * 801, 40, wave.grid);
  ASSERT_TRUE(speed.has_value());
  // Coarse grids make fronts too slow: by 6e-4 at this spacing.
  EXPECT_NEAR(*speed, (1 - 2 * 0.1) / std::sqrt(2.0) - 6e-4, 2.5e-3);
  EXPECT_FALSE(rd::wave_speed(found.states.data(), found.states.data(), 0, wave.grid).has_value());
}

TEST(Run, ResumesToTheSameBits) {
  const std::string path = testing::TempDir() + "wave_checkpoint.json";
  rd::problem wave = source_axon();
  wave.grid.columns = 20001;  // so many that a span takes several passes
  const rd::initial_state begin = rd::impulse(wave.grid);
  rd::options how;
  how.times = {5, 50, 60};
  const auto whole = rd::solve<float>(wave, begin, how);
  how.checkpoint = path;
  how.checkpoint_seconds = 0;
  std::filesystem::remove(path);
  std::stop_source stop;
  const auto stop_within_a_span = [&](const shoal::progress& at) {
    if (at.step > 300) stop.request_stop();
  };
  EXPECT_THROW(rd::solve<float>(wave, begin, how, {}, {stop_within_a_span, stop.get_token()}), shoal::interrupted);
  ASSERT_TRUE(std::filesystem::exists(path));
  const auto resumed = rd::solve<float>(wave, begin, how);
  EXPECT_EQ(resumed.states, whole.states);
  EXPECT_EQ(resumed.steps, whole.steps);
  EXPECT_LT(resumed.steps_here, whole.steps);
  // A run that has ended answers at once.
  const auto again = rd::solve<float>(wave, begin, how);
  EXPECT_EQ(again.states, whole.states);
  EXPECT_EQ(again.steps_here, 0u);
  // Another run may not go on from it.
  rd::problem other = wave;
  other.parameters.a = 0.02;
  try {
    rd::solve<float>(other, begin, how);
    FAIL() << "not refused";
  } catch (const shoal::bad_argument& refusal) {
    EXPECT_NE(std::string(refusal.what()).find("equations is a 0.01, gamma 2, epsilon 0.01"), std::string::npos)
        << refusal.what();
  }
  std::filesystem::remove(path);
}

TEST(Run, RefusesWrongUseWithTheLimit) {
  const rd::problem good = source_axon();
  const rd::initial_state begin = rd::impulse(good.grid);
  rd::options how;
  how.times = {1};
  const auto refused = [&](const std::string& part, const auto& change) {
    rd::problem wave = good;
    rd::options changed = how;
    change(wave, changed);
    expect_refused<shoal::bad_argument>(wave, changed, begin, part);
  };
  refused("up to 0.117716 on this grid", [](rd::problem&, rd::options& o) { o.step = 0.125; });
  refused("an axon needs at least 3 nodes; got 2", [](rd::problem& p, rd::options&) { p.grid.columns = 2; });
  refused("up to 0.0606", [](rd::problem& p, rd::options& o) {
    p.grid = {7, 401, 0.5};
    o.step = 0.1;
  });
  refused("in the plane (7 rows) the scheme is explicit_steps", [](rd::problem& p, rd::options& o) {
    p.grid.rows = 7;
    o.scheme = rd::scheme::adaptive;
  });
  refused("in the plane and on coupled axons input needs", [](rd::problem& p, rd::options& o) {
    p.grid.rows = 7;
    p.boundary = rd::boundary::input;
    o.scheme = rd::scheme::tr_bdf2;
  });
  refused("the plane needs at least 3 nodes in each direction; got 2 times",
          [](rd::problem& p, rd::options&) { p.grid.rows = 2; });
  refused("order must be 2 or 4; got 3", [](rd::problem&, rd::options& o) { o.order = 3; });
  refused("order 4 needs scheme explicit_steps", [](rd::problem&, rd::options& o) {
    o.order = 4;
    o.scheme = rd::scheme::tr_bdf2;
  });
  refused("order 4 with input needs at least 6 nodes; got 5", [](rd::problem& p, rd::options& o) {
    o.order = 4;
    p.boundary = rd::boundary::input;
    p.grid.columns = 5;
  });
  refused("scheme source_2016 needs recovery_diffusion 0; got 1", [](rd::problem& p, rd::options& o) {
    o.scheme = rd::scheme::source_2016;
    p.parameters.recovery_diffusion = 1;
  });
  refused("up to 0.124757 on this grid", [](rd::problem&, rd::options& o) {
    o.order = 4;
    o.step = 0.2;
  });
  refused("diffusion must be a finite number of at least 0; got -1",
          [](rd::problem& p, rd::options&) { p.parameters.diffusion = -1; });
  refused("epsilon must be", [](rd::problem& p, rd::options&) { p.parameters.epsilon = -0.1; });
  refused("spacing must be a finite number above 0", [](rd::problem& p, rd::options&) { p.grid.spacing = 0; });
  refused("times must be finite and ascend from 0 on; got 1 after 2", [](rd::problem&, rd::options& o) {
    o.times = {2, 1};
  });
  refused("times must hold at least one time", [](rd::problem&, rd::options& o) { o.times.clear(); });
  refused("the initial v has 401 values, and the grid 400", [](rd::problem& p, rd::options&) { p.grid.columns = 400; });
  rd::initial_state broken = begin;
  broken.w[17] = std::numeric_limits<double>::quiet_NaN();
  expect_refused<shoal::bad_data>(good, how, broken, "the initial w[17] is nan");
}

// A number of steps that no integer holds came out as none, and the beginning was returned as the end.
TEST(Run, RefusesMoreStepsThanCanBeCounted) {
  rd::problem wave = source_axon();
  for (const rd::scheme scheme : {rd::scheme::explicit_steps, rd::scheme::crank_nicolson, rd::scheme::adaptive}) {
    rd::options how;
    how.scheme = scheme;
    how.times = {1e300};
    expect_refused<shoal::bad_argument>(wave, how, rd::impulse(wave.grid), "steps of");
  }
  rd::options how;
  how.order = 4;
  how.times = {100};
  wave.grid.spacing = 1e-9;
  expect_refused<shoal::bad_argument>(wave, how, rd::impulse(wave.grid), "steps of");
}

// Noise that outgrows the numbers ended in NaN, status done.
TEST(Run, RefusesStatesThatAreNotFinite) {
  rd::problem wave = source_axon();
  wave.noise.strength = 1e200;
  rd::options how;
  how.times = {0, 1};
  expect_refused<shoal::numerical_error>(wave, how, rd::impulse(wave.grid), "at time 1");
}
