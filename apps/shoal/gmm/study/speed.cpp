// Time of an iteration, and time to come near the end, by size, covariance, algorithm and device.
#include <algorithm>

#include <fmt/format.h>

#include <shoal/gmm/fit.hpp>
#include <shoal/random/stream.hpp>

#include "gmm/study/paths.hpp"

namespace shoal::app {
namespace {

// Means that overlap: where nearly all memberships are zero an iteration skips most of its work.
constexpr double spread = 1.3;

struct problem {
  std::size_t rows, components, columns;
};

// Rows that only GPUs are asked for, to show what a second one is worth.
constexpr std::size_t many_rows = std::size_t{1} << 24;

std::vector<problem> problems(const study_setting& setting) {
  if (setting.quick) return {{2'000, 8, 8}, {4'096, 10, 8}, {1 << 11, 8, 8}, {1 << 12, 8, 8}};
  std::vector<problem> all{{46'800, 8, 8}, {1 << 20, 10, 8}};
  for (int power = 15; power <= 22; ++power) all.push_back({std::size_t{1} << power, 8, 8});
  if (!setting.device.on_host()) all.push_back({many_rows, 10, 8});
  return all;
}

// The host, one GPU, or one and then all that the setting names.
std::vector<device_choice> places(const study_setting& setting) {
  std::vector<device_choice> out{first_device(setting)};
  if (!out.front().on_host() && setting.device.cuda.size() > 1) out.push_back(setting.device);
  return out;
}

// The least of three fits, each of as many iterations as take long enough to be timed.
double seconds_of_iteration(matrix_view<const float> rows, gmm::options options, const study_setting& setting) {
  const view_source<float> source(rows);
  options.tolerance = 0;
  options.max_iterations = 3;
  const gmm::fit_result probe = gmm::fit(source, options, nullptr, *setting.control);
  const double wanted = setting.quick ? 0.01 : options.device.on_host() ? 0.3 : 0.05;
  const double each = probe.loop_seconds / static_cast<double>(probe.loop_iterations);
  options.max_iterations = static_cast<std::size_t>(std::clamp(wanted / each, 3.0, 1000.0));
  double least = each;
  for (int repeat = 0; repeat < 3; ++repeat) {
    const gmm::fit_result fit = gmm::fit(source, options, nullptr, *setting.control);
    least = std::min(least, fit.loop_seconds / static_cast<double>(fit.loop_iterations));
  }
  return least;
}

void time_iterations(const problem& size, const study_setting& setting, std::vector<speed_row>& out) {
  const gmm::model truth = unit_mixture(size.components, size.columns, spread, setting.seed);
  const std::vector<float> values = draw<float>(truth, size.rows, random::mix(setting.seed, 1));
  const matrix_view<const float> rows(values.data(), size.rows, size.columns);
  for (const auto type : {gmm::covariance_type::diag, gmm::covariance_type::full}) {
    const gmm::model start = random_start(rows, size.components, type, setting.seed, setting);
    for (const study_algorithm& algorithm : setting.algorithms) {
      gmm::options options = options_from(start, algorithm, setting);
      if (size.rows >= many_rows && options.chunks.memberships) continue;  // more than chunks.memory holds by default
      for (const device_choice& device : places(setting)) {
        options.device = device;
        const double seconds = seconds_of_iteration(rows, options, setting);
        out.push_back({size.rows, size.components, size.columns, type, algorithm.name, device_name(device), seconds});
      }
    }
  }
}

void time_reach(const problem& size, const study_setting& setting, std::vector<reach_row>& out) {
  const std::size_t most = setting.quick ? 100 : 2'000;
  const gmm::model truth = unit_mixture(size.components, size.columns, spread, setting.seed);
  const std::vector<float> values = draw<float>(truth, size.rows, random::mix(setting.seed, 1));
  const matrix_view<const float> rows(values.data(), size.rows, size.columns);
  const gmm::model start = random_start(rows, size.components, gmm::covariance_type::full, setting.seed, setting);
  double target = 0;
  for (const study_algorithm& algorithm : setting.algorithms) {
    for (const device_choice& device : places(setting)) {
      gmm::options options = options_from(start, algorithm, setting);
      options.device = device;
      study_path<float> path(rows, options, algorithm.exact_history, *setting.control);
      if (out.empty()) target = path.last_log_likelihood(most, 1e-7) - near_enough;
      reach_row row{size.rows, size.components, size.columns, algorithm.name, device_name(device), {}, 0};
      row.passes = path.passes_to(target, most);
      if (row.passes) row.seconds = path.loop_seconds(*row.passes);
      out.push_back(row);
    }
  }
}

}  // namespace

speed_result study_speed(const study_setting& setting) {
  speed_result result;
  const std::vector<problem> sizes = problems(setting);
  for (const problem& size : sizes) {
    setting.announce(
        fmt::format("speed: {} rows, {} components, {} columns", size.rows, size.components, size.columns));
    time_iterations(size, setting, result.iterations);
  }
  setting.announce("speed: time to come near the end");
  time_reach(sizes[1], setting, result.reach);
  return result;
}

}  // namespace shoal::app
