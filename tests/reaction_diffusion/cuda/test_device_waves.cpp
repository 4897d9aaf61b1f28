// Waves on CUDA devices: the host's bits for any number of domains, checkpoints that either resumes, and what is
// refused. The host's vector code has fused multiply-adds on every processor that stands beside such a device.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <stop_token>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/reaction_diffusion/reaction_diffusion.hpp>

#include "../../cuda_devices.hpp"
#include "../reference.hpp"

namespace {

namespace rd = shoal::reaction_diffusion;
using wave_reference::random_state;

// Where the states first differ, or nothing.
template <class Scalar>
std::string difference(const rd::result<Scalar>& found, const rd::result<Scalar>& expected) {
  if (found.states.size() != expected.states.size()) return "states are missing";
  if (found.steps != expected.steps) return fmt::format("{} steps, not {}", found.steps, expected.steps);
  for (std::size_t i = 0; i < found.states.size(); ++i) {
    if (found.states[i] != expected.states[i]) {
      return fmt::format("value {}: {} and {}", i, found.states[i], expected.states[i]);
    }
  }
  return {};
}

template <class Scalar, class Other>
double largest_difference(const rd::result<Scalar>& found, const rd::result<Other>& expected) {
  if (found.states.size() != expected.states.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::size_t i = 0; i < found.states.size(); ++i) {
    const double by = std::abs(static_cast<double>(found.states[i]) - static_cast<double>(expected.states[i]));
    if (!(by <= largest)) largest = by;
  }
  return largest;
}

template <class Scalar>
void expect_host_bits(const rd::problem& wave, rd::options how, const std::vector<std::size_t>& domains) {
  const rd::initial_state begin = random_state(wave.grid, wave.grid.nodes());
  how.device = {};
  const auto expected = rd::solve<Scalar>(wave, begin, how);
  for (const std::size_t count : domains) {
    how.device.cuda.assign(count, 0);
    EXPECT_EQ(difference(rd::solve<Scalar>(wave, begin, how), expected), "")
        << wave.grid.rows << " x " << wave.grid.columns << ", boundary " << int(wave.boundary) << ", " << count
        << " domains, scalar of " << sizeof(Scalar);
  }
}

rd::problem wave_on(const rd::grid& nodes, rd::boundary ends, double recovery_diffusion = 0) {
  rd::problem wave;
  wave.grid = nodes;
  wave.boundary = ends;
  wave.input_period = 3;
  wave.parameters.recovery_diffusion = recovery_diffusion;
  return wave;
}

rd::options explicit_until(double time) {
  rd::options how;
  how.step = 0.125 * 0.25;
  how.times = {0, time / 3, time};
  return how;
}

class DeviceWaves : public cuda_devices::on_one_device {};

}  // namespace

TEST_F(DeviceWaves, ExplicitStepsOnAnAxonHaveTheHostsBits) {
  for (const auto ends :
       {rd::boundary::no_flux, rd::boundary::input, rd::boundary::periodic_input, rd::boundary::periodic}) {
    for (const std::size_t nodes : {3, 4, 5, 31, 33, 401, 1025, 4097}) {
      expect_host_bits<double>(wave_on({1, nodes, 0.5}, ends), explicit_until(5), {1, 2, 3});
      expect_host_bits<float>(wave_on({1, nodes, 0.5}, ends), explicit_until(5), {1, 2, 3});
      expect_host_bits<double>(wave_on({1, nodes, 0.5}, ends, 0.7), explicit_until(2), {1, 2});
    }
  }
}

TEST_F(DeviceWaves, ExplicitStepsOnALongAxonHaveTheHostsBits) {
  for (const auto ends : {rd::boundary::no_flux, rd::boundary::periodic}) {
    expect_host_bits<double>(wave_on({1, 70001, 0.5}, ends), explicit_until(60), {1, 2, 5});
    expect_host_bits<float>(wave_on({1, 70001, 0.5}, ends), explicit_until(60), {1, 2, 5});
  }
}

TEST_F(DeviceWaves, ExplicitStepsInThePlaneHaveTheHostsBits) {
  for (const auto ends : {rd::boundary::no_flux, rd::boundary::periodic}) {
    for (const rd::grid& nodes : {rd::grid{3, 3, 0.5}, rd::grid{5, 130, 0.5}, rd::grid{201, 7, 0.5},
                                  rd::grid{150, 149, 0.5}, rd::grid{64, 256, 0.5}}) {
      expect_host_bits<double>(wave_on(nodes, ends), explicit_until(3), {1, 2, 3});
      expect_host_bits<float>(wave_on(nodes, ends), explicit_until(3), {1, 2, 3});
      expect_host_bits<double>(wave_on(nodes, ends, 0.7), explicit_until(1), {1, 2});
    }
  }
}

