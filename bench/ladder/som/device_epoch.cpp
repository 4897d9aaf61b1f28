// A pass that finds units, the smoothing and the move that follow it, and one epoch of batch training on a GPU as a fit
// runs it, by shape, and last the update with a mexican hat; where products are rounded also how many rows get another
// unit on the trained map than float64's, and how much farther it is: device_epoch [float32|tf32|bf16]
// [euclidean|taxicab|cosine|chebyshev|all] [ROWS COLUMNS WIDTH HEIGHT]...
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
#include <shoal/som/cuda/map.hpp>
#include <shoal/som/cuda/smoother.hpp>
#include <shoal/som/cuda/training.hpp>
#include <shoal/som/distance.hpp>

#include "made_maps.hpp"

namespace {

namespace som = shoal::som;

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}
double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

double time_units(shoal::cuda::device_rows<float>& rows, const shoal::data_summary& summary,
                  const som::options& options, const std::vector<double>& codebook) {
  som::device_map<float> map(rows, summary, som::shape_of(options), options.metric);
  map.upload(codebook);
  constexpr int together = 20;
  std::vector<double> times;
  for (int repeat = 0; repeat < 10; ++repeat) {
    rows.group().synchronize();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < together; ++i) map.enqueue(som::pass::units);
    rows.group().synchronize();
    if (repeat > 0) times.push_back(milliseconds_since(start) / together);
  }
  return median(times);
}

double time_update(shoal::cuda::device_rows<float>& rows, const shoal::data_summary& summary,
                   const som::options& options, const std::vector<double>& codebook) {
  som::device_map<float> map(rows, summary, som::shape_of(options), options.metric);
  map.upload(codebook);
  map.enqueue(som::pass::sums);
  constexpr int together = 20, repeats = 10;
  som::device_smoother<float> smoother(map, options.neighborhood, options.cutoff,
                                       std::vector<double>(together * repeats, 5.0));
  smoother.set_epoch(0);
  std::vector<double> times;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    rows.group().synchronize();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < together; ++i) smoother.enqueue();
    rows.group().synchronize();
    if (repeat > 0) times.push_back(milliseconds_since(start) / together);
  }
  return median(times);
}

// The codebook that it leaves is trained.
double time_epochs(som::map_stepper& training, std::size_t epochs, std::vector<double>& codebook) {
  std::vector<double> times;
  for (int repeat = 0; repeat < 4; ++repeat) {
    training.seed(0);
    training.advance(1);
    training.advance(4);
    std::size_t done = 5;
    const auto start = std::chrono::steady_clock::now();
    while (done < epochs) done += training.advance(epochs - done).size();
    if (repeat > 0) times.push_back(milliseconds_since(start) / static_cast<double>(epochs - 5));
  }
  codebook = training.codebook();
  return median(times);
}

std::vector<std::int32_t> units_of(shoal::cuda::device_rows<float>& rows, const shoal::data_summary& summary,
                                   const som::model& map, std::size_t count) {
  std::vector<std::int32_t> units(count);
  som::predict_on_device(rows, summary, map, units.data());
  return units;
}

struct agreement {
  double other_rows = 0;          // share of rows with another unit than float64's
  double mean = 0, greatest = 0;  // how much farther it is, relative to the distance: of all rows, of one
};

agreement compare(const std::vector<std::int32_t>& units, const std::vector<std::int32_t>& fact, const som::model& map,
                  const std::vector<float>& values) {
  agreement found;
  const auto distance = [&](std::size_t row, std::int32_t unit) {
    const float* const x = values.data() + row * map.columns;
    const double* const weights = map.codebook.data() + static_cast<std::size_t>(unit) * map.columns;
    if (map.metric != som::metric::cosine)
      return som::distance_of_rank(map.metric, som::defined_rank(map.metric, x, weights, map.columns), x, map.columns);
    const std::vector<double> wide(x, x + map.columns);
    return som::distance_between(map.metric, wide.data(), weights, map.columns);
  };
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (units[i] == fact[i]) continue;
    const double least = distance(i, fact[i]), excess = distance(i, units[i]) / least - 1;
    found.other_rows += 1;
    found.mean += excess;
    found.greatest = std::max(found.greatest, excess);
  }
  found.other_rows /= static_cast<double>(units.size());
  found.mean /= static_cast<double>(units.size());
  return found;
}

