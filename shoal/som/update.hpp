// One batch step of a map on rows that come in parts.
#pragma once

#include <cstddef>
#include <cstdint>

#include <shoal/core/progress.hpp>
#include <shoal/execution/device_choice.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/som/model.hpp>
#include <shoal/som/options.hpp>

namespace shoal::som {

/// How update() moves the units.
struct update_options {
  som::neighborhood neighborhood = som::neighborhood::gaussian;
  double cutoff = 0;  ///< as in options
  double radius = 1;
  double rate = 1;               ///< the share of a whole epoch's step, in (0, 1]
  std::size_t threads = 0;       ///< as in options
  std::size_t memory_limit = 0;  ///< as in options
  device_choice device;          ///< as in options
};

/// One batch step on rows that come in parts: each unit goes `rate` of the way that an epoch over these rows alone
/// would take it. units[rows] takes the best-matching units of the codebook that came, unless it is null; it is as for
/// predict(). Returns the quantization error of the codebook that came. Throws what predict() throws, and leaves the
/// model as it was when it does.
double update(model& model, const row_source<float>& rows, const update_options& options, std::int32_t* units = nullptr,
              const row_source<float>* weights = nullptr, const control& control = {});
double update(model& model, const row_source<double>& rows, const update_options& options,
              std::int32_t* units = nullptr, const row_source<double>* weights = nullptr, const control& control = {});

}  // namespace shoal::som
