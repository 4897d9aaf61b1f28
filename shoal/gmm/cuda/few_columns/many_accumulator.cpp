// Few columns and many components, for any scalar.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/cuda/few_columns/few_columns.hpp>
#include <shoal/gmm/cuda/few_columns/lanes.hpp>
#include <shoal/gmm/cuda/few_columns/many_components.hpp>
#include <shoal/gmm/cuda/few_columns/many_components_tuning.hpp>

namespace shoal::gmm::few_columns {
namespace {

// How a shape is worked on. All of it depends on the shape alone, for the bits do.
struct many_plan {
  many_kernel kernel;
  std::size_t blocks = 0;  // of a multiprocessor
  std::size_t shared_bytes = 0;
  std::size_t resident_records = 0;
  std::size_t round_components = 0;
  std::size_t row_threads = 0;
  group_plan groups;
  std::size_t lanes = 0;
};

template <class Scalar>
many_kernel kernel_for(const statistics_layout& layout) {
  return layout.has_matrices() ? find_many_matrix_kernel<Scalar>(layout.columns())
                               : find_many_diagonal_kernel<Scalar>(layout.columns());
}

// What the sums of all components cost a thread that has so many of a group's rows for one slice, in terms of one
// comparison.
double moments_cost(const many_kernel& kernel, std::size_t rows, std::size_t components, std::size_t round) {
  const std::size_t slices = kernel.threads / round;
  const double flush = static_cast<double>(kernel.sums) / 4 + many_flush_cost;
  return static_cast<double>(ceiling(components, round)) *
         (many_moment_cost * static_cast<double>(ceiling(rows, slices)) + flush);
}

// Components whose moments a block sums at a time: even shares of them that leave few threads without work.
std::size_t choose_round(const many_kernel& kernel, std::size_t components) {
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t rounds = ceiling(components, kernel.threads); rounds <= components; ++rounds) {
    const std::size_t round = ceiling(components, rounds);
    const double cost = moments_cost(kernel, most_many_rows / 2, components, round);
    if (cost < least) {
      least = cost;
      best = round;
    }
    if (round <= kernel.threads / 16) break;
  }
  return best;
}

// Threads that share a row, of so many.
std::size_t threads_of_row(const many_kernel& kernel, std::size_t rows) {
  if (rows >= kernel.threads) return 1;
  return std::min<std::size_t>(32, std::bit_floor(kernel.threads / rows));
}

template <class Scalar>
std::optional<many_plan> make_plan(const accumulator_shape& shape) {
  // The system keeps 1 KiB for itself in each block.
  constexpr std::size_t system_bytes = 1024;
  const std::size_t components = shape.layout.components();
  many_plan plan;
  plan.kernel = kernel_for<Scalar>(shape.layout);
  const many_kernel& kernel = plan.kernel;
  if (kernel.function == nullptr || components * kernel.sums > most_many_sums) return std::nullopt;
  const std::size_t row_bytes = (kernel.row_elements + 2) * sizeof(Scalar);
  const std::size_t record_bytes = kernel.record * sizeof(Scalar);
  // Far rows of float32 have a term for each component there.
  const std::size_t flush_bytes =
      std::max({kernel.threads * std::max(kernel.flushed_sums * sizeof(Scalar), 2 * sizeof(double)),
                sizeof(Scalar) == 4 ? components * sizeof(double) : 0});
  const std::size_t most_rows = std::min<std::size_t>(most_many_rows, 2 * kernel.threads);
  const std::size_t fixed_bytes = flush_bytes + most_rows * row_bytes + ceiling(most_rows, 128) * 16;
  for (plan.blocks = kernel.blocks; plan.blocks >= 1; --plan.blocks) {
    const std::size_t block_bytes =
        std::min(shape.shared_bytes, (shape.shared_bytes + system_bytes) / plan.blocks - system_bytes);
    if (fixed_bytes + std::min(components, most_many_rows / 4) * record_bytes > block_bytes) continue;
    plan.resident_records = std::min(components, (block_bytes - fixed_bytes) / record_bytes);
    plan.shared_bytes = fixed_bytes + plan.resident_records * record_bytes;
    break;
  }
  if (plan.blocks == 0) return std::nullopt;
  plan.round_components = choose_round(kernel, components);
  const std::size_t places = shape.multiprocessors * plan.blocks;
  const double reload = plan.resident_records == components
                            ? 0
                            : static_cast<double>(components * kernel.record) / static_cast<double>(4 * kernel.threads);
  plan.groups = plan_groups(
      shape,
      // Sums of float64 rows are as good of any number of them.
      [&](std::size_t rows) {
        return sizeof(Scalar) == 4 ? ceiling(rows, kernel.threads / plan.round_components) : std::size_t{1};
      },
      [&](std::size_t rows, std::size_t all) {
        if (rows > most_rows) return std::numeric_limits<double>::infinity();
        const std::size_t turns =
            all <= places ? ceiling(all, shape.multiprocessors) : plan.blocks * ceiling(all, places);
        const double compared = static_cast<double>(
            rows > kernel.threads ? 2 * components : ceiling(components, threads_of_row(kernel, rows)));
        return static_cast<double>(turns) *
               (compared + reload + many_flush_cost + moments_cost(kernel, rows, components, plan.round_components));
      });
  plan.row_threads = threads_of_row(kernel, plan.groups.group_rows);
  plan.lanes = std::min(places, std::max<std::size_t>(1, plan.groups.groups));
  return plan;
}

template <class Scalar>
many_arguments<Scalar> arguments_of(const many_plan& plan) {
  many_arguments<Scalar> arguments;
  arguments.round_components = static_cast<unsigned>(plan.round_components);
  arguments.resident_records = static_cast<unsigned>(plan.resident_records);
  arguments.stage_rows = static_cast<unsigned>(ceiling(plan.groups.group_rows, 32) * 32);
  arguments.row_threads = static_cast<unsigned>(plan.row_threads);
  return arguments;
}

}  // namespace

template <class Scalar>
bool suits_many(const accumulator_shape& shape) {
  return make_plan<Scalar>(shape).has_value();
}
template bool suits_many<float>(const accumulator_shape&);
template bool suits_many<double>(const accumulator_shape&);

template <class Scalar>
bool takes_many(const accumulator_shape& shape) {
  const statistics_layout& layout = shape.layout;
  return are_many_faster(sizeof(Scalar), layout.type(), shape.share_rows, layout.columns(), layout.components()) &&
         suits_many<Scalar>(shape);
}
template bool takes_many<float>(const accumulator_shape&);
template bool takes_many<double>(const accumulator_shape&);

template <class Scalar>
std::unique_ptr<accumulator<Scalar>> make_many_accumulator(const accumulator_shape& shape) {
  if (const std::optional<many_plan> plan = make_plan<Scalar>(shape)) {
    return std::make_unique<lanes_accumulator<Scalar, many_arguments<Scalar>>>(
        shape, block_launch{plan->kernel.function, plan->kernel.threads, plan->lanes, plan->shared_bytes}, plan->groups,
        arguments_of<Scalar>(*plan));
  }
  throw bad_argument(
      fmt::format("the kernels for few columns and many components take 1 to {} columns and {} sums of "
                  "all components, not {} columns and {} components",
                  most_many_columns, most_many_sums, shape.layout.columns(), shape.layout.components()));
}
template std::unique_ptr<accumulator<float>> make_many_accumulator(const accumulator_shape&);
template std::unique_ptr<accumulator<double>> make_many_accumulator(const accumulator_shape&);

}  // namespace shoal::gmm::few_columns