// Newton's method leaves at most its accuracy in each of 42 steps, on the host and on the device.
template <class Scalar>
void expect_hosts_crank_nicolson(const rd::problem& wave) {
  const rd::initial_state begin = random_state(wave.grid, wave.grid.nodes());
  rd::options how;
  how.scheme = rd::scheme::crank_nicolson;
  how.step = 0.25;
  how.times = {0, 1.75, 10};
  const auto expected = rd::solve<Scalar>(wave, begin, how);
  how.device.cuda = {0};
  const auto found = rd::solve<Scalar>(wave, begin, how);
  EXPECT_EQ(found.steps, expected.steps);
  EXPECT_GE(found.newton_iterations, found.steps);
  EXPECT_LE(largest_difference(found, expected), 42 * (sizeof(Scalar) == 4 ? 1e-6 : 1e-12))
      << wave.grid.columns << " nodes, boundary " << int(wave.boundary);
}

TEST_F(DeviceWaves, CrankNicolsonAgreesWithTheHosts) {
  for (const auto ends :
       {rd::boundary::no_flux, rd::boundary::input, rd::boundary::periodic_input, rd::boundary::periodic}) {
    for (const std::size_t nodes : {3, 4, 15, 16, 17, 401, 2047, 2048, 2049, 2050, 70001}) {
      expect_hosts_crank_nicolson<double>(wave_on({1, nodes, 0.5}, ends));
      expect_hosts_crank_nicolson<float>(wave_on({1, nodes, 0.5}, ends));
    }
  }
}

// By fixed steps, of which each solves two stages, and in float64 by steps that follow a tolerance (0 below), where
// Newton's method may leave a thousandth of that in each stage.
template <class Scalar>
void expect_hosts_tr_bdf2(const rd::problem& wave) {
  const rd::initial_state begin = random_state(wave.grid, wave.grid.nodes());
  rd::options how;
  how.scheme = rd::scheme::tr_bdf2;
  how.times = {0, 1.75, 10};
  const std::vector<double> steps = sizeof(Scalar) == 4 ? std::vector{0.25} : std::vector{0.25, 0.0};
  for (const double step : steps) {
    how.step = step;
    how.device = {};
    const auto expected = rd::solve<Scalar>(wave, begin, how);
    how.device.cuda = {0};
    const auto found = rd::solve<Scalar>(wave, begin, how);
    if (step > 0) {
      EXPECT_EQ(found.steps, expected.steps);
    }
    const double accuracy = step > 0 ? (sizeof(Scalar) == 4 ? 1e-6 : 1e-12) : 1e-3 * how.tolerance;
    EXPECT_LE(largest_difference(found, expected), 2 * static_cast<double>(found.steps) * accuracy)
        << wave.grid.columns << " nodes, boundary " << int(wave.boundary) << ", step " << step;
  }
}

// A step grows at most fourfold, so that errors down to 0.011 of the tolerance, 1e-6, set the next one; in float32
// rounding is a part of these. The host's own states of 3 nodes move by 5e-5 when the initial ones do by their last
// bit. So both are held to the same steps first: the times at which a state is kept lie so close that the tolerance
// rarely asks for shorter ones.
void expect_hosts_steps_in_float32(const rd::problem& wave) {
  const rd::initial_state begin = random_state(wave.grid, wave.grid.nodes());
  rd::options how;
  how.scheme = rd::scheme::tr_bdf2;
  how.tolerance = 1e-3;
  for (double time = 0.008; time < 10; time *= 1.1) how.times.push_back(time);
  const auto expected = rd::solve<float>(wave, begin, how);
  how.device.cuda = {0};
  const auto found = rd::solve<float>(wave, begin, how);
  EXPECT_EQ(found.steps, expected.steps);
  EXPECT_EQ(found.refused_steps, expected.refused_steps);
  EXPECT_LE(largest_difference(found, expected), 8e-6)
      << wave.grid.columns << " nodes, boundary " << int(wave.boundary);
}

// And by steps of their own they come as near to the solution as the host does: its error is that of the steps, 1e-4 to
// 8e-4 here.
void expect_hosts_error_in_float32(const rd::problem& wave) {
  const rd::initial_state begin = random_state(wave.grid, wave.grid.nodes());
  rd::options how;
  how.scheme = rd::scheme::tr_bdf2;
  how.times = {0, 1.75, 10};
  const auto expected = rd::solve<float>(wave, begin, how);
  rd::options fine = how;
  fine.tolerance = 1e-7;
  const auto exact = rd::solve<double>(wave, begin, fine);
  how.device.cuda = {0};
  const auto found = rd::solve<float>(wave, begin, how);
  const std::string where = fmt::format("{} nodes, boundary {}", wave.grid.columns, int(wave.boundary));
  EXPECT_LE(largest_difference(found, exact), 1.15 * largest_difference(expected, exact)) << where;
  EXPECT_LE(largest_difference(found, expected), how.tolerance) << where;
}

