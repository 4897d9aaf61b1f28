// One Lloyd iteration on a GPU, by shape: the whole step as a fit runs it, and its parts.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/kmeans/cuda/device_lloyd.hpp>

namespace {

struct shape {
  std::size_t rows, columns, clusters;
};

std::uint64_t state = 88172645463325252u;
float uniform() {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return static_cast<float>(state >> 40) * 0x1p-24f - 0.5f;
}

// Milliseconds of one step, the median of some batches.
double time_steps(shoal::kmeans::clustering_stepper& stepper, std::size_t& steps) {
  stepper.seed(0);
  stepper.advance(1);
  stepper.advance(4);
  std::vector<double> times;
  for (int repeat = 0; repeat < 7; ++repeat) {
    stepper.seed(0);
    stepper.advance(3);
    const auto start = std::chrono::steady_clock::now();
    const std::size_t done = stepper.advance(200).size();
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
  if (count == 4) {
    shapes = {{std::strtoull(arguments[1], nullptr, 10), std::strtoull(arguments[2], nullptr, 10),
               std::strtoull(arguments[3], nullptr, 10)}};
  }
  const auto workers = shoal::make_threads(0);
  const shoal::fold_context context{workers.get(), 0, {}};
  const int device = 0;
  shoal::cuda::device_group group(std::span(&device, 1));
  std::printf("%s\n%10s %7s %8s %9s %10s %6s\n", group.description().c_str(), "rows", "columns", "clusters", "data",
              "ms a step", "steps");
  for (const shape& s : shapes) {
    for (const bool clustered : {false, true}) {
      std::vector<float> centres(s.clusters * s.columns);
      for (float& value : centres) value = 4 * uniform();
      std::vector<float> values(s.rows * s.columns);
      for (std::size_t i = 0; i < s.rows; ++i) {
        const std::size_t centre = static_cast<std::size_t>((uniform() + 0.5f) * static_cast<float>(s.clusters));
        for (std::size_t j = 0; j < s.columns; ++j) {
          values[i * s.columns + j] = (clustered ? centres[centre * s.columns + j] : 0) + uniform();
        }
      }
      const shoal::view_source<float> source(shoal::matrix_view<const float>(values.data(), s.rows, s.columns));
      shoal::cuda::device_rows<float> rows(group, context, {&source, nullptr, 1});
      std::vector<double> first(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(s.clusters * s.columns));
      const auto stepper =
          shoal::kmeans::make_device_lloyd<float>(rows, context, s.clusters, [&](std::size_t) { return first; }, {});
      std::size_t steps = 0;
      const double milliseconds = time_steps(*stepper, steps);
      std::printf("%10zu %7zu %8zu %9s %10.4f %6zu\n", s.rows, s.columns, s.clusters,
                  clustered ? "clustered" : "uniform", milliseconds, steps);
      std::fflush(stdout);
    }
  }
}
