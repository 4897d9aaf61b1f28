// How blocks of the kernels for tied mixtures of few rows share rows, columns and components.
#include <algorithm>
#include <cstddef>
#include <iterator>

#include <shoal/gmm/cuda/tied/linear.hpp>

namespace shoal::gmm::tied {
namespace {

constexpr std::size_t ceiling(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

// The narrowest that holds the columns of each of those warps, or the widest for so many tiles.
unsigned width_for(std::size_t columns, unsigned tiles, unsigned warps) {
  return *std::find_if(std::begin(linear_widths), std::end(linear_widths),
                       [&](unsigned width) { return width == most_linear_width(tiles) || width * warps >= columns; });
}

// Most tiles of components for which a warp has room beside all columns; 0: none.
unsigned most_whole_tiles(std::size_t columns) {
  unsigned tiles = most_linear_tiles;
  while (tiles > 0 && most_linear_width(tiles) < columns) --tiles;
  return tiles;
}

}  // namespace

linear_plan plan_linear(std::size_t rows, std::size_t columns, std::size_t components, std::size_t multiprocessors) {
  linear_plan plan;
  const std::size_t tiles = ceiling(components, 16),
                    row_tiles = std::max<std::size_t>(1, ceiling(rows, linear_tile_rows));
  if (const unsigned most_tiles = most_whole_tiles(columns); most_tiles > 0) {
    // As many warps to a row as there would be without one otherwise.
    const std::size_t idle = std::max<std::size_t>(1, multiprocessors * most_linear_warps / row_tiles);
    const std::size_t warps = std::min({tiles, idle, std::size_t{most_linear_warps}});
    plan.tiles = static_cast<unsigned>(std::min<std::size_t>(ceiling(tiles, warps), most_tiles));
    plan.warps_across = static_cast<unsigned>(ceiling(tiles, plan.tiles));
    plan.shares_components = plan.warps_across > 1;
    plan.width = width_for(columns, plan.tiles, 1);
  } else {
    plan.tiles = static_cast<unsigned>(std::min<std::size_t>(tiles, most_linear_tiles));
    plan.warps_across = static_cast<unsigned>(ceiling(columns, most_linear_width(plan.tiles)));
    plan.width = width_for(columns, plan.tiles, plan.warps_across);
  }
  const std::size_t most = std::max<std::size_t>(1, most_linear_warps / plan.warps_across);
  const std::size_t places = multiprocessors * linear_blocks(plan.tiles, plan.width);
  plan.warps_down = static_cast<unsigned>(std::min(most, ceiling(row_tiles, places)));
  const std::size_t blocks = std::min(places, ceiling(row_tiles, plan.warps_down));
  plan.lanes = static_cast<unsigned>(blocks * plan.warps_down);
  return plan;
}

std::size_t linear_shared_bytes(const linear_plan& plan) {
  const std::size_t rows = linear_tile_rows * (linear_row_stride(plan.width) + linear_weight_stride(plan.tiles));
  return sizeof(double) *
         (std::size_t{plan.components()} * plan.stride() + plan.columns() + plan.warps_across * plan.warps_down * rows +
          std::size_t{plan.warps_down} * plan.components());
}

bool can_plan_linear(const linear_plan& plan, std::size_t columns, std::size_t components) {
  return plan.components() >= components && plan.columns() >= columns && plan.warps_across <= most_linear_warps;
}

}  // namespace shoal::gmm::tied