TEST_F(DeviceWaves, TrBdf2AgreesWithTheHosts) {
  for (const auto ends :
       {rd::boundary::no_flux, rd::boundary::input, rd::boundary::periodic_input, rd::boundary::periodic}) {
    for (const std::size_t nodes : {3, 17, 401, 2048, 5003}) {
      expect_hosts_tr_bdf2<double>(wave_on({1, nodes, 0.5}, ends));
      expect_hosts_tr_bdf2<float>(wave_on({1, nodes, 0.5}, ends));
      expect_hosts_steps_in_float32(wave_on({1, nodes, 0.5}, ends));
      if (nodes <= 401) expect_hosts_error_in_float32(wave_on({1, nodes, 0.5}, ends));
    }
  }
}

// On an axon domains have whole blocks of 2048 nodes, the last perhaps one node of its own; in the plane whole rows,
// and of the columns what is left.
template <class Scalar>
void expect_one_devices_bits(const rd::problem& wave, rd::options how) {
  const rd::initial_state begin = random_state(wave.grid, wave.grid.nodes());
  how.device.cuda = {0};
  const auto expected = rd::solve<Scalar>(wave, begin, how);
  for (const std::size_t count : {2, 3, 5}) {
    how.device.cuda.assign(count, 0);
    const auto found = rd::solve<Scalar>(wave, begin, how);
    const std::string where = fmt::format("{} x {}, boundary {}, scheme {}, step {}, {} domains", wave.grid.rows,
                                          wave.grid.columns, int(wave.boundary), int(how.scheme), how.step, count);
    EXPECT_EQ(difference(found, expected), "") << where;
    EXPECT_EQ(found.newton_iterations, expected.newton_iterations) << where;
  }
}

TEST_F(DeviceWaves, ImplicitStepsHaveTheBitsOfOneDevice) {
  rd::options how;
  how.times = {0, 1.75, 10};
  for (const auto ends : {rd::boundary::no_flux, rd::boundary::periodic_input, rd::boundary::periodic}) {
    for (const rd::grid& nodes : {rd::grid{1, 2000, 0.5}, rd::grid{1, 4097, 0.5}, rd::grid{1, 12000, 0.5},
                                  rd::grid{3, 70, 0.5}, rd::grid{41, 4, 0.5}, rd::grid{64, 65, 0.5}}) {
      if (nodes.rows > 1 && ends == rd::boundary::periodic_input) continue;
      for (const rd::scheme scheme : {rd::scheme::crank_nicolson, rd::scheme::tr_bdf2}) {
        how.scheme = scheme;
        for (const double step : {0.25, 0.0}) {
          how.step = step;
          expect_one_devices_bits<double>(wave_on(nodes, ends), how);
          expect_one_devices_bits<float>(wave_on(nodes, ends), how);
        }
      }
    }
  }
}

// In the plane steps are split; each of the reaction's parts leaves Newton's accuracy, two to a step, of two stages
// with TR-BDF2. Newton's method stops node by node here.
template <class Scalar>
void expect_hosts_split_steps(const rd::problem& wave, rd::scheme scheme) {
  const rd::initial_state begin = random_state(wave.grid, wave.grid.nodes());
  rd::options how;
  how.scheme = scheme;
  how.step = 0.25;
  how.times = {0, 1.75, 10};
  const auto expected = rd::solve<Scalar>(wave, begin, how);
  how.device.cuda = {0};
  const auto found = rd::solve<Scalar>(wave, begin, how);
  EXPECT_EQ(found.steps, expected.steps);
  EXPECT_GE(found.newton_iterations, 2 * found.steps);
  EXPECT_LE(found.newton_iterations, expected.newton_iterations);
  EXPECT_LE(largest_difference(found, expected), 4 * 42 * (sizeof(Scalar) == 4 ? 1e-6 : 1e-12))
      << wave.grid.rows << " x " << wave.grid.columns << ", boundary " << int(wave.boundary);
}

TEST_F(DeviceWaves, ImplicitStepsInThePlaneAgreeWithTheHosts) {
  for (const auto ends : {rd::boundary::no_flux, rd::boundary::periodic}) {
    for (const rd::grid& nodes :
         {rd::grid{3, 3, 0.5}, rd::grid{5, 130, 0.5}, rd::grid{201, 7, 0.5}, rd::grid{65, 64, 0.5},
          rd::grid{3, 16411, 0.5}, rd::grid{4099, 5, 0.5}}) {  // the last two in several segments
      for (const rd::scheme scheme : {rd::scheme::crank_nicolson, rd::scheme::tr_bdf2}) {
        expect_hosts_split_steps<double>(wave_on(nodes, ends), scheme);
        expect_hosts_split_steps<float>(wave_on(nodes, ends), scheme);
        expect_hosts_split_steps<double>(wave_on(nodes, ends, 0.7), scheme);
      }
    }
  }
}

