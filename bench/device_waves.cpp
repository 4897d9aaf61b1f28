// Waves on GPUs: milliseconds a step, and one tridiagonal system, beside the floors that their bytes imply at the rate
// of a copy measured in the same run. compare_waves_gpu.py measures PyTorch and cuSPARSE beside it. Prints one line of
// JSON for each shape:
//   device_waves [DEVICES]     DEVICES: 0; or 0,1: steps on the first alone and in domains on all of them, whose
//                              bits must be the same, else it exits with 1
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/stream.hpp>
#include <shoal/execution/device_choice.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/reaction_diffusion/choose_stepper.hpp>
#include <shoal/reaction_diffusion/cuda/explicit_kernels.hpp>
#include <shoal/reaction_diffusion/initial_state.hpp>
#include <shoal/reaction_diffusion/tridiagonal/cuda/kernels.hpp>

namespace {

namespace rd = shoal::reaction_diffusion;

constexpr int repeats = 11;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Bytes a second that a copy on the device reads and writes.
double copy_rate(cudaStream_t stream) {
  constexpr std::size_t bytes = std::size_t{1} << 30;
  shoal::cuda::device_buffer<char> from(bytes), to(bytes);
  from.fill_with_zeros(stream);
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    shoal::cuda::check(cudaStreamSynchronize(stream), "wait");
    const auto begin = std::chrono::steady_clock::now();
    shoal::cuda::check(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, stream), "copy");
    shoal::cuda::check(cudaStreamSynchronize(stream), "wait");
    times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return 2 * static_cast<double>(bytes) / median(times);
}

struct shape {
  const char* name;
  rd::grid grid;
  rd::scheme scheme;
  double step;        // 0: the scheme's own
  std::size_t steps;  // in one measurement
  double values;      // that one pass over memory moves for each node and step
  double steps_of_pass;
};

// Of the bits of all values, in their order (FNV-1a, by words).
template <class Scalar>
std::uint64_t hash_of(const rd::state<Scalar>& now, std::size_t nodes) {
  std::uint64_t hash = 14695981039346656037u;
  for (const Scalar* values : {now.v.data(), now.w.data()}) {
    for (std::size_t i = 0; i < nodes; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, values + i, sizeof(Scalar));
      hash = (hash ^ word) * 1099511628211u;
    }
  }
  return hash;
}

struct measured {
  double milliseconds;
  std::uint64_t hash;  // of the last state
};

template <class Scalar>
measured measure(const shape& of, const std::vector<int>& devices, double rate, bool hashed) {
  rd::problem wave;
  wave.grid = of.grid;
  rd::options how;
  how.scheme = of.scheme;
  how.step = of.step;
  how.device.cuda = devices;
  const std::unique_ptr<shoal::executor> host = shoal::make_executor(1);
  const auto stepper = rd::choose_stepper<Scalar>(wave, how, *host);
  rd::state<Scalar> now;
  const std::size_t nodes = wave.grid.nodes();
  now.v.grow(nodes);
  now.w.grow(nodes);
  constexpr std::size_t period = 4096;
  for (std::size_t i = 0; i < nodes; ++i) {
    const double x = static_cast<double>(i) * 0.01;
    now.v[i] = i < period ? static_cast<Scalar>(0.5 + 0.5 * std::sin(x)) : now.v[i - period];
    now.w[i] = i < period ? static_cast<Scalar>(0.1 * std::cos(x)) : now.w[i - period];
  }
  const rd::span over{0, 1e6};
  stepper->advance(now, over, of.steps);  // uploads, and passes the damped steps
  const std::size_t before = stepper->newton_iterations();
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    stepper->advance(now, over, of.steps);
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count() /
                    static_cast<double>(of.steps));
  }
  const double bytes = static_cast<double>(nodes) * sizeof(Scalar);
  const double iterations =
      static_cast<double>(stepper->newton_iterations() - before) / static_cast<double>(repeats * of.steps);
  fmt::print(
      "{{\"what\": \"{}\", \"scalar\": \"float{}\", \"devices\": {}, \"rows\": {}, \"columns\": {}, "
      "\"milliseconds_per_step\": {:.5f}, \"least\": {:.5f}, \"newton_iterations_per_step\": {:.2f}, "
      "\"milliseconds_of_one_pass\": {:.5f}, \"floor_milliseconds_per_step\": {:.5f}}}\n",
      of.name, 8 * sizeof(Scalar), devices.size(), of.grid.rows, of.grid.columns, median(times),
      *std::min_element(times.begin(), times.end()), iterations,
      1e3 * 4 * bytes / rate / static_cast<double>(devices.size()),
      1e3 * of.values * bytes / rate / of.steps_of_pass / static_cast<double>(devices.size()));
  std::fflush(stdout);
  if (hashed) stepper->collect(now);
  return {median(times), hashed ? hash_of(now, nodes) : 0};
}

