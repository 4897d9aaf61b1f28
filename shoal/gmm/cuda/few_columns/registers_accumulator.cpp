// Few columns and few components, for many rows: a thread has whole rows.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/cuda/few_columns/few_columns.hpp>
#include <shoal/gmm/cuda/few_columns/lanes.hpp>
#include <shoal/gmm/cuda/few_columns/registers.hpp>
#include <shoal/gmm/cuda/few_columns/registers_tuning.hpp>

namespace shoal::gmm::few_columns {
namespace {

constexpr std::size_t warp = 32;

// How a shape is worked on. All of it depends on the shape alone, for the bits do.
struct register_plan {
  register_kernel kernel;
  std::size_t warps = 0;
  std::size_t shared_bytes = 0;
  group_plan groups;
  std::size_t lanes = 0;
};

register_kernel find_kernel(const statistics_layout& layout) {
  switch (layout.type()) {
    case covariance_type::diag:
      return find_diagonal_register_kernel(layout.columns(), layout.components());
    case covariance_type::spherical:
      return find_spherical_register_kernel(layout.columns(), layout.components());
    default:
      return find_full_register_kernel(layout.columns(), layout.components());
  }
}

std::optional<register_plan> make_plan(const accumulator_shape& shape) {
  if (shape.weighted) return std::nullopt;
  register_plan plan;
  plan.kernel = find_kernel(shape.layout);
  if (plan.kernel.function == nullptr) return std::nullopt;
  plan.warps = plan.kernel.threads / warp;
  plan.shared_bytes = plan.kernel.components * plan.kernel.record * sizeof(float) +
                      plan.warps * ((shape.layout.size() + plan.kernel.components) * sizeof(double) +
                                    register_group_words * sizeof(unsigned));
  if (plan.shared_bytes > shape.shared_bytes) return std::nullopt;
  plan.groups = plan_groups(
      shape, [&](std::size_t rows) { return ceiling(rows, plan.kernel.rows) * (plan.kernel.rows / warp); },
      [&](std::size_t rows, std::size_t all) {
        // Whole stages: others are done with care.
        if (rows % plan.kernel.rows != 0) return std::numeric_limits<double>::infinity();
        const std::size_t each = ceiling(all, shape.multiprocessors);
        const std::size_t rest = each % plan.warps;
        const std::size_t turns = each - rest + (rest == 0 ? 0 : std::max(rest, register_busy_warps));
        return static_cast<double>(turns) * (static_cast<double>(rows) + register_group_rows);
      });
  plan.lanes = std::min(shape.multiprocessors, std::max<std::size_t>(1, ceiling(plan.groups.groups, plan.warps)));
  if (plan.groups.unit_groups == 0) return std::nullopt;
  return plan;
}

}  // namespace

bool suits_registers(const accumulator_shape& shape) { return make_plan(shape).has_value(); }

std::unique_ptr<accumulator<float>> make_register_accumulator(const accumulator_shape& shape) {
  if (const std::optional<register_plan> plan = make_plan(shape)) {
    return std::make_unique<lanes_accumulator<float, register_arguments>>(
        shape, block_launch{plan->kernel.function, plan->kernel.threads, plan->lanes, plan->shared_bytes, plan->warps},
        plan->groups, register_arguments{});
  }
  throw bad_argument(
      fmt::format("the kernels for few columns and few components take unweighted rows whose sums fit into a thread's "
                  "registers, not {} columns and {} components",
                  shape.layout.columns(), shape.layout.components()));
}

}  // namespace shoal::gmm::few_columns
