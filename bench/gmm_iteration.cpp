// Times one EM iteration (fold, maximise, prepare) of a Gaussian mixture against the machine's multiply-add peak.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <shoal/execution/executor.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/gmm/accumulate.hpp>
#include <shoal/gmm/maximise.hpp>
#include <shoal/gmm/parameters.hpp>

#include "multiply_add_peak.hpp"

namespace {

using shoal::gmm::covariance_type;
using clock_type = std::chrono::steady_clock;

struct problem {
  std::size_t rows;
  std::size_t columns;
  std::size_t components;
  covariance_type type;
  double spread;  // of the means N(0, spread²); the rows have unit covariances
};

double seconds_of(const std::function<void()>& work) {
  const auto start = clock_type::now();
  work();
  return std::chrono::duration<double>(clock_type::now() - start).count();
}

// The median of repeats that together last about `budget` seconds, at least five.
double median_seconds(const std::function<void()>& work, double budget = 0.4) {
  work();
  std::vector<double> times;
  double total = 0;
  while (times.size() < 5 || (total < budget && times.size() < 200)) {
    times.push_back(seconds_of(work));
    total += times.back();
  }
  if (std::getenv("SHOAL_BENCH_LEAST") != nullptr) return *std::min_element(times.begin(), times.end());
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

template <class Scalar>
struct generated {
  std::vector<Scalar> rows;
  shoal::gmm::model model;
};

template <class Scalar>
generated<Scalar> generate(const problem& problem) {
  std::mt19937_64 engine(1);
  std::normal_distribution<double> normal;
  generated<Scalar> result;
  shoal::gmm::model& model = result.model;
  model.covariance_type = problem.type;
  model.components = problem.components;
  model.columns = problem.columns;
  model.weights.assign(problem.components, 1.0 / static_cast<double>(problem.components));
  for (std::size_t i = 0; i < problem.components * problem.columns; ++i) {
    model.means.push_back(problem.spread * normal(engine));
  }
  std::uniform_int_distribution<std::size_t> component(0, problem.components - 1);
  for (std::size_t r = 0; r < problem.rows; ++r) {
    const std::size_t k = component(engine);
    for (std::size_t j = 0; j < problem.columns; ++j) {
      result.rows.push_back(static_cast<Scalar>(model.means[k * problem.columns + j] + normal(engine)));
    }
  }
  model.covariances.assign(shoal::gmm::covariance_size(problem.type, problem.components, problem.columns), 0.0);
  if (problem.type == covariance_type::full) {
    for (std::size_t k = 0; k < problem.components; ++k) {
      for (std::size_t j = 0; j < problem.columns; ++j) {
        model.covariances[(k * problem.columns + j) * problem.columns + j] = 1;
      }
    }
  } else {
    std::fill(model.covariances.begin(), model.covariances.end(), 1.0);
  }
  return result;
}

struct timing {
  double iteration;
  double maximise;
};

template <class Scalar>
timing time_iteration(const problem& problem, std::size_t threads) {
  const generated<Scalar> data = generate<Scalar>(problem);
  const shoal::view_source<Scalar> source({data.rows.data(), problem.rows, problem.columns});
  const auto workers = shoal::make_threads(threads);
  const shoal::fold_context context{workers.get(), 0, {}};
  shoal::folder<Scalar, shoal::gmm::statistics_group, shoal::gmm::accumulation<Scalar>> fold(
      {&source}, shoal::gmm::statistics_group({problem.type, problem.components, problem.columns}));
  shoal::gmm::model model = data.model;
  double maximise_seconds = 0;
  std::size_t iterations = 0;
  const double iteration = median_seconds([&] {
    const auto components = shoal::gmm::prepare<Scalar>(model, workers.get());
    const auto& sums = fold(context, {&components});
    maximise_seconds += seconds_of([&] { shoal::gmm::maximise(sums, components.centres, 1e-6, model, workers.get()); });
    ++iterations;
  });
  return {iteration, maximise_seconds / static_cast<double>(iterations)};
}

const char* name(covariance_type type) { return type == covariance_type::full ? "full" : "diag"; }

template <class Scalar>
void run(const problem& problem, const double (&peaks)[2]) {
  double seconds[2];
  for (std::size_t threads = 1; threads <= 2; ++threads) {
    const timing measured = time_iteration<Scalar>(problem, threads);
    seconds[threads - 1] = measured.iteration;
    const auto rows = static_cast<double>(problem.rows);
    const auto columns = static_cast<double>(problem.columns);
    const double operations = rows * static_cast<double>(problem.components) *
                              (problem.type == covariance_type::full ? columns * columns : 4 * columns);
    const double rate = operations / measured.iteration * 1e-9;
    fmt::print(
        "{:>8} x {:>3}, {:>3} components, {} {:>7}, means N(0,{:.0f}^2), {} threads: {:8.3f} ms, {:6.1f} GFMA/s, "
        "{:3.0f} % of peak{}\n",
        problem.rows, problem.columns, problem.components, name(problem.type),
        sizeof(Scalar) == 4 ? "float32" : "float64", problem.spread, threads, measured.iteration * 1e3, rate,
        100 * rate / peaks[threads - 1],
        threads == 2 ? fmt::format(", {:.2f} x one thread", seconds[0] / seconds[1]) : "");
    std::fflush(stdout);
  }
}

}  // namespace

// Arguments: "float32" or "float64" (default both), then a part of the shape such as "65536x54" or "full3" (separated).
int main(int argument_count, char** arguments) {
  const std::string only = argument_count > 1 ? arguments[1] : "";
  const std::string shape = argument_count > 2 ? arguments[2] : "";
  double peaks[2][2];
  for (std::size_t threads = 1; threads <= 2; ++threads) {
    peaks[0][threads - 1] = bench::multiply_add_peak(threads, true);
    peaks[1][threads - 1] = bench::multiply_add_peak(threads, false);
    fmt::print("{} threads: {:.1f} GFMA/s float32, {:.1f} GFMA/s float64, {}\n", threads, peaks[0][threads - 1],
               peaks[1][threads - 1], shoal::gmm::instruction_set());
  }
  for (const double spread : {1.0, 3.0}) {
    for (const problem& problem : {::problem{std::size_t{1} << 18, 8, 10, covariance_type::full, spread},
                                   ::problem{std::size_t{1} << 18, 8, 10, covariance_type::diag, spread},
                                   ::problem{65536, 54, 7, covariance_type::full, spread},
                                   ::problem{32768, 32, 64, covariance_type::full, spread}}) {
      const std::string text = fmt::format("{}x{}x{}{}{}", problem.rows, problem.columns, problem.components,
                                           name(problem.type), problem.spread);
      if (text.find(shape) == std::string::npos) continue;
      if (only != "float64") run<float>(problem, peaks[0]);
      if (only != "float32") run<double>(problem, peaks[1]);
    }
  }
}
