#include <shoal/gmm/backend_fit.hpp>

#include <chrono>
#include <cmath>
#include <memory>
#include <span>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/estimation/data_check.hpp>
#include <shoal/estimation/fit_loop.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/gmm/backend.hpp>
#include <shoal/gmm/check_options.hpp>
#include <shoal/gmm/check_reach.hpp>
#include <shoal/gmm/check_resolution.hpp>
#include <shoal/gmm/fingerprint.hpp>

namespace shoal::gmm {
namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) { return std::chrono::duration<double>(clock::now() - start).count(); }

void check_row_count(const data_summary& summary, std::size_t components) {
  if (summary.positive_rows >= components) return;
  throw bad_data(fmt::format("{} components need at least {} rows of positive weight; the data have {}", components,
                             components, summary.positive_rows));
}

std::string start_of(const options& options) {
  if (options.init != initialization::model) return "none";
  const std::string model = fmt::format("{:016x}", fingerprint(options.start));
  return std::isnan(options.previous_log_likelihood)
             ? model
             : fmt::format("{} after {}", model, options.previous_log_likelihood);
}

// How the algorithm was told to work, and which rows its chunks hold; of batch its name is all.
std::string algorithm_of(const options& options) {
  std::string text(name_of(options.algorithm));
  if (options.acceleration != acceleration::none) text += fmt::format(" with {}", name_of(options.acceleration));
  if (options.algorithm == algorithm::batch) return text;
  const chunk_options& chunks = options.chunks;
  text +=
      fmt::format(" in chunks of {} rows, {} superchunks and {} bytes", chunks.rows, chunks.superchunks, chunks.memory);
  if (options.algorithm == algorithm::stepwise) {
    text += fmt::format(", steps ({} + t)^-{}", options.step_delay, options.step_exponent);
  }
  if (options.algorithm == algorithm::asynchronous) {
    text += fmt::format(", threshold {} of {}{}, rebuilt every {} passes", chunks.threshold,
                        chunks.memberships ? "rows" : "chunks", chunks.local_models ? ", local models" : "",
                        chunks.rebuild_passes);
  }
  return text;
}

template <class Scalar>
fit_identity identity_of(const data_summary& summary, const options& options, const std::string& hardware) {
  return {
      {"data",
       fmt::format("{} rows x {} columns, fingerprint {:016x}", summary.rows, summary.columns, summary.fingerprint)},
      {"scalar", sizeof(Scalar) == 4 ? "float32" : "float64"},
      {"family", "gmm"},
      {"algorithm", algorithm_of(options)},
      {"components", fmt::to_string(options.components)},
      {"covariance type", fmt::to_string(static_cast<int>(options.covariance_type))},
      {"initialization", fmt::to_string(static_cast<int>(options.init))},
      {"start", start_of(options)},
      {"max iterations", fmt::to_string(options.max_iterations)},
      {"tolerance", fmt::to_string(options.tolerance)},
      {"regularization", fmt::to_string(options.regularization)},
      {"restarts", fmt::to_string(options.restarts)},
      {"seed", fmt::to_string(options.seed)},
      {"hardware", hardware},
      {"precision", std::string(precision_name(options.device.precision))},
  };
}

}  // namespace

template <class Scalar>
fit_result fit(backend<Scalar>& on, const options& options, const control& control) {
  const clock::time_point start = clock::now();
  const data_summary& summary = on.summary();
  const bool started = options.init == initialization::model;
  check_span<Scalar>(summary, started ? std::span<const double>(options.start.means) : std::span<const double>());
  if (started) check_reach<Scalar>(options.start, summary);
  check_row_count(summary, options.components);

  const std::unique_ptr<mixture_stepper> steps = on.fit(options);
  loop_options loop;
  loop.phase = "gmm";
  loop.max_iterations = options.max_iterations;
  loop.restarts = options.restarts;
  loop.stop = [&options](std::span<const step_record> done) {
    if (options.tolerance == 0) return false;
    if (options.acceleration == acceleration::squarem) return std::abs(done.back().change) < options.tolerance;
    const double before = done.size() < 2 ? options.previous_log_likelihood : done[done.size() - 2].objective;
    return std::abs(done.back().objective - before) < options.tolerance;  // false where there is none before
  };
  loop.checkpoint = options.checkpoint;
  loop.checkpoint_seconds = options.checkpoint_seconds;
  if (!options.checkpoint.empty()) loop.identity = identity_of<Scalar>(summary, options, on.hardware());
  const loop_result ended = run_fit(*steps, loop, control);

  fit_result result;
  result.model = steps->current();
  if (ended.iterations > 0) check_resolution<Scalar>(result.model, summary, options.regularization);
  result.mean_log_likelihood = ended.score;
  result.history = ended.history;
  result.iterations = ended.iterations;
  result.converged = ended.converged;
  result.reseeded = steps->reseeded();
  result.rows = summary.rows;
  result.total_weight = summary.total_weight;
  result.loop_seconds = ended.loop_seconds;
  result.loop_iterations = ended.loop_iterations;
  result.seeding_seconds = ended.seeding_seconds;
  result.hardware = on.hardware();
  const double parameters = free_parameters(options.covariance_type, options.components, summary.columns);
  const double deviance = -2 * result.mean_log_likelihood * result.total_weight;
  result.bic = deviance + parameters * std::log(result.total_weight);
  result.aic = deviance + 2 * parameters;
  result.seconds = seconds_since(start);
  return result;
}
template fit_result fit(backend<float>&, const options&, const control&);
template fit_result fit(backend<double>&, const options&, const control&);

}  // namespace shoal::gmm
