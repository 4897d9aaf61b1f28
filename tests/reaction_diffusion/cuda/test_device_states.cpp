// Waves whose states lie in the memory of a CUDA device: those of the same run with states of the host, to the bit.
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/stream.hpp>
#include <shoal/reaction_diffusion/reaction_diffusion.hpp>

#include "../../cuda_devices.hpp"
#include "../reference.hpp"

namespace {

namespace rd = shoal::reaction_diffusion;
using wave_reference::options_of;
using wave_reference::random_state;

template <class Scalar>
struct on_device {
  explicit on_device(const rd::initial_state& begin) {
    const std::vector<Scalar> narrow_v(begin.v.begin(), begin.v.end()), narrow_w(begin.w.begin(), begin.w.end());
    v.upload(narrow_v, stream);
    w.upload(narrow_w, stream);
    stream.synchronize();
  }
  rd::device_state<Scalar> view() const { return {v.data(), w.data(), 0}; }

  shoal::cuda::stream stream;
  shoal::cuda::device_buffer<Scalar> v, w;
};

template <class Scalar>
void expect_the_same(const rd::problem& wave, rd::options how, std::size_t domains) {
  how.device.cuda.assign(domains, 0);
  rd::initial_state begin = random_state(wave.grid);
  for (auto* part : {&begin.v, &begin.w}) {
    for (double& value : *part) value = static_cast<Scalar>(value);
  }
  const rd::result<Scalar> expected = rd::solve<Scalar>(wave, begin, how);
  const on_device<Scalar> there(begin);
  const std::size_t nodes = wave.grid.nodes(), last = how.times.size() - 1;
  shoal::cuda::device_buffer<Scalar> states(2 * nodes * how.times.size());
  const rd::result<Scalar> found = rd::solve<Scalar>(wave, there.view(), how, states.data());
  const std::vector<Scalar> kept = states.download(states.size(), there.stream);
  EXPECT_TRUE(found.states.empty());
  EXPECT_EQ(found.steps, expected.steps);
  ASSERT_EQ(kept.size(), expected.states.size());
  std::size_t different = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) different += kept[i] != expected.states[i];
  EXPECT_EQ(different, 0) << wave.grid.rows << " x " << wave.grid.columns << ", scheme " << int(how.scheme);
  // What was handed over is still what it was.
  const std::vector<Scalar> after = there.v.download(nodes, there.stream);
  for (std::size_t i = 0; i < nodes; ++i) ASSERT_EQ(after[i], static_cast<Scalar>(begin.v[i]));
  const auto at = [&](std::size_t time) {
    return rd::device_state<Scalar>{states.data() + 2 * time * nodes, states.data() + (2 * time + 1) * nodes, 0};
  };
  EXPECT_EQ(rd::wave_speed(at(last - 1), at(last), 1, wave.grid).has_value(),
            rd::wave_speed(expected, wave.grid).has_value());
}

class DeviceStates : public cuda_devices::on_one_device {};

}  // namespace

TEST_F(DeviceStates, AreThoseOfTheHost) {
  rd::problem wave;
  for (const auto& [nodes, ends] : {std::pair{rd::grid{1, 5000, 0.5}, rd::boundary::periodic_input},
                                    std::pair{rd::grid{1, 5000, 0.5}, rd::boundary::periodic},
                                    std::pair{rd::grid{20, 33, 0.5}, rd::boundary::no_flux}}) {
    wave.grid = nodes;
    wave.boundary = ends;
    for (const auto scheme : {rd::scheme::explicit_steps, rd::scheme::crank_nicolson, rd::scheme::tr_bdf2}) {
      const rd::options how = options_of(scheme, 0.03, {0, 0, 1, 1, 2});
      expect_the_same<double>(wave, how, 1);
      expect_the_same<float>(wave, how, scheme == rd::scheme::explicit_steps || nodes.rows == 1 ? 2 : 1);
    }
  }
}

TEST_F(DeviceStates, OfAFrontTellItsSpeed) {
  rd::problem wave;
  wave.grid = {1, 801, 0.25};
  wave.parameters.epsilon = 0;
  rd::options how = options_of(rd::scheme::explicit_steps, 0, {0, 40});
  how.device.cuda = {0};
  const rd::initial_state begin = rd::front(wave.grid, wave.parameters);
  const on_device<double> there(begin);
  shoal::cuda::device_buffer<double> states(4 * 801);
  rd::solve<double>(wave, there.view(), how, states.data());
  const double* const first = states.data();
  const auto speed = rd::wave_speed<double>({first, first + 801, 0}, {first + 1602, first + 2403, 0}, 40, wave.grid);
  const auto expected = rd::wave_speed(rd::solve<double>(wave, begin, how), wave.grid);
  ASSERT_TRUE(speed && expected);
  EXPECT_NEAR(*speed, *expected, 1e-13);
}

TEST_F(DeviceStates, ThatCannotBeUsedAreTold) {
  rd::problem wave;
  wave.grid.columns = 10;
  rd::initial_state begin = rd::rest(wave.grid);
  rd::options how = options_of(rd::scheme::explicit_steps, 0, {1});
  const auto refusal = [&](const rd::device_state<double>& state) {
    shoal::cuda::device_buffer<double> states(20);
    try {
      rd::solve<double>(wave, state, how, states.data());
    } catch (const shoal::error& refused) {
      return std::string(refused.what());
    }
    return std::string();
  };
  const on_device<double> rest(begin);
  EXPECT_NE(refusal(rest.view()).find("to run on the cpu"), std::string::npos);
  how.device.cuda = {0};
  EXPECT_EQ(refusal(rest.view()), "");
  how.checkpoint = "wave.json";
  EXPECT_NE(refusal(rest.view()).find("checkpoint"), std::string::npos);
  how.checkpoint.clear();
  EXPECT_NE(refusal({begin.v.data(), begin.w.data(), 0}).find("said to lie on CUDA device 0"), std::string::npos);
  begin.w[7] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(refusal(on_device<double>(begin).view()).find("w[7]"), std::string::npos);
}
