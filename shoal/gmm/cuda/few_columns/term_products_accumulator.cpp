// Products of few columns by any number of components while these lie near each other, and another room's kernels where
// they do not.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/cuda/few_columns/few_columns.hpp>
#include <shoal/gmm/cuda/few_columns/lanes.hpp>
#include <shoal/gmm/cuda/few_columns/product_turns.hpp>
#include <shoal/gmm/cuda/few_columns/term_products.hpp>
#include <shoal/gmm/cuda/few_columns/term_products_tuning.hpp>

namespace shoal::gmm::few_columns {
namespace {

// How a shape is worked on. All of it depends on the shape alone, for the bits do.
struct term_plan {
  const void* function = nullptr;
  unsigned tiles = 0;       // of all components
  unsigned warp_tiles = 0;  // of a warp
  unsigned parts = 1;
  unsigned rounds = 1;
  unsigned warps = term_warps;
  unsigned blocks = term_blocks;  // of a multiprocessor
  bool held = false;              // densities are found once
  std::size_t shared_bytes = 0;
  group_plan groups;
  std::size_t lanes = 0;
};

// Cuts the components among warps so that the busiest warp has the least to do.
void cut_components(term_plan& plan, unsigned least_tiles, unsigned most_tiles) {
  double least = std::numeric_limits<double>::infinity();
  for (unsigned warp_tiles = least_tiles; warp_tiles <= most_tiles; ++warp_tiles) {
    const auto sets = static_cast<unsigned>(ceiling(plan.tiles, warp_tiles));
    unsigned parts = 1;
    while (parts < term_warps && parts < sets) parts *= 2;
    const auto rounds = static_cast<unsigned>(ceiling(sets, parts));
    const double taken = rounds * parts * (warp_tiles + term_tile_cost);
    if (taken > least) continue;
    least = taken;
    plan.warp_tiles = warp_tiles;
    plan.parts = parts;
    plan.rounds = rounds;
  }
}

// The same for warps that have registers for the densities of all components. Returns whether they have.
bool hold_components(term_plan& plan, std::size_t columns) {
  const unsigned warp_tiles = held_tiles(columns, plan.tiles);
  const auto parts = static_cast<unsigned>(ceiling(plan.tiles, warp_tiles));
  if (parts > term_warps) return false;
  plan.held = true;
  plan.warp_tiles = warp_tiles;
  plan.parts = parts;
  plan.tiles = parts * warp_tiles;
  plan.warps = term_warps / parts * parts;
  plan.blocks = term_warps * term_blocks / plan.warps;
  return true;
}

std::optional<term_plan> make_plan(const accumulator_shape& shape) {
  const statistics_layout& layout = shape.layout;
  const std::size_t columns = layout.columns();
  const covariance_type type = layout.type();
  const bool vectors = type == covariance_type::diag || type == covariance_type::spherical;
  if (!vectors || columns < 1 || columns > most_columns || shape.weighted || layout.size() > most_term_sums) {
    return std::nullopt;
  }
  term_plan plan;
  plan.tiles = static_cast<unsigned>(ceiling(layout.components(), product_components));
  const bool fine = shape.precision == precision::float32;
  if (!fine && hold_components(plan, columns)) {
    plan.function = type == covariance_type::diag ? find_diagonal_held_kernel(columns, plan.warp_tiles)
                                                  : find_spherical_held_kernel(columns, plan.warp_tiles);
    plan.shared_bytes = held_shared_bytes(type, columns, plan.warp_tiles);
  } else {
    cut_components(plan, least_term_tiles(type, columns), most_term_tiles(type, columns));
    plan.function = type == covariance_type::diag ? find_diagonal_term_kernel(columns, plan.warp_tiles, fine)
                                                  : find_spherical_term_kernel(columns, plan.warp_tiles, fine);
    plan.shared_bytes = term_shared_bytes(type, columns, plan.warp_tiles);
  }
  if (plan.shared_bytes > shape.shared_bytes) return std::nullopt;
  const std::size_t places = shape.multiprocessors * plan.blocks;
  plan.groups = plan_groups(
      shape,
      [&](std::size_t rows) {
        const bool fits = plan.rounds == 1 || rows <= term_stage_rows;
        return fits ? ceiling(rows, plan.warps / plan.parts * product_rows) : std::numeric_limits<std::size_t>::max();
      },
      [&](std::size_t rows, std::size_t all) {
        return static_cast<double>(ceiling(all, places)) *
               (static_cast<double>(ceiling(rows, 32 * term_warps) * 32 * term_warps) + term_flush_cost_rows);
      });
  if (plan.groups.unit_groups == 0) return std::nullopt;
  plan.lanes = std::min(places, std::max<std::size_t>(1, plan.groups.groups));
  return plan;
}

struct term_packing {
  covariance_type type;
  unsigned columns;
  unsigned components;
  unsigned tiles;
  bool held;

  void operator()(const prepared_parameters<float>& parameters, const product_mixture& mixture,
                  cudaStream_t stream) const {
    pack_terms(parameters, type, columns, components, tiles, held, mixture, stream);
  }
};

std::unique_ptr<accumulator<float>> make_turns(const accumulator_shape& shape, const term_plan& plan,
                                               std::unique_ptr<accumulator<float>> other) {
  const covariance_type type = shape.layout.type();
  const term_packing pack{type, static_cast<unsigned>(shape.layout.columns()),
                          static_cast<unsigned>(shape.layout.components()), plan.tiles, plan.held};
  term_arguments arguments;
  arguments.columns = pack.columns;
  arguments.tiles = plan.tiles;
  arguments.parts = plan.parts;
  arguments.rounds = plan.rounds;
  const unsigned padded = product_columns(type, pack.columns);
  return std::make_unique<product_turns<term_arguments, term_packing>>(
      shape, block_launch{plan.function, 32 * plan.warps, plan.lanes, plan.shared_bytes}, plan.groups, plan.tiles,
      plan.held ? held_steps(type, padded) : product_steps(type, padded), arguments, pack, std::move(other));
}

}  // namespace

bool suits_term_products(const accumulator_shape& shape) {
  return are_terms_faster(shape.precision, shape.share_rows, shape.layout.components()) && make_plan(shape).has_value();
}

std::unique_ptr<accumulator<float>> make_term_product_accumulator(const accumulator_shape& shape,
                                                                  std::unique_ptr<accumulator<float>> other) {
  if (const std::optional<term_plan> plan = make_plan(shape)) {
    return make_turns(shape, *plan, std::move(other));
  }
  throw bad_argument(
      fmt::format("products of few columns by any number of components take diagonal and spherical covariances without "
                  "weights and 1 to {} columns, not {} columns and {} components",
                  most_columns, shape.layout.columns(), shape.layout.components()));
}

}  // namespace shoal::gmm::few_columns
