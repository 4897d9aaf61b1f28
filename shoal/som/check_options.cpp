#include <shoal/som/check_options.hpp>

#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/som/check_model.hpp>

namespace shoal::som {
namespace {

void check_cutoff(double cutoff) {
  if (cutoff >= 0 && std::isfinite(cutoff)) return;
  throw bad_argument(fmt::format("the cut-off must be finite and not negative; got {}", cutoff));
}

void check_range(std::string_view name, range range, decay decay) {
  if (!(range.first >= 0) || !(range.last >= 0) || !std::isfinite(range.first) || !std::isfinite(range.last)) {
    throw bad_argument(
        fmt::format("the {} must be finite and not negative; got {} to {}", name, range.first, range.last));
  }
  if (decay != decay::linear && !(range.first > 0 && range.last > 0)) {
    throw bad_argument(
        fmt::format("the {} from {} to {} reaches 0; only linear decay can", name, range.first, range.last));
  }
}

void check_rate(double rate) {
  if (rate > 0 && rate <= 1) return;
  throw bad_argument(fmt::format("the rate must be above 0 and at most 1; got {}", rate));
}

}  // namespace

void check_options(const options& options) {
  check_shape(options.width, options.height, options.lattice, options.toroidal);
  check_cutoff(options.cutoff);
  if (options.epochs == 0) throw bad_argument("epochs must be at least 1; got 0");
  if (options.radius) check_range("radius", *options.radius, options.radius_decay);
  if (options.training == training::batch) return;
  check_range("rate", options.rate, options.rate_decay);
  check_rate(options.rate.first);
  check_rate(options.rate.last);
  if (!options.device.on_host()) {
    throw bad_argument(
        "online training runs on the host: a step depends on the row before it; choose batch training or the device "
        "cpu");
  }
}

void check_options(const update_options& options) {
  check_cutoff(options.cutoff);
  if (!(options.radius >= 0) || !std::isfinite(options.radius)) {
    throw bad_argument(fmt::format("the radius must be finite and not negative; got {}", options.radius));
  }
  check_rate(options.rate);
}

void check_codebook(const options& options, std::size_t columns) {
  const std::size_t units = options.width * options.height, expected = units * columns;
  if (options.codebook.size() != expected) {
    throw bad_argument(fmt::format("the first codebook must be {} values ({} units x {} columns); got {}", expected,
                                   units, columns, options.codebook.size()));
  }
  for (std::size_t i = 0; i < expected; ++i) {
    if (std::isfinite(options.codebook[i])) continue;
    throw bad_argument(fmt::format("first codebook: unit {}, column {} (counting from 0) is {}; it must be finite",
                                   i / columns, i % columns, options.codebook[i]));
  }
}

}  // namespace shoal::som
