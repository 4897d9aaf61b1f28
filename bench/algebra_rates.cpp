// reduce, scans and segmented_reduce on the host, each by turns with a plain loop over the same bytes, as JSON:
// algebra_rates [VALUES] [THREADS] [TURNS]. A plain loop keeps as many sums as vectors need and promises no order; it
// is cut into one part a thread.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <shoal/algebra/algebra.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/execution/runner.hpp>

namespace {

namespace algebra = shoal::algebra;
using affine = algebra::affine_map<double>;

// Least and median milliseconds of two contestants, by turns.
struct timing {
  double least, median;
};
std::vector<timing> by_turns(int turns, const std::vector<std::function<void()>>& contestants) {
  std::vector<std::vector<double>> times(contestants.size());
  for (int turn = 0; turn <= turns; ++turn) {
    for (std::size_t c = 0; c < contestants.size(); ++c) {
      const auto begin = std::chrono::steady_clock::now();
      contestants[c]();
      const auto end = std::chrono::steady_clock::now();
      if (turn > 0) times[c].push_back(std::chrono::duration<double, std::milli>(end - begin).count());  // 0 warms up
    }
  }
  std::vector<timing> found;
  for (auto& t : times) {
    std::sort(t.begin(), t.end());
    found.push_back({t.front(), t[t.size() / 2]});
  }
  return found;
}

volatile double kept = 0;  // what was computed is used

class bench {
 public:
  bench(std::size_t values, std::size_t threads, int turns)
      : count_(values), threads_(threads), turns_(turns), executor_(shoal::make_executor(threads)), run_(*executor_) {
    fmt::print("{{\"date\": \"{:%Y-%m-%d}\", \"values\": {}, \"threads\": {}, \"turns\": {}, \"rows\": [",
               fmt::localtime(std::time(nullptr)), values, threads, turns);
  }
  void finish() const { fmt::print("\n]}}\n"); }

  void reductions() {
    std::vector<double> x(count_);
    for (std::size_t i = 0; i < count_; ++i) x[i] = 0.5 + 1e-3 * static_cast<double>(i * 7919 % 1000);
    reduction("sum", algebra::real_addition<double>{}, x, [](double a, double b) { return a + b; });
    reduction("min", algebra::minimum<double>{}, x, [](double a, double b) { return b < a ? b : a; });
    reduction("max", algebra::maximum<double>{}, x, [](double a, double b) { return a < b ? b : a; });
    segments(x, 100);
    segments(x, 10);
  }

  void scans() {
    const std::size_t count = count_ / 2;  // of twice the bytes
    std::vector<affine> x(count), y(count);
    for (std::size_t i = 0; i < count; ++i)
      x[i] = {0.5 + 1e-3 * static_cast<double>(i % 400), 1e-3 * static_cast<double>(i % 1000)};
    const algebra::affine_maps<algebra::reals<double>> maps;
    const auto plain = [&] {
      in_parts(count, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) y[i] = {1.5 * x[i].slope, 1.5 * x[i].offset};
      });
    };
    report("inclusive scan of affine maps", count, plain, [&] { algebra::inclusive_scan_into(maps, x, y, run_); });
    report("exclusive scan of affine maps", count, plain, [&] { algebra::exclusive_scan_into(maps, x, y, run_); });
    std::vector<double> from(count_), to(count_);
    report(
        "inclusive scan of a sum", count_,
        [&] {
          in_parts(count_, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) to[i] = 1.5 * from[i];
          });
        },
        [&] { algebra::inclusive_scan_into(algebra::real_addition<double>{}, from, to, run_); });
  }

 private:
  template <class Work>
  void in_parts(std::size_t count, const Work& work) {
    run_(threads_, [&](std::size_t t) { work(count * t / threads_, count * (t + 1) / threads_); });
  }

  template <class Plain, class Ours>
  void report(const std::string& name, std::size_t count, const Plain& plain, const Ours& ours) {
    const auto found = by_turns(turns_, {plain, ours});
    fmt::print(
        "{}\n  {{\"name\": \"{}\", \"values\": {}, \"plain_ms\": {:.4g}, \"plain_median_ms\": {:.4g}, "
        "\"shoal_ms\": {:.4g}, \"shoal_median_ms\": {:.4g}, \"ratio\": {:.3f}}}",
        first_ ? "" : ",", name, count, found[0].least, found[0].median, found[1].least, found[1].median,
        found[1].least / found[0].least);
    first_ = false;
  }

  template <class Structure, class Operation>
  void reduction(const std::string& name, const Structure& structure, const std::vector<double>& x,
                 const Operation& operation) {
    report(
        "reduce, " + name, count_,
        [&] {
          std::vector<double> parts(threads_);
          in_parts(count_, [&](std::size_t begin, std::size_t end) {
            constexpr std::size_t lanes = 16;
            double sums[lanes];
            for (double& sum : sums) sum = structure.identity();
            for (std::size_t i = begin; i + lanes <= end; i += lanes)
              for (std::size_t l = 0; l < lanes; ++l) sums[l] = operation(sums[l], x[i + l]);
            double all = sums[0];
            for (std::size_t l = 1; l < lanes; ++l) all = operation(all, sums[l]);
            parts[begin * threads_ / count_] = all;
          });
          kept = parts[0];
        },
        [&] { kept = algebra::reduce(structure, x, run_); });
  }

  void segments(const std::vector<double>& x, std::size_t mean) {
    std::vector<std::size_t> offsets{0};
    for (std::uint64_t state = 1; offsets.back() < count_;) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      offsets.push_back(std::min(count_, offsets.back() + (state >> 33) % (2 * mean + 1)));
    }
    std::vector<double> sums(offsets.size() - 1), ours(sums.size());
    report(
        fmt::format("segmented sum, segments of {}", mean), count_,
        [&] {
          in_parts(sums.size(), [&](std::size_t begin, std::size_t end) {
            for (std::size_t s = begin; s < end; ++s) {
              double sum = 0;
              for (std::size_t i = offsets[s]; i < offsets[s + 1]; ++i) sum += x[i];
              sums[s] = sum;
            }
          });
        },
        [&] { algebra::segmented_reduce_into(algebra::real_addition<double>{}, x, offsets, ours, run_); });
  }

  std::size_t count_, threads_;
  int turns_;
  std::unique_ptr<shoal::executor> executor_;
  shoal::runner run_;
  bool first_ = true;
};

}  // namespace

int main(int argc, char** argv) {
  const std::size_t values = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100000000;
  const std::size_t threads = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 2;
  bench all(values, threads, argc > 3 ? std::atoi(argv[3]) : 9);
  all.reductions();
  all.scans();
  all.finish();
}
