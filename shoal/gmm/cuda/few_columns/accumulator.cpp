// One team of warps a block, for any scalar.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/cuda/few_columns/few_columns.hpp>
#include <shoal/gmm/cuda/few_columns/kernels.hpp>
#include <shoal/gmm/cuda/few_columns/lanes.hpp>
#include <shoal/gmm/cuda/few_columns/origin_places.hpp>
#include <shoal/gmm/cuda/few_columns/tuning.hpp>

namespace shoal::gmm::few_columns {
namespace {

constexpr std::size_t warp = 32;

// How a shape is worked on. All of it depends on the shape alone, for the bits do.
struct block_plan {
  std::size_t threads = 0;
  std::size_t blocks = 0;  // of a multiprocessor
  std::size_t shared_bytes = 0;
  std::size_t resident_records = 0;
  std::size_t stage_rows = 0;
  group_plan groups;
  std::size_t lanes = 0;
  bool may_share_origin = false;
};

template <class Scalar>
compiled_kernel kernel_for(const accumulator_shape& shape) {
  const statistics_layout& layout = shape.layout;
  if (layout.columns() < 1 || layout.columns() > most_columns) return {};
  return layout.has_matrices() ? find_matrix_kernel<Scalar>(layout.columns())
                               : find_diagonal_kernel<Scalar>(layout.columns());
}

std::size_t term_stride(std::size_t components) { return components | 1; }

// Components whose moments a block of `threads` sums at a time: all, or even shares of them.
std::size_t round_components(std::size_t components, std::size_t threads) {
  return ceiling(components, ceiling(components, threads));
}

// Rows that the slowest thread of the moments sums in one group.
std::size_t thread_rows(std::size_t group_rows, std::size_t stage_rows, std::size_t slices) {
  return group_rows / stage_rows * ceiling(stage_rows, slices) + ceiling(group_rows % stage_rows, slices);
}

// Shared memory of a block, stage by stage as long as it allows. Nothing when not even 32 rows fit.
template <class Scalar>
std::optional<block_plan> plan_block(const compiled_kernel& kernel, std::size_t components, std::size_t threads,
                                     std::size_t blocks, std::size_t block_bytes) {
  block_plan plan;
  plan.threads = threads;
  plan.blocks = blocks;
  const std::size_t row_bytes = (kernel.row_elements + 1 + term_stride(components)) * sizeof(Scalar);
  const std::size_t record_bytes = kernel.record * sizeof(Scalar);
  const std::size_t flush_bytes = threads * std::max(kernel.flushed_sums * sizeof(Scalar), 2 * sizeof(double));
  const auto bytes = [&](std::size_t records, std::size_t rows) {
    return records * record_bytes + std::max(rows * row_bytes, flush_bytes) + rows / warp * sizeof(unsigned);
  };
  // At most half of the memory is for parameters, unless that leaves room for a full stage.
  const std::size_t full_stage = kernel.thread_rows * threads;
  std::size_t records = components;
  if (bytes(records, full_stage) > block_bytes) {
    records = std::min(components, std::max<std::size_t>(1, block_bytes / 2 / record_bytes));
  }
  std::size_t rows = full_stage;
  while (rows >= warp && bytes(records, rows) > block_bytes) rows -= warp;
  if (rows < warp) return std::nullopt;
  plan.resident_records = records;
  plan.stage_rows = rows;
  plan.shared_bytes = bytes(records, rows);
  return plan;
}

// So many groups to a unit that the multiprocessors are done at the same time.
void cut_share(const accumulator_shape& shape, std::size_t slices, block_plan& plan) {
  const std::size_t places = shape.multiprocessors * plan.blocks;
  plan.groups = plan_groups(
      shape,
      [&](std::size_t rows) {
        // Float64 sums need no end; those about an origin cost more to end.
        return plan.may_share_origin ? 1 : thread_rows(rows, plan.stage_rows, slices);
      },
      [&](std::size_t rows, std::size_t all) {
        const std::size_t turns =
            all <= places ? ceiling(all, shape.multiprocessors) : plan.blocks * ceiling(all, places);
        return static_cast<double>(turns) * (static_cast<double>(rows) + group_cost_rows) *
               (turns < plan.blocks ? lone_block : 1.0);
      });
  plan.lanes = std::min(places, std::max<std::size_t>(1, plan.groups.groups));
}

// Blocks that are done soonest where warps take tiles of rows by turns.
std::size_t origin_lanes(const accumulator_shape& shape, const block_plan& plan) {
  const std::size_t tiles = std::max<std::size_t>(1, ceiling(shape.share_rows, origin_tile_rows) * shape.data_shards);
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t blocks = 1; blocks <= plan.blocks; ++blocks) {
    const std::size_t turns = ceiling(tiles, shape.multiprocessors * blocks * (plan.threads / warp));
    const double taken = static_cast<double>(turns) * (blocks < plan.blocks ? lone_origin_block : 1);
    if (taken >= least) continue;
    least = taken;
    best = blocks;
  }
  return std::min(shape.multiprocessors * best, tiles);
}

template <class Scalar>
std::optional<block_plan> make_plan(const accumulator_shape& shape, const compiled_kernel& kernel) {
  constexpr std::size_t registers = 65536;
  // The system keeps 1 KiB for itself in each block.
  constexpr std::size_t system_bytes = 1024;
  const std::size_t components = shape.layout.components();
  std::optional<block_plan> best;
  double most = 0;
  for (std::size_t threads = thread_unit; threads <= kernel.most_threads; threads += thread_unit) {
    for (std::size_t blocks = registers / kernel.registers / threads; blocks >= 1; --blocks) {
      const std::optional<block_plan> plan =
          plan_block<Scalar>(kernel, components, threads, blocks,
                             std::min(shape.shared_bytes, (shape.shared_bytes + system_bytes) / blocks - system_bytes));
      if (!plan) continue;
      const std::size_t rounds = ceiling(components, threads);
      const std::size_t round = round_components(components, threads);
      const std::size_t working = blocks * (threads / round) * round;
      const double value = static_cast<double>(working) / static_cast<double>(1 + rounds) *
                           static_cast<double>(std::min(plan->stage_rows, threads)) / static_cast<double>(threads);
      // Of equals the largest blocks, which make the fewest lanes.
      if (value >= most) {
        most = value;
        best = plan;
      }
    }
  }
  if (best) {
    if (kernel.origin_function != nullptr && shape.layout.type() == covariance_type::full &&
        components <= most_origin_components) {
      const origin_places places(static_cast<unsigned>(shape.layout.columns()), static_cast<unsigned>(components),
                                 static_cast<unsigned>(best->threads / warp));
      const std::size_t bytes = std::max(best->shared_bytes, places.size * sizeof(double));
      best->may_share_origin = best->blocks * (bytes + system_bytes) <= shape.shared_bytes + system_bytes;
      if (best->may_share_origin) best->shared_bytes = bytes;
    }
    const std::size_t slices = best->threads / round_components(components, best->threads);
    cut_share(shape, slices, *best);
    if (best->may_share_origin) best->lanes = origin_lanes(shape, *best);
  }
  return best;
}

const void* function_of(const compiled_kernel& kernel, const block_plan& plan, std::size_t columns,
                        std::size_t components) {
  if (!plan.may_share_origin) return kernel.function;
  return components > origin_components ? find_many_origin_kernel(columns) : kernel.origin_function;
}

template <class Scalar>
kernel_arguments<Scalar> arguments_of(const block_plan& plan, std::size_t components) {
  kernel_arguments<Scalar> arguments;
  arguments.round_components = static_cast<unsigned>(round_components(components, plan.threads));
  arguments.resident_records = static_cast<unsigned>(plan.resident_records);
  arguments.stage_rows = static_cast<unsigned>(plan.stage_rows);
  arguments.term_stride = static_cast<unsigned>(term_stride(components));
  return arguments;
}

}  // namespace

