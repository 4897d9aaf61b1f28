#include "multiply_add_peak.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/multiply_add_peak.cpp"
#include <shoal/core/simd_targets.hpp>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Twelve independent chains hide the latency of every current core. Returns the multiply-adds done.
template <class T>
double chains(std::size_t steps, T* result) {
  const hn::ScalableTag<T> d;
  const auto factor = hn::Set(d, static_cast<T>(result[0]));
  hn::Vec<decltype(d)> sums[12];
  for (auto& sum : sums) sum = hn::Set(d, static_cast<T>(1));
  for (std::size_t step = 0; step < steps; ++step) {
    for (auto& sum : sums) sum = hn::MulAdd(sum, factor, factor);
  }
  auto total = hn::Zero(d);
  for (const auto& sum : sums) total = hn::Add(total, sum);
  result[1] = hn::GetLane(hn::SumOfLanes(d, total));
  return static_cast<double>(steps) * 12 * static_cast<double>(hn::Lanes(d));
}
double chains_float(std::size_t steps, float* result) { return chains(steps, result); }
double chains_double(std::size_t steps, double* result) { return chains(steps, result); }
}  // namespace bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bench {
HWY_EXPORT(chains_float);
HWY_EXPORT(chains_double);

double multiply_add_peak(std::size_t threads, bool float32) {
  constexpr std::size_t steps = 20'000'000;
  double best = 0;
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::vector<double> done(threads);
    const auto start = std::chrono::steady_clock::now();
    {
      std::vector<std::jthread> pool;
      for (std::size_t t = 0; t < threads; ++t) {
        pool.emplace_back([&, t] {
          float small[2] = {1e-3F, 0};
          double wide[2] = {1e-3, 0};
          done[t] = float32 ? HWY_DYNAMIC_DISPATCH(chains_float)(steps, small)
                            : HWY_DYNAMIC_DISPATCH(chains_double)(steps, wide);
        });
      }
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    double sum = 0;
    for (const double count : done) sum += count;
    best = std::max(best, sum / seconds * 1e-9);
  }
  return best;
}
}  // namespace bench
#endif
