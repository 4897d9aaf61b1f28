#include <shoal/estimation/cuda/greedy.hpp>

#include <algorithm>

#include <shoal/estimation/cuda/coarse_buffers.hpp>
#include <shoal/estimation/cuda/greedy_kernels.hpp>
#include <shoal/estimation/draw_groups.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/stream.hpp>

namespace shoal {
namespace {

constexpr std::size_t most_shared_bytes = std::size_t{160} << 10;  // of a block, where the GPU has so much
constexpr std::size_t own_shared_bytes = 1024;                     // of a kernel beside what it is given, at most
// Of more units for each multiprocessor, and distances in float32, warps of a unit do not wait for each other: their
// sums are added up by a kernel of its own.
constexpr std::size_t few_units = 8;
constexpr std::size_t steps_ahead = 64;  // enqueued before the host asks how far they are

template <class Work>
struct point_buffers {
  cuda::device_buffer<Work> values;
  coarse_buffers coarse;
  cuda::device_buffer<unsigned long long> indices;

  greedy_points<Work> make(std::size_t columns, cudaStream_t stream) {
    values.grow(most_greedy_points * columns);
    indices.grow(most_greedy_points);
    const coarse_rows made = coarse.make(most_greedy_points, columns, most_greedy_points);
    coarse.fill_with_zeros(stream);
    return {values.data(), made, indices.data()};
  }
};

}  // namespace

template <class Scalar, class Work>
std::vector<std::size_t> choose_greedily_on_device(cuda::device_rows<Scalar>& rows, const data_summary& summary,
                                                   const row_units& units, const greedy_draws& draws,
                                                   const seeding_report& report) {
  const std::size_t count = rows.rows(), columns = rows.columns(), blocks = (count + block_rows - 1) / block_rows;
  const auto trials = static_cast<unsigned>(draws.trials);
  if (rows.group().size() != 1 || !rows.resident() || units.count() != blocks || columns > most_coarse_columns)
    return {};
  const cuda::gpu& device = rows.group()[0];
  const std::size_t shared_bytes = std::min(most_shared_bytes, device.shared_bytes - own_shared_bytes);
  if (draws.trials >= most_greedy_points || greedy_shared_bytes(blocks, trials) > shared_bytes) return {};

  const cuda::device_scope scope(device.device);
  const std::size_t padded = blocks * block_rows;
  const bool many = sizeof(Work) == 4 && blocks > few_units * device.multiprocessors;
  const std::size_t trial_doubles = many ? padded / 32 * most_greedy_points : 0;
  const std::size_t group_doubles = many ? (blocks + draw_group - 1) / draw_group * most_greedy_points : 0;
  const std::size_t bytes = count * sizeof(Work) + trial_doubles * sizeof(double);
  if (!has_room(coarse_buffers::bytes(padded, columns) + bytes)) return {};

  cudaStream_t stream = device.compute;
  cuda::device_buffer<double> uniforms;
  std::vector<double> drawn;
  for (std::size_t step = 1; step < draws.clusters; ++step) {
    for (std::size_t t = 0; t < draws.trials; ++t) drawn.push_back(draws.uniform(step, t));
  }
  uniforms.upload(drawn, stream);
  const coarse_frame frame(summary, stream);
  coarse_buffers coarse;
  cuda::device_buffer<Work> least(count);
  cuda::device_buffer<double> warp_sums(padded / 32), sums(most_greedy_points * blocks), trial_sums, group_sums;
  trial_sums.grow(trial_doubles);
  group_sums.grow(group_doubles);
  cuda::device_buffer<unsigned long long> chosen(draws.clusters);
  cuda::device_buffer<unsigned> done(2);
  warp_sums.fill_with_zeros(stream);
  done.fill_with_zeros(stream);
  point_buffers<Work> points[2];

  greedy_state<Scalar, Work> state{};
  rows.for_each_piece([&](std::size_t, const cuda::device_piece<Scalar>& piece) {
    state.rows = piece.rows;
    state.weights = piece.weights;
  });
  state.count = count;
  state.columns = columns;
  state.units = blocks;
  state.scale = frame.scale();
  state.coarse = coarse.make(count, columns, padded);
  state.least = least.data();
  state.warp_sums = warp_sums.data();
  state.trial_sums = trial_sums.data();
  state.group_sums = group_sums.data();
  state.sums = sums.data();
  for (std::size_t parity = 0; parity < 2; ++parity) {
    state.points[parity] = points[parity].make(columns, stream);
  }
  state.uniforms = uniforms.data();
  state.chosen = chosen.data();
  state.done = done.data();

  begin_greedy(state, draws.first, stream);
  cuda::pinned_buffer<unsigned> seen(2);
  for (std::size_t step = 0; step < draws.clusters;) {
    const std::size_t end = std::min(draws.clusters, step + steps_ahead);
    for (; step < end; ++step) {
      greedy_step(state, step, step == 0 ? 1 : trials, step + 1 < draws.clusters ? trials : 0, stream);
    }
    cuda::check(cudaMemcpyAsync(seen.data(), done.data(), 2 * sizeof(unsigned), cudaMemcpyDeviceToHost, stream),
                "copy from the device");
    device.compute.synchronize();
    report(seen[0], draws.clusters);
    if (seen[1] != 0) break;
  }
  const auto found = chosen.download(seen[0], stream);
  return {found.begin(), found.end()};
}

template std::vector<std::size_t> choose_greedily_on_device<float, float>(cuda::device_rows<float>&,
                                                                          const data_summary&, const row_units&,
                                                                          const greedy_draws&, const seeding_report&);
template std::vector<std::size_t> choose_greedily_on_device<float, double>(cuda::device_rows<float>&,
                                                                           const data_summary&, const row_units&,
                                                                           const greedy_draws&, const seeding_report&);
template std::vector<std::size_t> choose_greedily_on_device<double, double>(cuda::device_rows<double>&,
                                                                            const data_summary&, const row_units&,
                                                                            const greedy_draws&, const seeding_report&);

}  // namespace shoal
