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

class square_auction {
 public:
  square_auction(const double* costs, std::size_t n, const shoal::cuda::gpu& gpu, const auction_schedule& schedule)
      : costs_(costs),
        n_(n),
        gpu_(gpu),
        schedule_(schedule),
        potentials_(n),
        owners_(n),
        waiting_(2 * n),
        waiting_count_(2),
        bids_(2 * n),
        best_fall_(n),
        best_row_(n),
        progress_(1) {
    potentials_.fill_with_zeros();
    progress_.fill_with_zeros();
  }

  prices run(const cost_range& range, auction_work& done) {
    spread_ = range.most - range.least;
    if (!(spread_ > 0)) return {potentials_.download(n_, gpu_.compute), {}};
    const bool found = bid(range.whole != 0, done);
    prices made{potentials_.download(n_, gpu_.compute), {}};
    if (!found || !can_augment(n_)) return made;
    // What all have in common would only take digits.
    const double common = *std::max_element(made.potentials.begin(), made.potentials.end());
    for (double& potential : made.potentials) potential -= common;
    potentials_.upload(made.potentials, gpu_.compute);
    const auto begin = clock::now();
    made = search(done);
    done.path_seconds = seconds_since(begin);
    return made;
  }

 private:
  // All phases. False where a row has no allowed pair or the bids are used up.
  bool bid(bool whole, auction_work& done) {
    // Nearer than the distance of whole costs bids decide nothing that searches do not.
    const double last = whole ? 1 : 0;
    const auto enough = static_cast<std::uint32_t>(schedule_.left_over * static_cast<double>(n_));
    const unsigned long long most_bids = schedule_.bids_per_row * n_;
    // Powers of two keep the potentials of whole costs exact.
    double step = std::ldexp(1.0, std::ilogb(spread_ * schedule_.first_step));
    for (;; step = std::ldexp(step, -schedule_.halvings)) {
      const auction_progress now = rounds(step, enough, most_bids - done.bids, ~0u);
      ++done.phases;
      done.bids = now.bids;
      done.rounds = now.rounds;
      if (now.stuck != 0 || now.bids >= most_bids) return false;
      if (step < std::max(last, spread_ * schedule_.last_step)) return true;
    }
  }

  auction_progress rounds(double step, std::uint32_t enough, unsigned long long most_bids, std::uint32_t most_rounds) {
    const auction_state state{
        costs_,       potentials_.data(), owners_.data(),   waiting_.data(),  waiting_count_.data(),
        bids_.data(), best_fall_.data(),  best_row_.data(), progress_.data(), static_cast<std::uint32_t>(n_)};
    begin_phase(state, gpu_.compute);
    run_rounds(state, step, spread_, enough, most_bids, most_rounds, gpu_.multiprocessors, gpu_.compute);
    return progress_.download(1, gpu_.compute).front();
  }

  // Pairs that are made without a step are as near as can be; a search places each row that is left.
  prices search(auction_work& done) {
    done.rounds = rounds(0, 0, ~0ull, schedule_.last_rounds).rounds;
    std::vector<std::uint32_t> columns(n_, nobody);
    const std::vector<std::uint32_t> owners = owners_.download(n_, gpu_.compute);
    for (std::uint32_t j = 0; j < n_; ++j) {
      if (owners[j] != nobody) columns[owners[j]] = j;
    }
    std::vector<std::uint32_t> left;
    for (std::uint32_t i = 0; i < n_; ++i) {
      if (columns[i] == nobody) left.push_back(i);
    }
    done.searches = left.size();
    shoal::cuda::device_buffer<std::uint32_t> column_of_row, rows;
    shoal::cuda::device_buffer<path_progress> progress(1);
    column_of_row.upload(columns, gpu_.compute);
    rows.upload(left, gpu_.compute);
    augment({costs_, potentials_.data(), owners_.data(), column_of_row.data(), rows.data(), progress.data(),
             std::max(most_steps_per_row * n_, few_steps), static_cast<std::uint32_t>(left.size()),
             static_cast<std::uint32_t>(n_)},
            gpu_.compute);
    const path_progress after = progress.download(1, gpu_.compute).front();
    done.steps = after.steps;
    prices made{potentials_.download(n_, gpu_.compute), {}};
    if (after.done < left.size()) return made;
    columns = column_of_row.download(n_, gpu_.compute);
    made.column_of_row.assign(columns.begin(), columns.end());
    return made;
  }

  // A search on the host sees fewer costs a step. Up to 1,000 rows no searches take more than the few.
  static constexpr unsigned long long most_steps_per_row = 32;
  static constexpr unsigned long long few_steps = 1ull << 20;

  const double* costs_;
  std::size_t n_;
  const shoal::cuda::gpu& gpu_;
  const auction_schedule& schedule_;
  double spread_ = 0;
  shoal::cuda::device_buffer<double> potentials_;
  shoal::cuda::device_buffer<std::uint32_t> owners_;
  shoal::cuda::device_buffer<std::uint32_t> waiting_;
  shoal::cuda::device_buffer<std::uint32_t> waiting_count_;
  shoal::cuda::device_buffer<shoal::assignment::cuda::bid> bids_;
  shoal::cuda::device_buffer<unsigned long long> best_fall_;
  shoal::cuda::device_buffer<std::uint32_t> best_row_;
  shoal::cuda::device_buffer<auction_progress> progress_;
};

}  // namespace

prices device_prices(matrix_view<const double> costs, const device_choice& device, double most,
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
  const cost_range range = range_of(on_device, n * n, most, gpu);
  if (range.valid == 0) throw wrong_cost{};
  prices found = square_auction(on_device, n, gpu, schedule).run(range, done);
  done.seconds = seconds_since(uploaded);
  if (work != nullptr) *work = done;
  return found;
}

}  // namespace shoal::assignment::cuda
