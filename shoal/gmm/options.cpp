#include <shoal/gmm/options.hpp>

#include <bit>
#include <cmath>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/model.hpp>

namespace shoal::gmm {
namespace {

void require(bool holds, const std::string& message) {
  if (!holds) throw bad_argument(message);
}

void validate_start(const options& options, std::size_t columns) {
  const model& start = options.start;
  require(start.components != 0, "initialization from a model needs options.start, and it is empty");
  validate_model(start);
  require(start.columns == columns,
          fmt::format("the start model has {} columns and the data have {}", start.columns, columns));
  require(start.components == options.components,
          fmt::format("the start model has {} components and {} were asked for", start.components, options.components));
  require(start.covariance_type == options.covariance_type,
          "the start model's covariance type is not the one asked for");
}

}  // namespace

void validate_options(const options& options, std::size_t columns) {
  require(options.components >= 1, "components must be at least 1; got 0");
  require(std::isfinite(options.tolerance) && options.tolerance >= 0,
          fmt::format("tolerance must be finite and not negative; got {}", options.tolerance));
  require(std::isfinite(options.regularization) && options.regularization >= 0,
          fmt::format("regularization must be finite and not negative; got {}", options.regularization));
  require(options.restarts >= 1, "restarts must be at least 1; got 0");
  require(std::isfinite(options.checkpoint_seconds) && options.checkpoint_seconds >= 0,
          fmt::format("checkpoint_seconds must be finite and not negative; got {}", options.checkpoint_seconds));
  if (options.init == initialization::model) validate_start(options, columns);
}

std::uint64_t fingerprint(const model& model) {
  constexpr std::uint64_t prime = 0x100000001b3u;  // FNV-1a over 64-bit words
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto take = [&](std::uint64_t word) {
    hash = (hash ^ word) * prime;
    hash ^= hash >> 32;
  };
  take(static_cast<std::uint64_t>(model.covariance_type));
  take(model.components);
  take(model.columns);
  for (const auto* part : {&model.weights, &model.means, &model.covariances}) {
    for (const double value : *part) take(std::bit_cast<std::uint64_t>(value));
  }
  return hash;
}

}  // namespace shoal::gmm
