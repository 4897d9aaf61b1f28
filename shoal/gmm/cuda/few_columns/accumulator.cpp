#include <shoal/gmm/cuda/few_columns/accumulator.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/early_start.hpp>
#include <shoal/gmm/cuda/few_columns/kernel.hpp>
#include <shoal/gmm/cuda/few_columns/tuning.hpp>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm {
namespace {

constexpr std::size_t warp = 32;

// How a shape is worked on. All of it depends on the shape alone, for the bits do.
struct small_plan {
  std::size_t threads = 0;
  std::size_t blocks = 0;  // of a multiprocessor
  std::size_t shared_bytes = 0;
  std::size_t resident_records = 0;
  std::size_t stage_rows = 0;
  std::size_t group_rows = 0;
  std::size_t unit_groups = 0;
  std::size_t lanes = 0;
  std::size_t single_precision_slices = 0;
};

std::size_t ceiling(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

template <class Scalar>
small_kernel find_kernel(const accumulator_shape& shape) {
  const statistics_layout& layout = shape.layout;
  if (layout.columns() < 1 || layout.columns() > most_small_columns) return {};
  return layout.has_matrices() ? find_small_matrix_kernel<Scalar>(layout.columns())
                               : find_small_diagonal_kernel<Scalar>(layout.columns());
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
std::optional<small_plan> plan_block(const small_kernel& kernel, std::size_t components, std::size_t threads,
                                     std::size_t blocks, std::size_t block_bytes) {
  small_plan plan;
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

// Groups, so many to a unit that the multiprocessors are done at the same time and no thread sums more than
// most_lane_rows rows.
void plan_groups(std::size_t share_rows, std::size_t multiprocessors, std::size_t slices, small_plan& plan) {
  const std::size_t places = multiprocessors * plan.blocks;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t groups = 1; groups <= cuda::piece_unit / warp; ++groups) {
    const std::size_t rows = ceiling(cuda::piece_unit, groups);
    if (ceiling(cuda::piece_unit, rows) != groups) continue;
    if (thread_rows(rows, plan.stage_rows, slices) > most_lane_rows) continue;
    const std::size_t all = share_rows / cuda::piece_unit * groups + ceiling(share_rows % cuda::piece_unit, rows);
    const std::size_t turns = all <= places ? ceiling(all, multiprocessors) : plan.blocks * ceiling(all, places);
    const double time = static_cast<double>(turns) * (static_cast<double>(rows) + group_cost_rows) *
                        (turns < plan.blocks ? lone_block : 1.0);
    if (time >= least) continue;
    least = time;
    plan.unit_groups = groups;
    plan.group_rows = rows;
    plan.lanes = std::min(places, std::max<std::size_t>(1, all));
  }
  plan.single_precision_slices =
      std::max<std::size_t>(1, most_lane_rows / thread_rows(plan.group_rows, plan.stage_rows, slices));
}

template <class Scalar>
std::optional<small_plan> make_plan(const accumulator_shape& shape, const small_kernel& kernel) {
  constexpr std::size_t registers = 65536;
  // The system keeps 1 KiB for itself in each block.
  constexpr std::size_t system_bytes = 1024;
  const std::size_t components = shape.layout.components();
  std::optional<small_plan> best;
  double most = 0;
  for (std::size_t threads = small_thread_unit; threads <= kernel.most_threads; threads += small_thread_unit) {
    for (std::size_t blocks = registers / kernel.registers / threads; blocks >= 1; --blocks) {
      const std::optional<small_plan> plan =
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
    const std::size_t slices = best->threads / round_components(components, best->threads);
    plan_groups(shape.share_rows, shape.multiprocessors, slices, *best);
  }
  return best;
}

template <class Scalar>
class small_accumulator final : public device_accumulator<Scalar> {
 public:
  small_accumulator(const accumulator_shape& shape, const small_kernel& kernel, const small_plan& plan)
      : layout_(shape.layout), kernel_(kernel), plan_(plan), lanes_(plan.lanes * shape.layout.size()) {
    cuda::check(cudaFuncSetAttribute(kernel_.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(plan_.shared_bytes)),
                "reserve shared memory for the mixture's kernel");
    cuda::check(cudaFuncSetAttribute(kernel_.function, cudaFuncAttributePreferredSharedMemoryCarveout,
                                     cudaSharedmemCarveoutMaxShared),
                "divide the memory of a multiprocessor");
    // Merging reads lanes before it knows whether a stopped kernel has left them as they were.
    lanes_.fill_with_zeros();
  }

  void clear(const device_parameters<Scalar>&, cudaStream_t) override { fresh_ = true; }

  void add(const cuda::device_piece<Scalar>& piece, const device_parameters<Scalar>& parameters,
           cudaStream_t stream) override {
    const std::size_t columns = layout_.columns();
    small_arguments<Scalar> arguments;
    arguments.parameters = parameters;
    arguments.rows = piece.rows;
    arguments.weights = piece.weights;
    arguments.lanes = lanes_.data();
    arguments.statistics = layout_.size();
    arguments.shared_triangle = layout_.type() == covariance_type::tied ? layout_.shared() : 0;
    arguments.factor_stride = layout_.type() == covariance_type::tied ? 0 : columns * columns;
    arguments.count = piece.count;
    arguments.first_unit = piece.share_first / cuda::piece_unit;
    arguments.components = static_cast<unsigned>(layout_.components());
    arguments.round_components = static_cast<unsigned>(round_components(layout_.components(), plan_.threads));
    arguments.resident_records = static_cast<unsigned>(plan_.resident_records);
    arguments.stage_rows = static_cast<unsigned>(plan_.stage_rows);
    arguments.term_stride = static_cast<unsigned>(term_stride(layout_.components()));
    arguments.group_rows = static_cast<unsigned>(plan_.group_rows);
    arguments.unit_groups = static_cast<unsigned>(plan_.unit_groups);
    arguments.single_precision_slices = static_cast<unsigned>(plan_.single_precision_slices);
    arguments.fresh = fresh_;
    cudaLaunchAttribute attribute{};
    cudaLaunchConfig_t configuration{};
    configuration.gridDim = dim3(static_cast<unsigned>(plan_.lanes));
    configuration.blockDim = dim3(static_cast<unsigned>(plan_.threads));
    configuration.dynamicSmemBytes = plan_.shared_bytes;
    configuration.stream = stream;
    cuda::start_early(configuration, attribute);
    void* passed[] = {&arguments};
    cuda::check(cudaLaunchKernelExC(&configuration, kernel_.function, passed),
                "launch the mixture's kernel for few columns");
    fresh_ = false;
  }

  void merge(double* statistics, const device_parameters<Scalar>& parameters, cudaStream_t stream) override {
    merge_lanes(lanes_.data(), fresh_ ? 0 : plan_.lanes, layout_.size(), statistics, parameters.stopped, stream);
  }

 private:
  statistics_layout layout_;
  small_kernel kernel_;
  small_plan plan_;
  cuda::device_buffer<double> lanes_;
  bool fresh_ = true;  // what the lanes hold does not count
};

}  // namespace

template <class Scalar>
bool fits_small_accumulator(const accumulator_shape& shape) {
  const small_kernel kernel = find_kernel<Scalar>(shape);
  return kernel.function != nullptr && make_plan<Scalar>(shape, kernel).has_value();
}
template bool fits_small_accumulator<float>(const accumulator_shape&);
template bool fits_small_accumulator<double>(const accumulator_shape&);

template <class Scalar>
std::unique_ptr<device_accumulator<Scalar>> make_small_accumulator(const accumulator_shape& shape) {
  const small_kernel kernel = find_kernel<Scalar>(shape);
  if (kernel.function != nullptr) {
    const std::optional<small_plan> plan = make_plan<Scalar>(shape, kernel);
    if (plan) return std::make_unique<small_accumulator<Scalar>>(shape, kernel, *plan);
  }
  throw bad_argument(
      fmt::format("the kernels for few columns take 1 to {} columns and as many components as fit into a block's "
                  "shared memory, not "
                  "{} columns and {} components",
                  most_small_columns, shape.layout.columns(), shape.layout.components()));
}
template std::unique_ptr<device_accumulator<float>> make_small_accumulator(const accumulator_shape&);
template std::unique_ptr<device_accumulator<double>> make_small_accumulator(const accumulator_shape&);

}  // namespace shoal::gmm