template <class Scalar>
bool suits(const accumulator_shape& shape) {
  const compiled_kernel kernel = kernel_for<Scalar>(shape);
  return kernel.function != nullptr && make_plan<Scalar>(shape, kernel).has_value();
}
template bool suits<float>(const accumulator_shape&);
template bool suits<double>(const accumulator_shape&);

template <class Scalar>
std::optional<block_use> use_of_blocks(const accumulator_shape& shape) {
  const compiled_kernel kernel = kernel_for<Scalar>(shape);
  if (kernel.function == nullptr) return std::nullopt;
  const std::optional<block_plan> plan = make_plan<Scalar>(shape, kernel);
  if (!plan) return std::nullopt;
  const std::size_t components = shape.layout.components();
  const std::size_t round = round_components(components, plan->threads);
  return block_use{.threads = plan->threads,
                   .blocks = plan->blocks,
                   .stage_rows = plan->stage_rows,
                   .rounds = ceiling(components, plan->threads),
                   .round_components = round,
                   .slices = plan->threads / round,
                   .flushes = ceiling(kernel.sums, kernel.flushed_sums),
                   .sums = kernel.sums};
}
template std::optional<block_use> use_of_blocks<float>(const accumulator_shape&);
template std::optional<block_use> use_of_blocks<double>(const accumulator_shape&);

template <class Scalar>
std::unique_ptr<lanes_owner<Scalar>> make_blocks(const accumulator_shape& shape) {
  const compiled_kernel kernel = kernel_for<Scalar>(shape);
  if (kernel.function != nullptr) {
    const std::optional<block_plan> plan = make_plan<Scalar>(shape, kernel);
    if (plan) {
      block_launch launch{function_of(kernel, *plan, shape.layout.columns(), shape.layout.components()), plan->threads,
                          plan->lanes, plan->shared_bytes};
      const kernel_arguments<Scalar> arguments = arguments_of<Scalar>(*plan, shape.layout.components());
      if constexpr (sizeof(Scalar) == 8) {
        if (plan->may_share_origin) {
          launch.states = ceiling(origin_kept * plan->threads, shape.layout.size());
          return std::make_unique<lanes_accumulator<Scalar, origin_arguments>>(shape, launch, plan->groups,
                                                                               origin_arguments{arguments});
        }
      }
      return std::make_unique<lanes_accumulator<Scalar, kernel_arguments<Scalar>>>(shape, launch, plan->groups,
                                                                                   arguments);
    }
  }
  throw bad_argument(
      fmt::format("the kernels for few columns take 1 to {} columns and as many components as fit into a block's "
                  "shared memory, not "
                  "{} columns and {} components",
                  most_columns, shape.layout.columns(), shape.layout.components()));
}
template std::unique_ptr<lanes_owner<float>> make_blocks(const accumulator_shape&);
template std::unique_ptr<lanes_owner<double>> make_blocks(const accumulator_shape&);

template <class Scalar>
std::unique_ptr<accumulator<Scalar>> make_accumulator(const accumulator_shape& shape) {
  return make_blocks<Scalar>(shape);
}
template std::unique_ptr<accumulator<float>> make_accumulator(const accumulator_shape&);
template std::unique_ptr<accumulator<double>> make_accumulator(const accumulator_shape&);

}  // namespace shoal::gmm::few_columns
