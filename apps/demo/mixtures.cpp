// The two fits that the demo shows.
#include "mixtures.hpp"

#include <algorithm>
#include <chrono>

#include <shoal/execution/executor.hpp>
#include <shoal/gmm/generate.hpp>

namespace shoal::demo {
namespace {

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
  options.restarts = out.restarts = 10;
  options.tolerance = 1e-6;
  options.max_iterations = 500;
  options.threads = threads;
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t components = 1; components <= most_components; ++components) {
    options.components = components;
    gmm::fit_result fit = gmm::fit(*file.rows, options);
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
  constexpr std::uint64_t seed = 5;
  recovered_mixture out;
  gmm::generator_options generator;
  generator.components = 10;
  generator.columns = columns;
  generator.seed = seed;
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
  out.fit = gmm::fit(source, out.options);
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
