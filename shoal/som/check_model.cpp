#include <shoal/som/check_model.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

namespace shoal::som {
namespace {

// Units are numbered in 32 bits.
constexpr std::size_t most_units = std::numeric_limits<std::int32_t>::max();

}  // namespace

void check_shape(std::size_t width, std::size_t height, lattice lattice, bool toroidal) {
  if (width == 0 || height == 0) {
    throw bad_argument(fmt::format("a map needs at least one unit in width and height; got {} x {}", width, height));
  }
  if (width > most_units / height) {
    throw bad_argument(fmt::format("a map has at most {} units; got {} x {}", most_units, width, height));
  }
  if (toroidal && lattice == lattice::hexagonal && height % 2 != 0) {
    throw bad_argument(fmt::format(
        "a toroidal hexagonal map needs an even height, so that its last row fits its first; got {}", height));
  }
}

void check_model(const model& model) {
  check_shape(model.width, model.height, model.lattice, model.toroidal);
  if (model.columns == 0 || model.codebook.size() / model.columns != model.units() ||
      model.codebook.size() % model.columns != 0) {
    throw bad_argument(fmt::format("the model has {} codebook values for {} x {} units and {} columns",
                                   model.codebook.size(), model.width, model.height, model.columns));
  }
  for (std::size_t i = 0; i < model.codebook.size(); ++i) {
    if (std::isfinite(model.codebook[i])) continue;
    throw bad_argument(fmt::format("the model's unit {}, column {} (counting from 0) is {}", i / model.columns,
                                   i % model.columns, model.codebook[i]));
  }
}

void check_model(const model& model, std::size_t columns) {
  check_model(model);
  if (model.columns == columns) return;
  throw bad_argument(
      fmt::format("the model has {} columns and the data have {}; choose the columns that the model was fitted to",
                  model.columns, columns));
}

}  // namespace shoal::som
