// Phases of an auction on a GPU, each with a smaller step from the prices of the one before.
#include <shoal/assignment/cuda/device_prices.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <shoal/assignment/cuda/kernels.hpp>
#include <shoal/assignment/wrong_cost.hpp>
#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/io/row_source.hpp>

namespace shoal::assignment::cuda {
namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point begin) { return std::chrono::duration<double>(clock::now() - begin).count(); }

struct auction_memory {
  explicit auction_memory(std::size_t n)
      : potentials(n),
        owners(n),
        waiting(2 * n),
        waiting_count(2),
        bids(2 * n),
        best_fall(n),
        best_row(n),
        progress(1) {
    potentials.fill_with_zeros();
    progress.fill_with_zeros();
  }

  auction_state state(const double* costs) {
    return {
        costs,       potentials.data(), owners.data(),   waiting.data(),  waiting_count.data(),
        bids.data(), best_fall.data(),  best_row.data(), progress.data(), static_cast<std::uint32_t>(owners.size())};
  }

  shoal::cuda::device_buffer<double> potentials;
  shoal::cuda::device_buffer<std::uint32_t> owners;
  shoal::cuda::device_buffer<std::uint32_t> waiting;
  shoal::cuda::device_buffer<std::uint32_t> waiting_count;
  shoal::cuda::device_buffer<bid> bids;
  shoal::cuda::device_buffer<unsigned long long> best_fall;
  shoal::cuda::device_buffer<std::uint32_t> best_row;
  shoal::cuda::device_buffer<auction_progress> progress;
};

cost_range range_of(const double* costs, std::size_t count, double limit, const shoal::cuda::gpu& gpu) {
  const std::size_t blocks = 4 * gpu.multiprocessors;
  shoal::cuda::device_buffer<cost_range> parts(blocks);
  find_range(costs, count, limit, parts.data(), blocks, gpu.compute);
  cost_range all{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), 1, 1};
  for (const cost_range& part : parts.download(blocks, gpu.compute)) {
    all.least = std::min(all.least, part.least);
    all.most = std::max(all.most, part.most);
    all.whole &= part.whole;
    all.valid &= part.valid;
  }
  return all;
}

}  // namespace

std::vector<double> device_prices(matrix_view<const double> costs, const device_choice& device, double most,
                                  const auction_schedule& schedule, auction_work* work) {
  const std::size_t n = costs.rows();
  if (n == 0) return {};
  const auto begin = clock::now();
  shoal::cuda::device_group group(std::span<const int>(device.cuda).first(1));
  const shoal::cuda::gpu& gpu = group[0];
  const shoal::cuda::device_scope scope(gpu.device);
  const std::unique_ptr<executor> workers = make_threads(0);
  const view_source<double> source(costs);
  shoal::cuda::device_rows<double> rows(group, {workers.get(), 0, {}}, {&source, nullptr, 1}, device.memory);
  if (!rows.resident()) {
    throw out_of_memory(fmt::format("costs of {} rows and columns need {} bytes on the device; use --device cpu", n,
                                    n * n * sizeof(double)));
  }
  const double* on_device = nullptr;
  rows.for_each_piece([&](std::size_t, const shoal::cuda::device_piece<double>& piece) { on_device = piece.rows; });
  gpu.compute.synchronize();
  auction_work done;
  done.upload_seconds = seconds_since(begin);
  const auto uploaded = clock::now();
  auction_memory memory(n);
  const cost_range range = range_of(on_device, n * n, most, gpu);
  if (range.valid == 0) throw wrong_cost{};
  const double spread = range.most - range.least;
  if (spread > 0) {
    const double last = range.whole != 0 ? 1 / static_cast<double>(n + 1) : spread * schedule.last_step;
    const auction_state state = memory.state(on_device);
    const auto enough = static_cast<std::uint32_t>(schedule.left_over * static_cast<double>(n));
    const unsigned long long most_bids = schedule.bids_per_row * n;
    // Powers of two keep the potentials of whole costs exact.
    double step = std::ldexp(1.0, std::ilogb(spread * schedule.first_step));
    for (;; step = std::ldexp(step, -schedule.halvings)) {
      begin_phase(state, gpu.compute);
      // What the last phase leaves waiting would be searched for on the host.
      run_rounds(state, step, spread, step < last ? 0 : enough, most_bids - done.bids, gpu.multiprocessors,
                 gpu.compute);
      const auction_progress now = memory.progress.download(1, gpu.compute).front();
      ++done.phases;
      done.bids = now.bids;
      done.rounds = now.rounds;
      done.waiting = now.waiting;
      if (now.stuck != 0 || now.bids >= most_bids || step < last) break;
    }
  }
  std::vector<double> potentials = memory.potentials.download(n, gpu.compute);
  done.seconds = seconds_since(uploaded);
  if (work != nullptr) *work = done;
  return potentials;
}

}  // namespace shoal::assignment::cuda
