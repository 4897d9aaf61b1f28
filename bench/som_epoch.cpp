// One epoch of batch training of a map, float32, and its two parts: best-matching units, and the update.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <shoal/estimation/data_check.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/nearest/nearest.hpp>
#include <shoal/random/stream.hpp>
#include <shoal/som/batch_training.hpp>
#include <shoal/som/maximise.hpp>

#include "multiply_add_peak.hpp"

namespace {

namespace som = shoal::som;

struct problem {
  std::size_t rows, columns, width, height;
  som::metric metric = som::metric::euclidean;
  som::neighborhood neighborhood = som::neighborhood::gaussian;
};

// Uniform rows in a cube: what is best matched lies anywhere.
std::vector<float> make_rows(const problem& p) {
  std::vector<float> rows(p.rows * p.columns);
  shoal::random::stream words(1, 0);
  for (float& value : rows) value = static_cast<float>(words.uniform());
  return rows;
}

// The least of as many runs as fit into two seconds, and of three at least, in milliseconds: the machine may be shared.
double least_time(const std::function<void()>& work) {
  double least = 1e300, spent = 0;
  for (int runs = 0; runs < 3 || spent < 2; ++runs) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    least = std::min(least, seconds);
    spent += seconds;
  }
  return least * 1e3;
}

void run(const problem& p, std::size_t threads, double multiply_add) {
  const std::vector<float> values = make_rows(p);
  const shoal::view_source<float> source({values.data(), p.rows, p.columns});
  const auto workers = shoal::make_threads(threads);
  const shoal::fold_context context{workers.get(), 0, {}};
  const shoal::data_summary summary = shoal::check_data<float>(context, source, nullptr);
  som::options options;
  options.width = p.width;
  options.height = p.height;
  options.metric = p.metric;
  options.neighborhood = p.neighborhood;
  options.epochs = 1000;
  const double radius = static_cast<double>(std::min(p.width, p.height)) / 4;
  options.radius = som::range{radius, radius};
  options.init = som::initialization::random_values;
  const std::size_t units = p.width * p.height;
  const shoal::weighted_rows<float> data{&source, nullptr, 1};
  som::batch_training<float> fit(context, data, summary, options, [&] {
    shoal::random::stream words(2, 0);
    std::vector<double> codebook(units * p.columns);
    for (double& value : codebook) value = words.uniform();
    return codebook;
  });
  fit.seed(0);
  fit.advance(1);

  const double epoch = least_time([&] { fit.advance(1); });
  som::codebook_index<float> index;
  const double pack = least_time([&] { index.set(p.metric, fit.codebook(), units, p.columns); });
  const std::vector<double> centre = som::centre_of<float>(summary);
  shoal::folder<float, som::statistics_monoid, som::accumulate_body<float>> folder(
      data, som::statistics_monoid{units, p.columns});
  const double fold = least_time([&] { folder(context, {&index, centre.data(), nullptr}); });
  som::unit_mover mover(som::shape_of(options), p.columns);
  const som::statistics folded = folder(context, {&index, centre.data(), nullptr});
  std::vector<double> codebook = fit.codebook();
  const double move = least_time([&] { mover(*workers, {p.neighborhood, radius, 0}, folded, centre, 1, codebook); });
  const double work = static_cast<double>(p.rows * units) * static_cast<double>(p.columns) * 1e-9;
  fmt::print(
      "{:>7} x {:>3} on {:>3} x {:>3}, {} threads: epoch {:8.2f} ms = units and sums {:8.2f} ({:.0f} % of the peak) + "
      "packing {:.2f} + update {:.2f}\n",
      p.rows, p.columns, p.width, p.height, threads, epoch, fold, 100 * work / (fold * 1e-3) / multiply_add, pack,
      move);
}

}  // namespace

// Argument: "sweep" shows how the cost grows, "metrics" the other metrics and neighbourhoods; none the two problems of
// docs/performance.md.
int main(int argument_count, char** arguments) {
  const std::string_view what = argument_count > 1 ? arguments[1] : "problems";
  fmt::print("{}\n", shoal::simd_target());
  std::vector<problem> problems{{10000, 12, 200, 200}, {100000, 64, 100, 100}};
  if (what == "metrics") {
    problems.clear();
    for (const som::metric metric :
         {som::metric::euclidean, som::metric::taxicab, som::metric::cosine, som::metric::chebyshev}) {
      problems.push_back({10000, 12, 200, 200, metric});
    }
    problems.push_back({10000, 12, 200, 200, som::metric::euclidean, som::neighborhood::triangle});
    problems.push_back({10000, 12, 200, 200, som::metric::euclidean, som::neighborhood::mexican_hat});
  }
  if (what == "sweep") {
    problems.clear();
    for (const std::size_t rows : {5000, 10000, 20000, 40000}) problems.push_back({rows, 12, 100, 100});
    for (const std::size_t side : {50, 100, 200, 400}) problems.push_back({10000, 12, side, side});
    for (const std::size_t columns : {6, 12, 24, 48}) problems.push_back({10000, columns, 100, 100});
  }
  for (const std::size_t threads : {1, 2}) {
    const double multiply_add = bench::multiply_add_peak(threads, true);
    fmt::print("{} threads: the machine's peak is {:.1f} GFMA/s\n", threads, multiply_add);
    for (const problem& p : problems) run(p, threads, multiply_add);
  }
}
