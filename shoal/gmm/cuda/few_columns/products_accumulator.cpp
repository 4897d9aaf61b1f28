// Products on tensor cores while components lie near each other, and another room's kernels where they do not.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/cuda/few_columns/few_columns.hpp>
#include <shoal/gmm/cuda/few_columns/lanes.hpp>
#include <shoal/gmm/cuda/few_columns/product_turns.hpp>
#include <shoal/gmm/cuda/few_columns/products.hpp>
#include <shoal/gmm/cuda/few_columns/products_tuning.hpp>

namespace shoal::gmm::few_columns {
namespace {

// How a shape is worked on. All of it depends on the shape alone, for the bits do.
struct product_plan {
  product_kernel kernel;
  unsigned share = 1;
  unsigned tiles = 0;  // of all components, whole shares
  std::size_t shared_bytes = 0;
  group_plan groups;
  std::size_t lanes = 0;
};

product_kernel find_kernel(covariance_type type, std::size_t columns, unsigned warp_tiles) {
  switch (type) {
    case covariance_type::diag:
      return find_diagonal_product_kernel(columns, warp_tiles);
    case covariance_type::spherical:
      return find_spherical_product_kernel(columns, warp_tiles);
    default:
      return find_full_product_kernel(columns, warp_tiles);
  }
}

std::optional<product_plan> make_plan(const accumulator_shape& shape) {
  const statistics_layout& layout = shape.layout;
  const std::size_t columns = layout.columns();
  const covariance_type type = layout.type();
  if (type == covariance_type::tied || columns < 1 || columns > most_columns || shape.weighted) return std::nullopt;
  if (type == covariance_type::full && columns > most_full_product_columns) return std::nullopt;
  product_plan plan;
  const std::size_t tiles = ceiling(layout.components(), product_components);
  const unsigned most_tiles = most_tiles_of_warp(type, product_columns(type, columns));
  while (plan.share < most_sharing_warps && tiles > plan.share * most_tiles) plan.share *= 2;
  const auto warp_tiles = static_cast<unsigned>(ceiling(tiles, plan.share));
  if (warp_tiles > most_tiles) return std::nullopt;
  plan.tiles = warp_tiles * plan.share;
  plan.kernel = find_kernel(type, columns, warp_tiles);
  plan.shared_bytes = product_shared_bytes(type, columns, plan.tiles, plan.share);
  // What the system keeps for itself of a block's memory.
  constexpr std::size_t system_bytes = 1024;
  const std::size_t blocks = std::min<std::size_t>(
      plan.kernel.blocks, (shape.shared_bytes + system_bytes) / (plan.shared_bytes + system_bytes));
  if (blocks == 0) return std::nullopt;
  const std::size_t places = shape.multiprocessors * blocks;
  const std::size_t teams = product_warps / plan.share, block_rows = product_warps * product_rows;
  plan.groups = plan_groups(
      shape, [&](std::size_t rows) { return ceiling(rows, teams * product_rows); },
      [&](std::size_t rows, std::size_t all) {
        return static_cast<double>(ceiling(all, places)) *
               (static_cast<double>(ceiling(rows, block_rows) * block_rows) + product_group_cost_rows);
      });
  if (plan.groups.unit_groups == 0) return std::nullopt;
  plan.lanes = std::min(places, std::max<std::size_t>(1, plan.groups.groups));
  return plan;
}

struct product_packing {
  covariance_type type;
  unsigned columns;
  unsigned components;
  unsigned tiles;

  void operator()(const prepared_parameters<float>& parameters, const product_mixture& mixture,
                  cudaStream_t stream) const {
    pack_products(parameters, type, columns, components, tiles, mixture, stream);
  }
};

std::unique_ptr<accumulator<float>> make_turns(const accumulator_shape& shape, const product_plan& plan,
                                               std::unique_ptr<accumulator<float>> other) {
  const covariance_type type = shape.layout.type();
  const product_packing pack{type, static_cast<unsigned>(shape.layout.columns()),
                             static_cast<unsigned>(shape.layout.components()), plan.tiles};
  product_arguments arguments;
  arguments.columns = pack.columns;
  arguments.share = plan.share;
  arguments.tiles = plan.tiles;
  return std::make_unique<product_turns<product_arguments, product_packing>>(
      shape, block_launch{plan.kernel.function, 32 * product_warps, plan.lanes, plan.shared_bytes}, plan.groups,
      plan.tiles, product_steps(type, product_columns(type, pack.columns)), arguments, pack, std::move(other));
}

}  // namespace

bool suits_products(const accumulator_shape& shape) {
  return are_products_faster(shape.layout.type(), shape.share_rows, shape.layout.columns(),
                             shape.layout.components()) &&
         make_plan(shape).has_value();
}

std::unique_ptr<accumulator<float>> make_product_accumulator(const accumulator_shape& shape,
                                                             std::unique_ptr<accumulator<float>> other) {
  if (const std::optional<product_plan> plan = make_plan(shape)) {
    return make_turns(shape, *plan, std::move(other));
  }
  throw bad_argument(fmt::format(
      "products of few columns take full, diagonal and spherical covariances without weights, 1 to {} columns, "
      "of full ones 8, and up to 256 components, not {} columns and {} components",
      most_columns, shape.layout.columns(), shape.layout.components()));
}

}  // namespace shoal::gmm::few_columns
