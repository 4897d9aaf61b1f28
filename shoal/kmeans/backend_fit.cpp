#include <shoal/kmeans/backend_fit.hpp>

#include <chrono>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/estimation/check_spread.hpp>
#include <shoal/estimation/data_check.hpp>
#include <shoal/estimation/fit_loop.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/kmeans/backend.hpp>
#include <shoal/kmeans/check_model.hpp>
#include <shoal/kmeans/check_options.hpp>
#include <shoal/kmeans/first_model.hpp>
#include <shoal/kmeans/information_criteria.hpp>

namespace shoal::kmeans {
namespace {

void check_centroids(const options& options, std::size_t columns) {
  const std::size_t expected = options.clusters * columns;
  if (options.centroids.size() != expected) {
    throw bad_argument(fmt::format("first centroids must be {} values ({} clusters x {} columns); got {}", expected,
                                   options.clusters, columns, options.centroids.size()));
  }
  for (std::size_t i = 0; i < expected; ++i) {
    if (std::isfinite(options.centroids[i])) continue;
    throw bad_argument(fmt::format("first centroid {}, column {} (counting from 0) is {}; it must be finite",
                                   i / columns, i % columns, options.centroids[i]));
  }
}

fit_identity identity_of(const options& options, const data_summary& summary, std::string_view scalar,
                         const std::string& hardware) {
  std::string first_centroids;
  for (const double value : options.centroids) first_centroids += fmt::format("{:a} ", value);
  return {{"family", "kmeans"},
          {"rows", fmt::format("{}", summary.rows)},
          {"columns", fmt::format("{}", summary.columns)},
          {"data fingerprint", fmt::format("{:016x}", summary.fingerprint)},
          {"scalar", std::string(scalar)},
          {"clusters", fmt::format("{}", options.clusters)},
          {"init", fmt::format("{}", static_cast<int>(chosen_seeding(options, summary.rows)))},
          {"first centroids", first_centroids},
          {"max iterations", fmt::format("{}", options.max_iterations)},
          {"tolerance", fmt::format("{:a}", options.tolerance)},
          {"stop rule", fmt::format("{}", static_cast<int>(options.stop))},
          {"restarts", fmt::format("{}", options.restarts)},
          {"seed", fmt::format("{}", options.seed)},
          {"hardware", hardware},
          {"precision", std::string(precision_name(options.device.precision))}};
}

bool stops(std::span<const step_record> steps, const options& options, double mean_variance) {
  if (!(options.tolerance > 0)) return false;
  if (options.stop == stop_rule::scikit_learn) return steps.back().change <= options.tolerance * mean_variance;
  return steps.size() > 1 && steps.back().change <= options.tolerance * steps[steps.size() - 2].change;
}

}  // namespace

template <class Scalar>
fit_result fit(backend<Scalar>& on, const options& options, const control& control, vanishing_rows vanishing) {
  const auto start = std::chrono::steady_clock::now();
  const data_summary& summary = on.summary();
  if (summary.rows < options.clusters) {
    throw bad_data(fmt::format("expected at least as many rows as clusters; got {} rows and {} clusters", summary.rows,
                               options.clusters));
  }
  const bool given = options.init == seeding::centroids;
  if (given) check_centroids(options, summary.columns);
  // Distances are summed in float64, whatever the rows are.
  const auto first = given ? std::span<const double>(options.centroids) : std::span<const double>();
  check_span<double>(summary, first);
  if (vanishing == vanishing_rows::refused) check_spread(summary, first);

  const double variance = mean_variance(summary);
  const std::unique_ptr<clustering_stepper> steps = on.fit(options);
  loop_options loop;
  loop.phase = "kmeans";
  loop.max_iterations = options.max_iterations;
  loop.restarts = given ? 1 : options.restarts;
  loop.stop = [&](std::span<const step_record> done) { return stops(done, options, variance); };
  loop.checkpoint = options.checkpoint;
  loop.checkpoint_seconds = options.checkpoint_seconds;
  if (!options.checkpoint.empty()) {
    loop.identity = identity_of(options, summary, sizeof(Scalar) == 4 ? "float32" : "float64", on.hardware());
  }
  loop_result best = run_fit(*steps, loop, control);

  fit_result result;
  result.model = {options.clusters, summary.columns, steps->centroids(), {}};
  result.inertia = steps->inertia();
  result.history = std::move(best.history);
  result.iterations = best.iterations;
  result.converged = best.converged;
  result.relocated = steps->relocated();
  result.rows = summary.rows;
  result.total_weight = summary.total_weight;
  result.cluster_weights = steps->cluster_weights();
  const criteria chosen = information_criteria(result.cluster_weights, summary.columns, result.inertia);
  result.bic = chosen.bic;
  result.aic = chosen.aic;
  result.hardware = on.hardware();
  result.loop_seconds = best.loop_seconds;
  result.loop_iterations = best.loop_iterations;
  result.column_variances = column_variances(summary);
  result.seeding_seconds = best.seeding_seconds;
  result.init = chosen_seeding(options, summary.rows);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}
template fit_result fit(backend<float>&, const options&, const control&, vanishing_rows);
template fit_result fit(backend<double>&, const options&, const control&, vanishing_rows);

}  // namespace shoal::kmeans
