#include <shoal/gmm/check_options.hpp>

#include <bit>
#include <cmath>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/check_model.hpp>

namespace shoal::gmm {
namespace {

void require(bool holds, const std::string& message) {
  if (!holds) throw bad_argument(message);
}

void validate_start(const options& options, std::size_t columns) {
  const model& start = options.start;
  require(start.components != 0, "initialization from a model needs options.start; it is empty");
  validate_model(start);
  require(start.columns == columns,
          fmt::format("the start model has {} columns; the data have {}", start.columns, columns));
  require(start.components == options.components,
          fmt::format("the start model has {} components; components is {}", start.components, options.components));
  require(start.covariance_type == options.covariance_type, "covariance_type must be that of the start model");
}

void validate_algorithm(const options& options) {
  const bool batch = options.algorithm == algorithm::batch;
  require(batch || options.acceleration == acceleration::none,
          fmt::format("acceleration squarem needs algorithm batch; got {}", name_of(options.algorithm)));
  const chunk_options& chunks = options.chunks;
  require(std::isfinite(chunks.threshold) && chunks.threshold >= 0,
          fmt::format("chunks.threshold must be finite and not negative; got {}", chunks.threshold));
  require(chunks.rebuild_passes >= 1, "chunks.rebuild_passes must be at least 1; got 0");
  require(options.algorithm == algorithm::asynchronous ||
              !(chunks.threshold > 0 || chunks.memberships || chunks.local_models),
          fmt::format("chunks.threshold, memberships and local_models need algorithm asynchronous; got {}",
                      name_of(options.algorithm)));
  require(std::isfinite(options.step_delay) && options.step_delay >= 1,
          fmt::format("step_delay must be finite and at least 1; got {}", options.step_delay));
  require(options.step_exponent > 0.5 && options.step_exponent <= 1,
          fmt::format("step_exponent must be greater than 0.5 and at most 1; got {}", options.step_exponent));
}

}  // namespace

std::string_view name_of(algorithm algorithm) {
  switch (algorithm) {
    case algorithm::batch:
      return "batch";
    case algorithm::incremental:
      return "incremental";
    case algorithm::asynchronous:
      return "asynchronous";
    case algorithm::stepwise:
      return "stepwise";
  }
  throw bad_argument("unknown algorithm");
}

std::string_view name_of(acceleration acceleration) {
  return acceleration == acceleration::squarem ? "squarem" : "none";
}

void validate_options(const options& options, std::size_t columns) {
  require(options.components >= 1, "components must be at least 1; got 0");
  require(std::isfinite(options.tolerance) && options.tolerance >= 0,
          fmt::format("tolerance must be finite and not negative; got {}", options.tolerance));
  require(std::isfinite(options.regularization) && options.regularization >= 0,
          fmt::format("regularization must be finite and not negative; got {}", options.regularization));
  require(options.restarts >= 1, "restarts must be at least 1; got 0");
  require(std::isfinite(options.checkpoint_seconds) && options.checkpoint_seconds >= 0,
          fmt::format("checkpoint_seconds must be finite and not negative; got {}", options.checkpoint_seconds));
  validate_algorithm(options);
  if (options.init == initialization::model) validate_start(options, columns);
}

}  // namespace shoal::gmm
