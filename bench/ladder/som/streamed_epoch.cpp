// An epoch over rows that are streamed from page-locked memory, and a plain copy of them:
// streamed_epoch [ROWS COLUMNS WIDTH HEIGHT]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <span>
#include <vector>

#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/som/cuda/training.hpp>

#include "made_maps.hpp"

namespace {

namespace som = shoal::som;

double least_seconds(int runs, const std::function<void()>& work) {
  double least = 1e300;
  for (int i = 0; i < runs; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return least;
}

}  // namespace

int main(int count, char** arguments) {
  problem p{100'000'000, 50, 32, 32};
  if (count > 4) {
    const auto number = [&](int at) { return static_cast<std::size_t>(std::strtoull(arguments[at], nullptr, 10)); };
    p = {number(1), number(2), number(3), number(4)};
  }
  const std::size_t values = p.rows * p.columns, bytes = values * sizeof(float);
  shoal::cuda::pinned_buffer<float> pinned(values);
  fill_rows(p, true, std::span(pinned.data(), values));
  const int device = 0;
  shoal::cuda::device_group group(std::span(&device, 1));
  const auto workers = shoal::make_threads(0);
  const shoal::fold_context context{workers.get(), 0, {}};
  const auto gigabytes = static_cast<double>(bytes) * 1e-9;
  double plain = 0;
  {
    shoal::cuda::device_buffer<float> target(values);
    plain = gigabytes / least_seconds(3, [&] {
              target.upload(std::span(pinned.data(), values), group[0].copy);
              group.synchronize();
            });
  }
  const shoal::view_source<float> source({pinned.data(), p.rows, p.columns});
  // The columns' ranges are known: a pass of the host would take longer than the epochs.
  shoal::data_summary summary;
  summary.rows = p.rows;
  summary.columns = p.columns;
  summary.total_weight = static_cast<double>(p.rows);
  summary.mean.assign(p.columns, 2.5);
  summary.minimum.assign(p.columns, 0);
  summary.maximum.assign(p.columns, 5);
  shoal::cuda::device_rows<float> rows(group, context, {&source, nullptr, 1}, std::size_t{1} << 30);
  som::options options;
  options.width = p.width;
  options.height = p.height;
  options.epochs = 5;
  const std::vector<double> first = make_units(p);
  const auto training = som::make_device_training<float>(rows, context, summary, options, [&] { return first; });
  training->seed(0);
  const double seconds = least_seconds(static_cast<int>(options.epochs), [&] { training->advance(1); });
  std::printf(
      "%s: %zu rows of %zu columns on %zu x %zu units, plain copy %.1f GB/s, epoch %.1f ms, %.1f GB/s, %.2f of the "
      "copy\n",
      group.kind().c_str(), p.rows, p.columns, p.width, p.height, plain, seconds * 1e3, gigabytes / seconds,
      gigabytes / seconds / plain);
}