// One device beside all of them. Returns whether they have the same bits.
template <class Scalar>
bool compare(const shape& of, const std::vector<int>& devices, double rate) {
  const bool several = devices.size() > 1;
  const measured alone = measure<Scalar>(of, {devices[0]}, rate, several);
  if (!several) return true;
  const measured together = measure<Scalar>(of, devices, rate, true);
  fmt::print(
      "{{\"what\": \"gain\", \"scalar\": \"float{}\", \"devices\": {}, \"rows\": {}, \"columns\": {}, "
      "\"times_faster\": {:.3f}, \"same_bits\": {}}}\n",
      8 * sizeof(Scalar), devices.size(), of.grid.rows, of.grid.columns, alone.milliseconds / together.milliseconds,
      alone.hash == together.hash);
  return alone.hash == together.hash;
}

template <class Scalar>
void measure_tridiagonal(std::size_t rows, double rate) {
  namespace tridiagonal = rd::tridiagonal;
  const shoal::cuda::stream stream;
  shoal::cuda::device_buffer<Scalar> parts[4], solution(rows), scratch(tridiagonal::scratch_values<Scalar>(rows));
  shoal::cuda::device_buffer<unsigned long long> refused;
  std::vector<Scalar> values(rows);
  for (int part = 0; part < 4; ++part) {
    for (std::size_t i = 0; i < rows; ++i) {
      const double x = 0.001 * static_cast<double>((i * 7919 + static_cast<std::size_t>(part) * 104729) % 1000);
      values[i] = static_cast<Scalar>(part == 1 ? 3 + x : x - 1);
    }
    parts[part].upload(values, stream);
    stream.synchronize();
  }
  const std::vector<unsigned long long> none = {~0ull};
  refused.upload(none, stream);
  std::vector<double> times;
  for (int i = 0; i <= repeats; ++i) {
    stream.synchronize();
    const auto begin = std::chrono::steady_clock::now();
    tridiagonal::solve_on<Scalar>(stream, {parts[0].data(), parts[1].data(), parts[2].data(), parts[3].data(), rows, 1},
                                  solution.data(), scratch.data(), refused.data());
    stream.synchronize();
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  times.erase(times.begin());
  fmt::print(
      "{{\"what\": \"tridiagonal\", \"scalar\": \"float{}\", \"rows\": {}, \"milliseconds\": {:.5f}, "
      "\"floor_milliseconds\": {:.5f}}}\n",
      8 * sizeof(Scalar), rows, median(times), 1e3 * 9 * static_cast<double>(rows * sizeof(Scalar)) / rate);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<int> devices = shoal::choose_device(fmt::format("cuda:{}", argc > 1 ? argv[1] : "0")).cuda;
  const double rate = copy_rate(cudaStreamPerThread);
  fmt::print("{{\"what\": \"copy\", \"gigabytes_per_second\": {:.1f}}}\n", rate * 1e-9);
  constexpr std::size_t large = std::size_t{1} << 24;
  std::vector<shape> shapes = {
      {"explicit", {1, large, 0.5}, rd::scheme::explicit_steps, 0.1, 960, 4, rd::most_axon_steps},
      {"explicit", {4096, 4096, 0.5}, rd::scheme::explicit_steps, 0.05, 480, 4, rd::most_plane_steps},
      {"explicit", {1, 4 * large, 0.5}, rd::scheme::explicit_steps, 0.1, 960, 4, rd::most_axon_steps},
      {"explicit", {8192, 8192, 0.5}, rd::scheme::explicit_steps, 0.05, 480, 4, rd::most_plane_steps}};
  // D·Δt / Δx² = 1. A step reads v, w and the state before, and writes a guess, a right side and w; an iteration
  // reads v and the right side twice and writes v; in the end w is read and written again, with v.
  // In the plane v and w are read and written by each half of the reaction, and v by the sweep of the rows and by that
  // of the columns.
  shapes.push_back({"crank-nicolson", {1, large, 0.5}, rd::scheme::crank_nicolson, 0.25, 20, 9 + 5 * 2, 1});
  if (devices.size() > 1) {
    shapes.push_back({"crank-nicolson", {8192, 8192, 0.5}, rd::scheme::crank_nicolson, 0.25, 20, 8 + 4, 1});
    shapes.push_back({"crank-nicolson", {1, 4 * large, 0.5}, rd::scheme::crank_nicolson, 0.25, 20, 9 + 5 * 2, 1});
  } else {
    shapes.push_back({"crank-nicolson", {4096, 4096, 0.5}, rd::scheme::crank_nicolson, 0.25, 20, 8 + 4, 1});
    shapes.push_back({"tr-bdf2", {4096, 4096, 0.5}, rd::scheme::tr_bdf2, 0.25, 20, 8 + 4, 1});
  }
  bool same = true;
  for (const shape& of : shapes) {
    same = compare<double>(of, devices, rate) && same;
    same = compare<float>(of, devices, rate) && same;
  }
  if (devices.size() > 1) return same ? 0 : 1;
  for (const std::size_t rows : {std::size_t{1} << 20, large - 77, large}) {
    measure_tridiagonal<double>(rows, rate);
    measure_tridiagonal<float>(rows, rate);
  }
}
