#include "machine_peaks.hpp"

#include <thread>
#include <vector>

#include <shoal/core/simd_targets.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/machine_peaks.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bench {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Ten independent chains hide the latency. Returns the multiply-adds done.
double multiply_adds(std::size_t rounds, float* out) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, 0.999f), term = hn::Set(d, 0.001f);
  auto a0 = hn::Set(d, 0.0f), a1 = a0, a2 = a0, a3 = a0, a4 = a0, a5 = a0, a6 = a0, a7 = a0, a8 = a0, a9 = a0;
  for (std::size_t i = 0; i < rounds; ++i) {
    a0 = hn::MulAdd(a0, factor, term), a1 = hn::MulAdd(a1, factor, term), a2 = hn::MulAdd(a2, factor, term);
    a3 = hn::MulAdd(a3, factor, term), a4 = hn::MulAdd(a4, factor, term), a5 = hn::MulAdd(a5, factor, term);
    a6 = hn::MulAdd(a6, factor, term), a7 = hn::MulAdd(a7, factor, term), a8 = hn::MulAdd(a8, factor, term);
    a9 = hn::MulAdd(a9, factor, term);
  }
  const auto sum = hn::Add(
      hn::Add(hn::Add(hn::Add(a0, a1), hn::Add(a2, a3)), hn::Add(hn::Add(a4, a5), hn::Add(a6, a7))), hn::Add(a8, a9));
  *out = hn::GetLane(hn::SumOfLanes(d, sum));
  return 10.0 * static_cast<double>(rounds) * static_cast<double>(hn::Lanes(d));
}

float sum_of(const float* values, std::size_t count) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  auto a = hn::Zero(d), b = a, e = a, f = a;
  for (std::size_t i = 0; i + 4 * lanes <= count; i += 4 * lanes) {
    a = hn::Add(a, hn::LoadU(d, values + i));
    b = hn::Add(b, hn::LoadU(d, values + i + lanes));
    e = hn::Add(e, hn::LoadU(d, values + i + 2 * lanes));
    f = hn::Add(f, hn::LoadU(d, values + i + 3 * lanes));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(e, f))));
}

}  // namespace HWY_NAMESPACE
}  // namespace bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bench {

HWY_EXPORT(multiply_adds);
HWY_EXPORT(sum_of);

namespace {

volatile float kept;  // so that no result is thrown away before it was computed

template <class Body>
void on_threads(std::size_t threads, const Body& body) {
  std::vector<std::jthread> others;
  for (std::size_t t = 1; t < threads; ++t) others.emplace_back([&body, t] { body(t); });
  body(0);
}

}  // namespace

double multiply_add_peak(std::size_t threads) {
  constexpr std::size_t rounds = 5'000'000;
  double done = 0;
  const double seconds = quickest(7, [&] {
    on_threads(threads, [&](std::size_t t) {
      float sum = 0;
      const double mine = HWY_DYNAMIC_DISPATCH(multiply_adds)(rounds, &sum);
      kept = sum;
      if (t == 0) done = mine * static_cast<double>(threads);
    });
  });
  return done / seconds * 1e-9;
}

double read_bandwidth(std::size_t threads) {
  const std::vector<float> values(std::size_t{64} << 20, 1.0f);
  const double seconds = quickest(7, [&] {
    on_threads(threads, [&](std::size_t t) {
      const std::size_t share = values.size() / threads;
      kept = HWY_DYNAMIC_DISPATCH(sum_of)(values.data() + t * share, share);
    });
  });
  return static_cast<double>(values.size()) * sizeof(float) / seconds * 1e-9;
}

}  // namespace bench
#endif