shoal::precision precision_named(std::string_view name) {
  if (name == "tf32") return shoal::precision::tf32;
  if (name == "bf16") return shoal::precision::bf16;
  return shoal::precision::float32;
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<problem> problems{{10'000, 12, 200, 200}, {100'000, 64, 100, 100}};
  const shoal::precision precision = precision_named(count > 1 ? arguments[1] : "float32");
  const std::string_view wanted = count > 2 ? arguments[2] : "all";
  if (count > 6) problems.clear();
  for (int i = 3; i + 3 < count; i += 4) {
    const auto number = [&](int at) { return static_cast<std::size_t>(std::strtoull(arguments[at], nullptr, 10)); };
    problems.push_back({number(i), number(i + 1), number(i + 2), number(i + 3)});
  }
  const auto workers = shoal::make_threads(0);
  const shoal::fold_context context{workers.get(), 0, {}};
  const int device = 0;
  shoal::cuda::device_group group(std::span(&device, 1), precision), exact_group(std::span(&device, 1));
  std::printf("%s, %s; ms of a pass that finds units (first codebook, trained one), of the update and of an epoch\n",
              group.kind().c_str(), std::string(shoal::precision_name(precision)).c_str());
  for (const problem& p : problems) {
    for (const bool clustered : {false, true}) {
      std::vector<float> values(p.rows * p.columns);
      fill_rows(p, clustered, values);
      const shoal::view_source<float> source({values.data(), p.rows, p.columns});
      const shoal::data_summary summary = shoal::check_data<float>(context, source, nullptr);
      shoal::cuda::device_rows<float> rows(group, context, {&source, nullptr, 1});
      for (const som::metric metric :
           {som::metric::euclidean, som::metric::taxicab, som::metric::cosine, som::metric::chebyshev}) {
        constexpr const char* names[] = {"euclidean", "taxicab", "cosine", "chebyshev"};
        if (wanted != "all" && wanted != names[static_cast<int>(metric)]) continue;
        som::options options;
        options.width = p.width;
        options.height = p.height;
        options.metric = metric;
        options.epochs = 45;
        som::options hat = options;
        hat.neighborhood = som::neighborhood::mexican_hat;
        const std::vector<double> first = make_units(p);
        const auto training = som::make_device_training<float>(rows, context, summary, options, [&] { return first; });
        std::vector<double> trained;
        const double of_epoch = time_epochs(*training, options.epochs, trained);
        std::printf("%8zu x %3zu on %zu x %zu, %-9s %-9s units %8.4f %8.4f update %8.4f epoch %8.4f hat %8.4f\n",
                    p.rows, p.columns, p.width, p.height, clustered ? "clustered" : "uniform",
                    names[static_cast<int>(metric)], time_units(rows, summary, options, first),
                    time_units(rows, summary, options, trained), time_update(rows, summary, options, trained), of_epoch,
                    time_update(rows, summary, hat, trained));
        if (precision != shoal::precision::float32) {
          shoal::cuda::device_rows<float> exact_rows(exact_group, context, {&source, nullptr, 1});
          for (const bool is_trained : {false, true}) {
            const som::model map{
                p.width, p.height, p.columns, som::lattice::rectangular, false, metric, is_trained ? trained : first,
                {}};
            const agreement with =
                compare(units_of(rows, summary, map, p.rows), units_of(exact_rows, summary, map, p.rows), map, values);
            std::printf("    %s: another unit %.4f of the rows, farther by %.2e on average, %.2e at most\n",
                        is_trained ? "trained map" : "first units", with.other_rows, with.mean, with.greatest);
          }
        }
        std::fflush(stdout);
      }
    }
  }
}
