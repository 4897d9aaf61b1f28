// Passes over the rows that each algorithm for mixtures needs to come within 1e-4 of the mean log-likelihood that batch
// reaches in the end: medians over starts, each with data of its own, and the starts that need more than batch.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/backend.hpp>
#include <shoal/gmm/options.hpp>
#include <shoal/random/stream.hpp>

namespace {

namespace gmm = shoal::gmm;
using clock_type = std::chrono::steady_clock;

constexpr std::size_t rows = 60'000, columns = 4, components = 6;
constexpr double close = 1e-4;
constexpr std::size_t most_passes = 5000;

struct start_from {
  gmm::initialization init;
  std::string_view name;
};
constexpr start_from starts_from[] = {{gmm::initialization::plus_plus, "k-means++"},
                                      {gmm::initialization::kmeans, "k-means"},
                                      {gmm::initialization::random_rows, "random rows"}};

std::vector<float> unit_gaussians(double spread, std::uint64_t seed) {
  shoal::random::stream words(seed, 1);
  const auto normal = [&] {
    return std::sqrt(-2 * std::log(words.uniform())) * std::cos(6.283185307179586 * words.uniform());
  };
  std::vector<double> means(components * columns);
  for (double& mean : means) mean = spread * normal();
  std::vector<float> values(rows * columns);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto k = std::min(static_cast<std::size_t>(words.uniform() * components), components - 1);
    for (std::size_t j = 0; j < columns; ++j) {
      values[i * columns + j] = static_cast<float>(means[k * columns + j] + normal());
    }
  }
  return values;
}

struct course {
  std::vector<double> reached;  // mean log-likelihood after each pass
  double seconds = 0;           // of the passes alone
};

// Until batch has converged, or until `enough` is reached.
course run(gmm::backend<float>& on, const gmm::options& options, double enough) {
  const auto fit = on.fit(options);
  fit->seed(0);
  course taken;
  double before = -1e300;
  while (taken.reached.size() < most_passes) {
    const auto start = clock_type::now();
    const double objective = fit->advance(1).front().objective;
    taken.seconds += std::chrono::duration<double>(clock_type::now() - start).count();
    taken.reached.push_back(fit->score());
    if (taken.reached.back() >= enough) break;
    if (std::isinf(enough) && std::abs(objective - before) < 1e-9) break;
    before = objective;
  }
  return taken;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

struct variant {
  std::string name;
  gmm::options options;
};

std::vector<variant> variants() {
  std::vector<variant> all;
  const auto add = [&](const std::string& name, auto&& change) {
    gmm::options options;
    options.components = components;
    options.init = gmm::initialization::random_rows;
    options.tolerance = 0;
    options.regularization = 0;
    options.max_iterations = most_passes;
    change(options);
    all.push_back({name, options});
  };
  using enum gmm::algorithm;
  add("squarem", [](auto& o) { o.acceleration = gmm::acceleration::squarem; });
  for (const std::size_t superchunks : {std::size_t{0}, std::size_t{4}, std::size_t{64}}) {
    const auto cut = [superchunks](gmm::options& o) { o.chunks.superchunks = superchunks; };
    const std::string by = superchunks == 0 ? std::string() : fmt::format(", {} superchunks", superchunks);
    add("incremental" + by, [&](auto& o) { o.algorithm = incremental, cut(o); });
    add("asynchronous" + by, [&](auto& o) { o.algorithm = asynchronous, cut(o); });
  }
  return all;
}

void measure(double spread, const start_from& from, std::size_t starts, std::size_t threads, std::string_view only) {
  const std::vector<variant> all = variants();
  std::vector<std::vector<double>> passes(all.size()), quotients(all.size()), excess(all.size());
  std::vector<double> batch_passes, batch_times;
  std::vector<std::vector<double>> times(all.size());
  for (std::size_t start = 0; start < starts; ++start) {
    const std::vector<float> values = unit_gaussians(spread, start);
    const shoal::view_source<float> source({values.data(), rows, columns});
    const auto workers = shoal::make_executor(threads);
    const auto on = gmm::make_backend<float>({}, {{workers.get(), 0, {}}, &source, nullptr, false});
    gmm::options options = all[0].options;
    options.seed = start;
    options.init = from.init;
    options.acceleration = gmm::acceleration::none;
    const course batch = run(*on, options, INFINITY);
    const double enough = batch.reached.back() - close;
    const auto first = std::find_if(batch.reached.begin(), batch.reached.end(), [&](double l) { return l >= enough; });
    batch_passes.push_back(static_cast<double>(first - batch.reached.begin() + 1));
    batch_times.push_back(batch.seconds / static_cast<double>(batch.reached.size()));
    for (std::size_t v = 0; v < all.size(); ++v) {
      if (!only.empty() && all[v].name.find(only) == std::string::npos) continue;
      options = all[v].options;
      options.seed = start;
      options.init = from.init;
      const course taken = run(*on, options, enough);
      times[v].push_back(taken.seconds / static_cast<double>(taken.reached.size()));
      if (taken.reached.back() < enough) continue;  // ended in a lower maximum, or never came so close
      passes[v].push_back(static_cast<double>(taken.reached.size()));
      quotients[v].push_back(batch_passes.back() / passes[v].back());
      excess[v].push_back(passes[v].back() - batch_passes.back());
    }
  }
  fmt::print("means N(0, {}²), {}: batch {} passes (median of {}; {} to {}) of {:.3f} ms\n", spread, from.name,
             median(batch_passes), starts, *std::min_element(batch_passes.begin(), batch_passes.end()),
             *std::max_element(batch_passes.begin(), batch_passes.end()), 1e3 * median(batch_times));
  fmt::print("{:32} {:>8} {:>12} {:>8} {:>8} {:>9} {:>9} {:>9} {:>9}\n", "", "passes", "batch/passes", "least",
             "greatest", "need more", "by up to", "reached", "ms a pass");
  for (std::size_t v = 0; v < all.size(); ++v) {
    if (passes[v].empty()) continue;
    const auto more = std::count_if(excess[v].begin(), excess[v].end(), [](double passes) { return passes > 0; });
    fmt::print("{:32} {:>8} {:>12.2f} {:>8.2f} {:>8.2f} {:>9} {:>9} {:>6}/{} {:>9.3f}\n", all[v].name,
               median(passes[v]), median(quotients[v]), *std::min_element(quotients[v].begin(), quotients[v].end()),
               *std::max_element(quotients[v].begin(), quotients[v].end()), more,
               std::max(0.0, *std::max_element(excess[v].begin(), excess[v].end())), passes[v].size(), starts,
               1e3 * median(times[v]));
  }
}

}  // namespace

int main(int count, char** arguments) {
  const std::size_t starts = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 25;
  const std::size_t threads = count > 2 ? std::strtoul(arguments[2], nullptr, 10) : 0;
  const std::string_view only = count > 3 ? arguments[3] : "";
  try {
    for (const double spread : {1.3, 3.0, 5.0, 8.0}) {
      for (const start_from& from : starts_from) measure(spread, from, starts, threads, only);
    }
  } catch (const shoal::error& failure) {
    fmt::print(stderr, "em_passes: {}\n", failure.what());
    return 1;
  }
}
