// What a first model costs on a GPU, compared with an iteration: whole calls with and without it, the difference shown.
// device_seeding [ROWS COLUMNS COMPONENTS [REPEATS]]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include <shoal/estimation/cuda/device_data.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/gmm/fit.hpp>
#include <shoal/gmm/sample.hpp>

namespace {

std::size_t argument(int count, char** words, int index, std::size_t fallback) {
  return count > index ? std::strtoull(words[index], nullptr, 10) : fallback;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <class Run>
double seconds_of(const Run& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int count, char** words) {
  const std::size_t rows = argument(count, words, 1, std::size_t{1} << 20);
  const std::size_t columns = argument(count, words, 2, 32);
  const std::size_t components = argument(count, words, 3, 64);
  const std::size_t repeats = argument(count, words, 4, 7);

  // Clusters whose centres are three deviations apart, so that draws have something to choose between.
  shoal::gmm::model truth;
  truth.covariance_type = shoal::gmm::covariance_type::spherical;
  truth.components = components;
  truth.columns = columns;
  truth.weights.assign(components, 1.0 / static_cast<double>(components));
  truth.covariances.assign(components, 1.0);
  for (std::size_t i = 0; i < components * columns; ++i)
    truth.means.push_back(3.0 * static_cast<double>(i * i % 7 % 3));
  std::vector<float> values(rows * columns);
  const auto workers = shoal::make_threads(0);
  constexpr std::size_t range = 16384;
  workers->run((rows + range - 1) / range, 1, [&](std::size_t task, const shoal::team_member&) {
    const std::size_t first = task * range;
    shoal::gmm::sample(
        truth, 1, first,
        shoal::matrix_view<float>(values.data() + first * columns, std::min(range, rows - first), columns), nullptr,
        shoal::random::normal_method::ziggurat);
  });
  const shoal::view_source<float> source({values.data(), rows, columns});

  shoal::gmm::options options;
  options.components = components;
  options.device.cuda = {0};
  options.init = shoal::gmm::initialization::model;
  options.start = truth;
  options.start.covariance_type = shoal::gmm::covariance_type::full;
  options.start.covariances.assign(components * columns * columns, 0.0);
  for (std::size_t i = 0; i < components * columns; ++i) {
    options.start.covariances[i / columns * columns * columns + i % columns * (columns + 1)] = 1;
  }
  options.tolerance = 0;
  options.max_iterations = 60;
  shoal::gmm::fit(source, options);
  const auto fitted = shoal::gmm::fit(source, options);
  const double iteration = fitted.loop_seconds / static_cast<double>(fitted.loop_iterations);
  std::printf("%zu x %zu, %zu components: an iteration %.3f ms\n", rows, columns, components, 1e3 * iteration);

  const shoal::fold_context context{workers.get(), 0, {}};
  shoal::device_data<float> data(context, options.device, source, nullptr, false);
  const auto show = [&](const char* name, const auto& run) {
    run();
    std::vector<double> times;
    for (std::size_t r = 0; r < repeats; ++r) times.push_back(seconds_of(run));
    std::printf("%-26s %8.3f ms, %5.2f iterations (least %.3f ms)\n", name, 1e3 * median(times),
                median(times) / iteration, 1e3 * *std::min_element(times.begin(), times.end()));
  };
  const shoal::seeding_request request{components, 5, 0};
  const auto& held = data.rows().data();
  show("k-means++", [&] { shoal::seed_plus_plus(context, held, data.summary(), request, data.seeding()); });
  show("k-means||", [&] { shoal::seed_parallel(context, held, data.summary(), request, data.seeding()); });

  // Whole first models: the call without an iteration, less the same call from a given model.
  options.max_iterations = 0;
  std::vector<double> without;
  for (std::size_t r = 0; r < repeats; ++r) without.push_back(shoal::gmm::fit(source, options).seconds);
  std::printf("%-26s %8.3f ms\n", "check, copy and score", 1e3 * median(without));
  using shoal::gmm::initialization;
  const std::pair<initialization, const char*> inits[] = {
      {initialization::plus_plus, "fit from k-means++"},
      {initialization::parallel, "fit from k-means||"},
      {initialization::random_rows, "fit from random rows"},
      {initialization::random_responsibilities, "fit from responsib."},
      {initialization::kmeans, "fit from k-means"}};
  for (const auto& [init, name] : inits) {
    options.init = init;
    std::vector<double> times;
    for (std::size_t r = 0; r < repeats; ++r) times.push_back(shoal::gmm::fit(source, options).seconds);
    const double extra = median(times) - median(without);
    std::printf("%-26s %8.3f ms, %5.2f iterations more than from a model\n", name, 1e3 * extra, extra / iteration);
  }
}
