// One Lloyd iteration on a GPU as a fit runs it, on uniform noise, by shape:
// device_iteration [float32|tf32|bf16] [ROWS COLUMNS CLUSTERS]...
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/kmeans/cuda/lloyd.hpp>

#include "made_rows.hpp"

namespace {

// Milliseconds of one step, the median of some batches, which are shorter for large shapes.
double time_steps(shoal::kmeans::clustering_stepper& stepper, const shape& s, std::size_t& steps) {
  const double products =
      static_cast<double>(s.rows) * static_cast<double>(s.columns) * static_cast<double>(s.clusters);
  const std::size_t most_steps = products > 2e11 ? 20 : 200;
  stepper.seed(0);
  stepper.advance(1);
  stepper.advance(4);
  std::vector<double> times;
  for (int repeat = 0; repeat < 7; ++repeat) {
    stepper.seed(0);
    stepper.advance(3);
    const auto start = std::chrono::steady_clock::now();
    const std::size_t done = stepper.advance(most_steps).size();
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() /
                    static_cast<double>(done));
    steps = done;
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<shape> shapes{{10'000'000, 2, 2},  {100'000, 2, 128},  {100'000, 128, 2},
                            {1'000'000, 16, 64}, {1 << 22, 32, 256}, {1 << 20, 128, 1024}};
  const std::string_view name = count > 1 ? arguments[1] : "float32";
  auto products = shoal::precision::float32;
  for (const auto one : {shoal::precision::tf32, shoal::precision::bf16}) {
    if (shoal::precision_name(one) == name) products = one;
  }
  if (count > 4) shapes.clear();
  for (int i = 2; i + 2 < count; i += 3) {
    const auto number = [&](int at) { return static_cast<std::size_t>(std::strtoull(arguments[at], nullptr, 10)); };
    shapes.push_back({number(i), number(i + 1), number(i + 2)});
  }
  const auto workers = shoal::make_threads(0);
  const shoal::fold_context context{workers.get(), 0, {}};
  const int device = 0;
  shoal::cuda::device_group group(std::span(&device, 1), products);
  std::printf("%s, %s\n%10s %7s %8s %10s %6s\n", group.kind().c_str(), shoal::precision_name(products).data(), "rows",
              "columns", "clusters", "ms a step", "steps");
  for (const shape& s : shapes) {
    const std::vector<float> values = make_rows(s, false);
    const shoal::view_source<float> source(shoal::matrix_view<const float>(values.data(), s.rows, s.columns));
    shoal::cuda::device_rows<float> rows(group, context, {&source, nullptr, 1});
    const std::vector<double> first = first_rows(s, values);
    // The rows are drawn about the origin: it may stand for their mean.
    const auto stepper = shoal::kmeans::make_device_lloyd<float>(
        rows, context, s.clusters, [&](std::size_t) { return first; }, {}, std::vector<double>(s.columns, 0.0),
        {0.5, std::sqrt(static_cast<double>(s.columns) / 12)});
    std::size_t steps = 0;
    const double milliseconds = time_steps(*stepper, s, steps);
    std::printf("%10zu %7zu %8zu %10.4f %6zu\n", s.rows, s.columns, s.clusters, milliseconds, steps);
    std::fflush(stdout);
  }
}
