// Full covariances of few columns and many components, which the warps of a team divide, while the components lie near
// each other, and another room's kernels where they do not.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/gmm/cuda/few_columns/circle_products.hpp>
#include <shoal/gmm/cuda/few_columns/circle_tuning.hpp>
#include <shoal/gmm/cuda/few_columns/few_columns.hpp>
#include <shoal/gmm/cuda/few_columns/lanes.hpp>
#include <shoal/gmm/cuda/few_columns/product_turns.hpp>

namespace shoal::gmm::few_columns {
namespace {

// How a shape is worked on. All of it depends on the shape alone, for the bits do.
struct circle_plan {
  circle_sizes sizes{};
  unsigned parts = 0;
  unsigned teams = 0;
  std::size_t shared_bytes = 0;
  group_plan groups;
  std::size_t lanes = 0;

  unsigned tiles() const { return parts * sizes.tiles(); }
};

// As many teams as have warps and shared memory.
bool cut_block(circle_plan& plan, const accumulator_shape& shape) {
  const auto needed = static_cast<unsigned>(ceiling(shape.layout.components(), plan.sizes.components()));
  plan.parts = std::max(needed, least_circle_parts);
  plan.sizes.large = plan.parts > plan.sizes.warps();
  for (plan.teams = plan.sizes.warps() / plan.parts; plan.teams >= 1; --plan.teams) {
    plan.shared_bytes = circle_shared_bytes(plan.sizes, plan.parts, plan.teams);
    if (plan.shared_bytes <= shape.shared_bytes) return true;
  }
  return false;
}

std::optional<circle_plan> make_plan(const accumulator_shape& shape) {
  const statistics_layout& layout = shape.layout;
  const std::size_t columns = layout.columns();
  if (layout.type() != covariance_type::full || columns < least_warp_product_columns ||
      columns > most_warp_product_columns || shape.weighted) {
    return std::nullopt;
  }
  const bool fine = shape.precision == precision::float32;
  circle_plan plan;
  plan.sizes = {warp_circle_of(columns), fine ? 2U : 1U, false};
  if (!cut_block(plan, shape)) return std::nullopt;
  const std::size_t blocks = shape.multiprocessors, stage_rows = plan.sizes.stage_rows() * plan.teams;
  plan.groups = plan_groups(
      shape, [&](std::size_t rows) { return fine ? ceiling(rows, stage_rows) : std::size_t{1}; },
      [&](std::size_t rows, std::size_t all) {
        return static_cast<double>(ceiling(all, blocks)) *
               (static_cast<double>(ceiling(rows, stage_rows) * stage_rows) +
                circle_flush_cost_rows * static_cast<double>(plan.teams));
      });
  if (plan.groups.unit_groups == 0) return std::nullopt;
  plan.lanes = std::min(blocks, std::max<std::size_t>(1, plan.groups.groups));
  return plan;
}

struct circle_packing {
  unsigned columns;
  unsigned components;
  unsigned tiles;
  cuda::device_buffer<float> deviations;

  void operator()(const prepared_parameters<float>& parameters, const product_mixture& mixture, cudaStream_t stream) {
    pack_circle(parameters, columns, components, tiles, deviations.data(), mixture, stream);
  }
};

std::unique_ptr<accumulator<float>> make_turns(const accumulator_shape& shape, const circle_plan& plan,
                                               std::unique_ptr<accumulator<float>> other) {
  const auto columns = static_cast<unsigned>(shape.layout.columns());
  const auto components = static_cast<unsigned>(shape.layout.components());
  circle_arguments arguments;
  arguments.columns = columns;
  arguments.parts = plan.parts;
  arguments.teams = plan.teams;
  circle_packing pack{columns, components, plan.tiles(),
                      cuda::device_buffer<float>(std::size_t{components} * most_columns)};
  return std::make_unique<product_turns<circle_arguments, circle_packing>>(
      shape,
      block_launch{find_circle_kernel(plan.sizes), std::size_t{32} * plan.parts * plan.teams, plan.lanes,
                   plan.shared_bytes},
      plan.groups, plan.tiles(), plan.sizes.circle.steps(), arguments, std::move(pack), std::move(other));
}

}  // namespace

const void* find_circle_kernel(const circle_sizes& sizes) {
  if (sizes.circle.columns == narrow_warp_columns) return find_circle_kernel_of_eight(sizes.terms);
  return sizes.circle.columns == 12 ? find_circle_kernel_of_twelve(sizes.terms)
                                    : find_circle_kernel_of_sixteen(sizes.terms, sizes.large);
}

bool suits_circles(const accumulator_shape& shape) {
  return are_circles_faster(shape.precision, shape.share_rows, shape.layout.columns(), shape.layout.components()) &&
         make_plan(shape).has_value();
}

std::unique_ptr<accumulator<float>> make_circle_accumulator(const accumulator_shape& shape,
                                                            std::unique_ptr<accumulator<float>> other) {
  if (const std::optional<circle_plan> plan = make_plan(shape)) {
    return make_turns(shape, *plan, std::move(other));
  }
  throw bad_argument(fmt::format(
      "products whose warps divide components take full covariances without weights, {} to {} columns and "
      "some 256 components, not {} columns and {} components",
      least_warp_product_columns, most_warp_product_columns, shape.layout.columns(), shape.layout.components()));
}

}  // namespace shoal::gmm::few_columns
