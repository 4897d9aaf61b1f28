// What ranks cost beside their folds: mpirun -n R rank_costs prints, as JSON, the time of a message between the first
// two ranks and that of merging what all ranks have folded, with the messages and bytes that all of them send for it.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include <shoal/algebra/laws.hpp>
#include <shoal/execution/rank_merge.hpp>
#include <shoal/mpi/mpi.hpp>

namespace {

using clock = std::chrono::steady_clock;

struct numbers {
  std::vector<double> values;
};

struct sums {
  using value_type = numbers;
  static constexpr shoal::algebra::operation_laws laws = shoal::algebra::rounded_sums;
  static auto parts(auto& value) { return std::tie(value.values); }
  std::size_t size = 0;
  numbers identity() const { return {std::vector<double>(size)}; }
  void reset(numbers& value) const { std::fill(value.values.begin(), value.values.end(), 0.0); }
  void combine_into(numbers& into, const numbers& from) const {
    for (std::size_t i = 0; i < size; ++i) into.values[i] += from.values[i];
  }
  std::size_t bytes() const { return size * sizeof(double); }
};

int repeats = 2000;  // of each measurement
constexpr std::size_t lanes = 64;
constexpr std::size_t sizes[] = {64, 2048, 20000, 200000, 1000000};

double median(std::vector<double>& seconds) {
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2), seconds.end());
  return seconds[seconds.size() / 2];
}

void meet(shoal::communicator& ranks) { shoal::gathered(&ranks, std::vector<std::byte>(1)); }

// Half the way there and back.
double message_seconds(shoal::communicator& ranks, std::size_t bytes) {
  std::vector<double> seconds;
  const std::vector<std::byte> word(bytes);
  for (int turn = 0; turn < repeats; ++turn) {
    const auto start = clock::now();
    if (ranks.rank() == 0) {
      ranks.send(1, word);
      ranks.receive(1);
    } else if (ranks.rank() == 1) {
      ranks.receive(0);
      ranks.send(0, word);
    }
    seconds.push_back(std::chrono::duration<double>(clock::now() - start).count() / 2);
  }
  meet(ranks);
  return median(seconds);
}

// Every rank has folded its lanes; what follows is what a step of one process does not do.
double merge_seconds(shoal::communicator& ranks, std::size_t bytes) {
  const sums monoid{bytes / sizeof(double)};
  const shoal::lane_range own = shoal::lanes_of_rank(ranks.rank(), lanes, ranks.size());
  shoal::value_pool<sums> pool;
  std::vector<double> seconds;
  for (int turn = 0; turn < repeats; ++turn) {
    pool.give_all_back();
    shoal::lane_merger<sums> merger(monoid, pool, lanes, own.first, own.end);
    for (std::size_t lane = own.first; lane < own.end; ++lane) merger.complete(lane, pool.take(monoid));
    meet(ranks);
    const auto start = clock::now();
    shoal::rank_merge<sums>(ranks, monoid, pool, merger, lanes)();
    seconds.push_back(std::chrono::duration<double>(clock::now() - start).count());
  }
  return median(seconds);
}

std::size_t all_sent(shoal::communicator& ranks, std::size_t own) {
  std::size_t sum = 0;
  for (const std::size_t each : shoal::gathered(&ranks, std::vector<std::size_t>{own})) sum += each;
  return sum;
}

// Messages and bytes that all ranks send for one merge.
shoal::mpi::traffic merge_traffic(shoal::communicator& ranks, std::size_t bytes) {
  const sums monoid{bytes / sizeof(double)};
  const shoal::lane_range own = shoal::lanes_of_rank(ranks.rank(), lanes, ranks.size());
  shoal::value_pool<sums> pool;
  shoal::lane_merger<sums> merger(monoid, pool, lanes, own.first, own.end);
  for (std::size_t lane = own.first; lane < own.end; ++lane) merger.complete(lane, pool.take(monoid));
  const shoal::mpi::traffic before = shoal::mpi::sent_by(ranks);
  shoal::rank_merge<sums>(ranks, monoid, pool, merger, lanes)();
  const shoal::mpi::traffic after = shoal::mpi::sent_by(ranks);
  return {all_sent(ranks, after.messages - before.messages), all_sent(ranks, after.bytes - before.bytes)};
}

void measure(shoal::communicator& ranks) {
  std::string text;
  for (const std::size_t bytes : sizes) {
    const double message = message_seconds(ranks, bytes);
    const double merge = merge_seconds(ranks, bytes);
    const shoal::mpi::traffic sent = merge_traffic(ranks, bytes);
    text +=
        fmt::format(R"({}{{"bytes":{},"message_seconds":{},"merge_seconds":{},"merge_messages":{},"merge_bytes":{}}})",
                    text.empty() ? "" : ",", bytes, message, merge, sent.messages, sent.bytes);
  }
  if (ranks.rank() == 0) fmt::print("{{\"ranks\":{},\"repeats\":{},\"sizes\":[{}]}}\n", ranks.size(), repeats, text);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) repeats = std::max(1, std::atoi(argv[1]));
  shoal::mpi::run_ranks(measure);
  return 0;
}