// By a tolerance; both come as near to the solution.
TEST_F(DeviceWaves, ImplicitStepsInThePlaneFollowATolerance) {
  const rd::problem wave = wave_on({33, 40, 0.5}, rd::boundary::no_flux);
  const rd::initial_state begin = random_state(wave.grid, 5);
  rd::options how;
  how.scheme = rd::scheme::tr_bdf2;
  how.times = {0, 1.75, 10};
  const auto expected = rd::solve<double>(wave, begin, how);
  how.device.cuda = {0};
  const auto found = rd::solve<double>(wave, begin, how);
  EXPECT_EQ(found.steps, expected.steps);
  EXPECT_EQ(found.refused_steps, expected.refused_steps);
  EXPECT_LE(largest_difference(found, expected), 12 * static_cast<double>(found.steps) * 1e-3 * how.tolerance);
}

TEST_F(DeviceWaves, CrankNicolsonThatDoesNotConvergeNamesTheTime) {
  const rd::problem wave = wave_on({1, 100, 0.5}, rd::boundary::no_flux);
  rd::initial_state begin = rd::rest(wave.grid);
  for (double& value : begin.v) value = 1e200;
  rd::options how;
  how.scheme = rd::scheme::crank_nicolson;
  how.step = 1;
  how.times = {3};
  how.device.cuda = {0};
  try {
    rd::solve<double>(wave, begin, how);
    FAIL() << "it must not converge";
  } catch (const shoal::numerical_error& failure) {
    EXPECT_NE(std::string(failure.what()).find("at time 0.5"), std::string::npos) << failure.what();
  }
}

// A run that is stopped on one goes on on the other.
void expect_resumption(rd::options how, double tolerance, const rd::grid& nodes = {1, 2000, 0.5}) {
  const rd::problem wave = wave_on(nodes, rd::boundary::no_flux);
  const rd::initial_state begin = random_state(wave.grid, 3);
  const auto expected = rd::solve<double>(wave, begin, how);
  for (const bool device_first : {false, true}) {
    const auto file = std::filesystem::temp_directory_path() / fmt::format("shoal-device-wave-{}.json", device_first);
    std::filesystem::remove(file);
    how.checkpoint = file;
    how.checkpoint_seconds = 0;
    how.device.cuda.assign(device_first ? 1 : 0, 0);
    shoal::control control;
    std::stop_source stop;
    control.stop = stop.get_token();
    const rd::observer<double> at_second = [&](double time, const double*, const double*) {
      if (time > 0) stop.request_stop();
    };
    EXPECT_THROW(rd::solve<double>(wave, begin, how, at_second, control), shoal::interrupted);
    how.device.cuda.assign(device_first ? 0 : 1, 0);
    const auto found = rd::solve<double>(wave, begin, how);
    EXPECT_LT(found.steps_here, found.steps);
    EXPECT_LE(largest_difference(found, expected), tolerance);
    std::filesystem::remove(file);
  }
}

TEST_F(DeviceWaves, ACheckpointResumesOnEither) {
  rd::options how = explicit_until(50);
  expect_resumption(how, 0);
  how.scheme = rd::scheme::crank_nicolson;
  how.step = 0.25;
  expect_resumption(how, 200e-12);
  how.scheme = rd::scheme::tr_bdf2;
  expect_resumption(how, 400e-12);
  expect_resumption(how, 800e-12, {40, 50, 0.5});
}

TEST_F(DeviceWaves, SchemesOfTheHostAreRefused) {
  const rd::problem wave = wave_on({1, 50, 0.5}, rd::boundary::no_flux);
  rd::options how = explicit_until(1);
  how.device.cuda = {0};
  how.scheme = rd::scheme::adaptive;
  EXPECT_THROW(rd::solve<double>(wave, rd::rest(wave.grid), how), shoal::bad_argument);
  how.scheme = rd::scheme::explicit_steps;
  how.order = 4;
  EXPECT_THROW(rd::solve<double>(wave, rd::rest(wave.grid), how), shoal::bad_argument);
  how.order = 2;
  how.scheme = rd::scheme::crank_nicolson;
  const rd::problem spreading = wave_on({1, 50, 0.5}, rd::boundary::no_flux, 0.7);
  EXPECT_THROW(rd::solve<double>(spreading, rd::rest(spreading.grid), how), shoal::bad_argument);
}
