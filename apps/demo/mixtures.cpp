// The two fits that the demo shows.
#include "mixtures.hpp"

#include <algorithm>
#include <chrono>

#include <shoal/execution/executor.hpp>
#include <shoal/gmm/fit.hpp>
#include <shoal/gmm/generate.hpp>
#include <shoal/gmm/predict.hpp>
#include <shoal/gmm/sample.hpp>

namespace shoal::demo {
namespace {

// The best of several starts. One fit with that many restarts would find the same kind of answer, but state the time of
// them all: here each start has its own.
template <class Scalar>
gmm::fit_result best_start(const row_source<Scalar>& rows, gmm::options options, std::size_t starts) {
  gmm::fit_result best;
  for (std::size_t start = 0; start < starts; ++start) {
    options.seed = start;
    gmm::fit_result fit = gmm::fit(rows, options);
    if (start == 0 || fit.mean_log_likelihood > best.mean_log_likelihood) best = std::move(fit);
  }
  return best;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

chosen_mixture fit_old_faithful(const std::string& path, std::size_t threads) {
  constexpr std::size_t most_components = 6;
  chosen_mixture out;
  const opened_rows<double> file = open_rows<double>(path);
  out.column_names = file.column_names;
  out.sample = report::sample_rows(*file.rows, file.rows->rows());

  gmm::options options;
  out.starts = 10;
  options.tolerance = 1e-6;
  options.max_iterations = 500;
  options.threads = threads;
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t components = 1; components <= most_components; ++components) {
    options.components = components;
    gmm::fit_result fit = best_start(*file.rows, options, out.starts);
    out.choices.push_back({components, fit.mean_log_likelihood, fit.bic, fit.aic});
    if (components == 1 || fit.bic < out.fit.bic) out.fit = std::move(fit);
  }
  out.seconds = seconds_since(start);
  out.fit.model.column_names = file.column_names;
  out.labels.resize(out.sample.indices.size());
  gmm::predict(out.fit.model, *file.rows, {out.labels.data(), nullptr, nullptr}, threads);
  return out;
}

recovered_mixture fit_generated(std::size_t rows, std::size_t threads) {
  constexpr std::size_t columns = 8;
  constexpr std::size_t range = 16384;
  constexpr std::uint64_t seed = 1;
  recovered_mixture out;
  gmm::generator_options generator;
  generator.components = 10;
  generator.columns = columns;
  generator.seed = seed;
  // Means with a standard deviation of about 6 among components of about 3: neighbours overlap.
  generator.mean_scale = 40;
  out.truth = gmm::generate_model(generator);

  auto start = std::chrono::steady_clock::now();
  std::vector<float> values(rows * columns);
  std::vector<std::int32_t> truth(rows);
  // Row i is the same whoever draws it, so each thread takes ranges of rows.
  make_threads(threads)->run((rows + range - 1) / range, 1, [&](std::size_t task, const team_member&) {
    const std::size_t first = task * range;
    const std::size_t count = std::min(range, rows - first);
    gmm::sample(out.truth, seed, first, matrix_view<float>(values.data() + first * columns, count, columns),
                truth.data() + first);
  });
  out.drawing_seconds = seconds_since(start);

  const view_source<float> source({values.data(), rows, columns});
  out.options.components = generator.components;
  out.options.threads = threads;
  out.options.tolerance = 1e-5;
  out.options.init = gmm::initialization::plus_plus;
  out.starts = 3;
  start = std::chrono::steady_clock::now();
  out.fit = best_start(source, out.options, out.starts);
  out.seconds = seconds_since(start);
  std::vector<std::int32_t> fitted(rows);
  gmm::predict(out.fit.model, source, {fitted.data(), nullptr, nullptr}, threads);
  out.truth_log_likelihood = gmm::predict(out.truth, source, gmm::prediction<float>{}, threads);
  out.agreement = metrics::contingency(fitted, truth);

  out.sample = report::sample_rows(source);
  for (const std::size_t index : out.sample.indices) {
    out.labels.push_back(fitted[index]);
    out.given.push_back(truth[index]);
  }
  return out;
}

}  // namespace shoal::demo
