#include <shoal/som/backend_fit.hpp>

#include <chrono>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <shoal/estimation/check_spread.hpp>
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

}  // namespace

template <class Scalar>
fit_result fit(backend<Scalar>& on, const options& options, const control& control) {
  const auto start = std::chrono::steady_clock::now();
  const data_summary& summary = on.summary();
  const bool given = options.init == initialization::codebook;
  if (given) check_codebook(options, summary.columns);
  // Distances are summed in float64, whatever the rows are.
  const auto first = given ? std::span<const double>(options.codebook) : std::span<const double>();
  check_span<double>(summary, first);
  check_spread(summary, first);

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
  result.column_variances = column_variances(summary);
  result.seeding_seconds = done.seeding_seconds;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}
template fit_result fit(backend<float>&, const options&, const control&);
template fit_result fit(backend<double>&, const options&, const control&);

template <class Scalar>
double update(backend<Scalar>& on, model& model, const update_options& options, std::int32_t* units,
              batches_seen* seen) {
  check_span<double>(on.summary(), model.codebook);
  if (seen == nullptr) return on.update(model, options, units);
  const double weight = on.summary().total_weight;
  update_options scaled = options;
  scaled.rate = seen->next_step(options.rate, weight);
  const double error = on.update(model, scaled, units);
  seen->take(weight);
  return error;
}
template double update(backend<float>&, model&, const update_options&, std::int32_t*, batches_seen*);
template double update(backend<double>&, model&, const update_options&, std::int32_t*, batches_seen*);

}  // namespace shoal::som
