// Two teams of warps a block, for many rows.
#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/cuda/few_columns/few_columns.hpp>
#include <shoal/gmm/cuda/few_columns/lanes.hpp>
#include <shoal/gmm/cuda/few_columns/teams.hpp>
#include <shoal/gmm/cuda/few_columns/tuning.hpp>

namespace shoal::gmm::few_columns {
namespace {

// How a shape is worked on. All of it depends on the shape alone, for the bits do.
struct team_plan {
  team_kernel kernel;
  std::size_t shared_bytes = 0;
  std::size_t stage_bytes = 0;
  std::size_t term_stride = 0;
  std::size_t slices = 0;
  std::size_t slice_rows = 0;
  group_plan groups;
  std::size_t lanes = 0;
};

team_kernel find_kernel(const statistics_layout& layout, bool small) {
  if (layout.columns() < 1 || layout.columns() > most_columns) return {};
  switch (layout.type()) {
    case covariance_type::diag:
      return find_diagonal_team_kernel(layout.columns(), small);
    case covariance_type::spherical:
      return find_spherical_team_kernel(layout.columns(), small);
    default:
      return find_full_team_kernel(layout.columns(), small);
  }
}

// Elements between the responsibilities of two components beyond the rows of a stage, such that the threads of a warp
// that sum moments read them from as many banks as can be.
std::size_t best_padding(const team_plan& plan, std::size_t shares) {
  constexpr std::size_t banks = 32;
  std::size_t best = 0;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (std::size_t padding = 0; padding < banks; ++padding) {
    std::size_t turns = 0;
    for (std::size_t first = 0; first < plan.kernel.moment_threads; first += banks) {
      std::array<std::size_t, banks> reads{};
      for (std::size_t thread = first; thread < first + banks; ++thread) {
        const std::size_t component = thread % shares * plan.kernel.thread_components;
        ++reads[(component * padding + thread / shares * plan.slice_rows) % banks];
      }
      turns += *std::max_element(reads.begin(), reads.end());
    }
    if (turns >= least) continue;
    least = turns;
    best = padding;
  }
  return best;
}

// Rows of a group that a thread of the moments sums.
std::size_t thread_rows(const team_plan& plan, std::size_t group_rows) {
  return group_rows / plan.kernel.stage_rows * plan.slice_rows +
         ceiling(group_rows % plan.kernel.stage_rows, plan.slices);
}

// So many groups to a unit that the multiprocessors are done at the same time. False when there is no such number.
bool cut_share(const accumulator_shape& shape, team_plan& plan) {
  const std::size_t places = shape.multiprocessors * plan.kernel.blocks;
  plan.groups = plan_groups(
      shape, [&](std::size_t rows) { return thread_rows(plan, rows); },
      [&](std::size_t rows, std::size_t all) {
        // Responsibilities of half a stage take half as long, but not those of less; moments take as long as there are
        // rows.
        const std::size_t half = plan.kernel.stage_rows / 2;
        const double worked = 0.5 * static_cast<double>(ceiling(rows, half) * half + rows);
        return static_cast<double>(ceiling(all, places)) * (worked + group_cost_rows);
      });
  plan.lanes = std::min(places, std::max<std::size_t>(1, plan.groups.groups));
  return plan.groups.unit_groups > 0;
}

std::optional<team_plan> plan_blocks(const accumulator_shape& shape, bool small) {
  const std::size_t components = shape.layout.components();
  team_plan plan;
  plan.kernel = find_kernel(shape.layout, small);
  if (plan.kernel.function == nullptr) return std::nullopt;
  const std::size_t shares = ceiling(components, plan.kernel.thread_components);
  if (shares > plan.kernel.moment_threads) return std::nullopt;
  plan.slices = plan.kernel.moment_threads / shares;
  // Slices of an even number of rows would read rows from the same banks.
  plan.slice_rows = ceiling(plan.kernel.stage_rows, plan.slices) | 1;
  plan.term_stride = plan.kernel.stage_rows + best_padding(plan, shares);
  plan.stage_bytes = ceiling(plan.kernel.stage_bytes + components * plan.term_stride * sizeof(float), 16) * 16;
  plan.shared_bytes =
      2 * plan.stage_bytes + ceiling(shape.layout.size(), 2) * 2 * sizeof(double) +
      (components * plan.kernel.record + plan.kernel.thread_components * plan.kernel.sums * plan.kernel.flush_stride) *
          sizeof(float);
  // What the system keeps for itself of a block's memory, and what a kernel declares itself.
  constexpr std::size_t system_bytes = 1024, own_bytes = 128;
  const std::size_t most =
      !small ? shape.shared_bytes : (shape.shared_bytes + system_bytes) / plan.kernel.blocks - system_bytes - own_bytes;
  if (plan.shared_bytes > most || !cut_share(shape, plan)) return std::nullopt;
  return plan;
}

// Several blocks of a multiprocessor where there are rows and shared memory for all.
std::optional<team_plan> make_plan(const accumulator_shape& shape) {
  if (shape.share_rows >= shape.multiprocessors * least_small_team_rows) {
    if (const std::optional<team_plan> plan = plan_blocks(shape, true)) return plan;
  }
  return plan_blocks(shape, false);
}

team_arguments arguments_of(const team_plan& plan) {
  team_arguments arguments;
  arguments.stage_bytes = static_cast<unsigned>(plan.stage_bytes);
  arguments.term_stride = static_cast<unsigned>(plan.term_stride);
  arguments.slice_rows = static_cast<unsigned>(plan.slice_rows);
  return arguments;
}

}  // namespace

bool suits_teams(const accumulator_shape& shape) { return make_plan(shape).has_value(); }

std::optional<team_use> use_of_teams(const accumulator_shape& shape) {
  const std::optional<team_plan> plan = make_plan(shape);
  // Several blocks of a multiprocessor are not timed yet beside the other rooms.
  if (!plan || plan->kernel.blocks > 1) return std::nullopt;
  return team_use{.expectation_threads = plan->kernel.threads - plan->kernel.moment_threads,
                  .stage_rows = plan->kernel.stage_rows,
                  .slice_rows = plan->slice_rows,
                  .sums = plan->kernel.sums,
                  .components = plan->kernel.thread_components};
}

std::unique_ptr<lanes_owner<float>> make_teams(const accumulator_shape& shape) {
  if (const std::optional<team_plan> plan = make_plan(shape)) {
    return std::make_unique<lanes_accumulator<float, team_arguments>>(
        shape, block_launch{plan->kernel.function, plan->kernel.threads, plan->lanes, plan->shared_bytes}, plan->groups,
        arguments_of(*plan));
  }
  throw bad_argument(
      fmt::format("the kernels for few columns and many rows take 1 to {} columns and as many components as fit into a "
                  "block's shared memory, not {} columns and {} components",
                  most_columns, shape.layout.columns(), shape.layout.components()));
}

std::unique_ptr<accumulator<float>> make_team_accumulator(const accumulator_shape& shape) { return make_teams(shape); }

}  // namespace shoal::gmm::few_columns
