#include <shoal/som/som.hpp>

#include <chrono>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <shoal/estimation/data_check.hpp>
#include <shoal/estimation/fit_loop.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/som/backend.hpp>
#include <shoal/som/check_model.hpp>
#include <shoal/som/check_options.hpp>
#include <shoal/som/schedule.hpp>

namespace shoal::som {
namespace {

std::string exact_range(range range) { return fmt::format("{:a}:{:a}", range.first, range.last); }

fit_identity identity_of(const options& options, const data_summary& summary, std::string_view scalar,
                         const std::string& hardware) {
  std::string codebook;
  for (const double value : options.codebook) codebook += fmt::format("{:a} ", value);
  return {{"family", "som"},
          {"rows", fmt::format("{}", summary.rows)},
          {"columns", fmt::format("{}", summary.columns)},
          {"data fingerprint", fmt::format("{:016x}", summary.fingerprint)},
          {"scalar", std::string(scalar)},
          {"width", fmt::format("{}", options.width)},
          {"height", fmt::format("{}", options.height)},
          {"lattice", fmt::format("{}", static_cast<int>(options.lattice))},
          {"toroidal", fmt::format("{}", options.toroidal)},
          {"metric", fmt::format("{}", static_cast<int>(options.metric))},
          {"neighborhood", fmt::format("{}", static_cast<int>(options.neighborhood))},
          {"cutoff", fmt::format("{:a}", options.cutoff)},
          {"training", fmt::format("{}", static_cast<int>(options.training))},
          {"epochs", fmt::format("{}", options.epochs)},
          {"radius", exact_range(radius_range(options))},
          {"radius decay", fmt::format("{}", static_cast<int>(options.radius_decay))},
          {"rate", exact_range(options.rate)},
          {"rate decay", fmt::format("{}", static_cast<int>(options.rate_decay))},
          {"init", fmt::format("{}", static_cast<int>(options.init))},
          {"first codebook", codebook},
          {"seed", fmt::format("{}", options.seed)},
          {"hardware", hardware},
          {"precision", std::string(precision_name(options.device.precision))}};
}

template <class Scalar>
fit_result fit_rows(const row_source<Scalar>& rows, const options& options, const row_source<Scalar>* weights,
                    const control& control) {
  const auto start = std::chrono::steady_clock::now();
  check_options(options);
  const std::unique_ptr<executor> workers = make_threads(options.threads);
  const fold_context context{workers.get(), options.memory_limit, control.stop};
  const std::unique_ptr<backend<Scalar>> on =
      make_backend<Scalar>(options.device, {context, &rows, weights, !options.checkpoint.empty()});
  fit_result result = fit(*on, options, control);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

// Calls what(backend) for a model and the rows that it is asked about.
template <class Scalar, class What>
auto with_backend(const model& model, const row_source<Scalar>& rows, std::size_t threads, std::size_t memory_limit,
                  const row_source<Scalar>* weights, const control& control, const device_choice& device,
                  const What& what) {
  check_model(model, rows.columns());
  const std::unique_ptr<executor> workers = make_threads(threads);
  const fold_context context{workers.get(), memory_limit, control.stop};
  const std::unique_ptr<backend<Scalar>> on = make_backend<Scalar>(device, {context, &rows, weights});
  check_span<double>(on->summary(), model.codebook);
  return what(*on);
}

template <class Scalar>
double predict_rows(const model& model, const row_source<Scalar>& rows, std::int32_t* units, std::size_t threads,
                    std::size_t memory_limit, const row_source<Scalar>* weights, const control& control,
                    const device_choice& device) {
  return with_backend(model, rows, threads, memory_limit, weights, control, device,
                      [&](backend<Scalar>& on) { return on.predict(model, units); });
}

template <class Scalar>
quality score_rows(const model& model, const row_source<Scalar>& rows, std::size_t threads, std::size_t memory_limit,
                   const row_source<Scalar>* weights, const control& control, const device_choice& device) {
  return with_backend(model, rows, threads, memory_limit, weights, control, device,
                      [&](backend<Scalar>& on) { return on.score(model); });
}

}  // namespace

template <class Scalar>
fit_result fit(backend<Scalar>& on, const options& options, const control& control) {
  const auto start = std::chrono::steady_clock::now();
  const data_summary& summary = on.summary();
  const bool given = options.init == initialization::codebook;
  if (given) check_codebook(options, summary.columns);
  // Distances are summed in float64, whatever the rows are.
  check_span<double>(summary, given ? std::span<const double>(options.codebook) : std::span<const double>());

  const std::unique_ptr<map_stepper> steps = on.fit(options);
  loop_options loop;
  loop.phase = "som";
  loop.max_iterations = options.epochs;
  loop.stop = [](std::span<const step_record>) { return false; };  // the radius is still to go its way
  loop.checkpoint = options.checkpoint;
  loop.checkpoint_seconds = options.checkpoint_seconds;
  if (!options.checkpoint.empty()) {
    loop.identity = identity_of(options, summary, sizeof(Scalar) == 4 ? "float32" : "float64", on.hardware());
  }
  loop_result done = run_fit(*steps, loop, control);

  fit_result result;
  result.model = {options.width,    options.height, summary.columns,   options.lattice,
                  options.toroidal, options.metric, steps->codebook(), {}};
  result.quality = steps->quality();
  result.history = std::move(done.history);
  result.epochs = done.iterations;
  result.rows = summary.rows;
  result.total_weight = summary.total_weight;
  result.hardware = on.hardware();
  result.loop_seconds = done.loop_seconds;
  result.loop_epochs = done.loop_iterations;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}
template fit_result fit(backend<float>&, const options&, const control&);
template fit_result fit(backend<double>&, const options&, const control&);

fit_result fit(const row_source<float>& rows, const options& options, const row_source<float>* weights,
               const control& control) {
  return fit_rows(rows, options, weights, control);
}
fit_result fit(const row_source<double>& rows, const options& options, const row_source<double>* weights,
               const control& control) {
  return fit_rows(rows, options, weights, control);
}
fit_result fit(matrix_view<const float> rows, const options& options) {
  return fit_rows<float>(view_source<float>(rows), options, nullptr, {});
}
fit_result fit(matrix_view<const double> rows, const options& options) {
  return fit_rows<double>(view_source<double>(rows), options, nullptr, {});
}

double predict(const model& model, const row_source<float>& rows, std::int32_t* units, std::size_t threads,
               std::size_t memory_limit, const row_source<float>* weights, const control& control,
               const device_choice& device) {
  return predict_rows(model, rows, units, threads, memory_limit, weights, control, device);
}
double predict(const model& model, const row_source<double>& rows, std::int32_t* units, std::size_t threads,
               std::size_t memory_limit, const row_source<double>* weights, const control& control,
               const device_choice& device) {
  return predict_rows(model, rows, units, threads, memory_limit, weights, control, device);
}

quality score(const model& model, const row_source<float>& rows, std::size_t threads, std::size_t memory_limit,
              const row_source<float>* weights, const control& control, const device_choice& device) {
  return score_rows(model, rows, threads, memory_limit, weights, control, device);
}
quality score(const model& model, const row_source<double>& rows, std::size_t threads, std::size_t memory_limit,
              const row_source<double>* weights, const control& control, const device_choice& device) {
  return score_rows(model, rows, threads, memory_limit, weights, control, device);
}

}  // namespace shoal::som
