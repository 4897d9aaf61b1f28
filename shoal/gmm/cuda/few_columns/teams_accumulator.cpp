#include <shoal/gmm/cuda/few_columns/teams_accumulator.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/early_start.hpp>
#include <shoal/gmm/cuda/few_columns/kernel.hpp>
#include <shoal/gmm/cuda/few_columns/teams.hpp>
#include <shoal/gmm/cuda/few_columns/tuning.hpp>
#include <shoal/gmm/cuda/tuning.hpp>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm {
namespace {

// How a shape is worked on. All of it depends on the shape alone, for the bits do.
struct team_plan {
  team_kernel kernel;
  std::size_t shared_bytes = 0;
  std::size_t stage_bytes = 0;
  std::size_t term_stride = 0;
  std::size_t slices = 0;
  std::size_t slice_rows = 0;
  std::size_t group_rows = 0;
  std::size_t unit_groups = 0;
  std::size_t lanes = 0;
  std::size_t single_precision_slices = 0;
};

std::size_t ceiling(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

team_kernel find_kernel(const statistics_layout& layout) {
  if (layout.columns() < 1 || layout.columns() > most_small_columns) return {};
  switch (layout.type()) {
    case covariance_type::diag:
      return find_diagonal_team_kernel(layout.columns());
    case covariance_type::spherical:
      return find_spherical_team_kernel(layout.columns());
    default:
      return find_full_team_kernel(layout.columns());
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

// Groups, so many to a unit that the multiprocessors are done at the same time and no thread sums more than
// most_lane_rows rows. False when there is no such number.
bool plan_groups(const accumulator_shape& shape, team_plan& plan) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t groups = 1; groups <= cuda::piece_unit / 32; ++groups) {
    const std::size_t rows = ceiling(cuda::piece_unit, groups);
    if (ceiling(cuda::piece_unit, rows) != groups || thread_rows(plan, rows) > most_lane_rows) continue;
    const std::size_t all =
        shape.share_rows / cuda::piece_unit * groups + ceiling(shape.share_rows % cuda::piece_unit, rows);
    // Responsibilities of half a stage take half as long, but not those of less; moments take as long as there are
    // rows.
    const std::size_t half = plan.kernel.stage_rows / 2;
    const double worked = 0.5 * static_cast<double>(ceiling(rows, half) * half + rows);
    const double time = static_cast<double>(ceiling(all, shape.multiprocessors)) * (worked + group_cost_rows);
    if (time >= least) continue;
    least = time;
    plan.unit_groups = groups;
    plan.group_rows = rows;
    plan.lanes = std::min(shape.multiprocessors, std::max<std::size_t>(1, all));
  }
  return plan.unit_groups > 0;
}

std::optional<team_plan> make_plan(const accumulator_shape& shape) {
  const std::size_t components = shape.layout.components();
  team_plan plan;
  plan.kernel = find_kernel(shape.layout);
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
  if (plan.shared_bytes > shape.shared_bytes || !plan_groups(shape, plan)) return std::nullopt;
  plan.single_precision_slices =
      std::max<std::size_t>(1, most_lane_rows / std::max<std::size_t>(1, thread_rows(plan, plan.group_rows)));
  return plan;
}

class team_accumulator final : public device_accumulator<float> {
 public:
  team_accumulator(const accumulator_shape& shape, const team_plan& plan)
      : layout_(shape.layout), plan_(plan), lanes_(plan.lanes * shape.layout.size()) {
    cuda::check(cudaFuncSetAttribute(plan_.kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(plan_.shared_bytes)),
                "reserve shared memory for the mixture's kernel");
    cuda::check(cudaFuncSetAttribute(plan_.kernel.function, cudaFuncAttributePreferredSharedMemoryCarveout,
                                     cudaSharedmemCarveoutMaxShared),
                "divide the memory of a multiprocessor");
    // Merging reads lanes before it knows whether a stopped kernel has left them as they were.
    lanes_.fill_with_zeros();
  }

  void clear(const device_parameters<float>&, cudaStream_t) override { fresh_ = true; }

  void add(const cuda::device_piece<float>& piece, const device_parameters<float>& parameters,
           cudaStream_t stream) override {
    const std::size_t columns = layout_.columns();
    team_arguments arguments;
    arguments.parameters = parameters;
    arguments.rows = piece.rows;
    arguments.weights = piece.weights;
    arguments.lanes = lanes_.data();
    arguments.shared_triangle = layout_.type() == covariance_type::tied ? layout_.shared() : 0;
    arguments.factor_stride = layout_.type() == covariance_type::tied ? 0 : columns * columns;
    arguments.count = piece.count;
    arguments.first_unit = static_cast<unsigned>(piece.share_first / cuda::piece_unit);
    arguments.statistics = static_cast<unsigned>(layout_.size());
    arguments.components = static_cast<unsigned>(layout_.components());
    arguments.stage_bytes = static_cast<unsigned>(plan_.stage_bytes);
    arguments.term_stride = static_cast<unsigned>(plan_.term_stride);
    arguments.slice_rows = static_cast<unsigned>(plan_.slice_rows);
    arguments.group_rows = static_cast<unsigned>(plan_.group_rows);
    arguments.unit_groups = static_cast<unsigned>(plan_.unit_groups);
    arguments.single_precision_slices = static_cast<unsigned>(plan_.single_precision_slices);
    arguments.fresh = fresh_;
    cudaLaunchAttribute attribute{};
    cudaLaunchConfig_t configuration{};
    configuration.gridDim = dim3(static_cast<unsigned>(plan_.lanes));
    configuration.blockDim = dim3(plan_.kernel.threads);
    configuration.dynamicSmemBytes = plan_.shared_bytes;
    configuration.stream = stream;
    cuda::start_early(configuration, attribute);
    void* passed[] = {&arguments};
    cuda::check(cudaLaunchKernelExC(&configuration, plan_.kernel.function, passed),
                "launch the mixture's kernel for few columns and many rows");
    fresh_ = false;
  }

  void merge(double* statistics, const device_parameters<float>& parameters, cudaStream_t stream) override {
    merge_lanes(lanes_.data(), fresh_ ? 0 : plan_.lanes, layout_.size(), statistics, parameters.stopped, stream);
  }

 private:
  statistics_layout layout_;
  team_plan plan_;
  cuda::device_buffer<double> lanes_;
  bool fresh_ = true;  // what the lanes hold does not count
};

}  // namespace

bool fits_team_accumulator(const accumulator_shape& shape) { return make_plan(shape).has_value(); }

bool takes_team_accumulator(const accumulator_shape& shape) {
  return shape.share_rows >= shape.multiprocessors * least_team_rows(shape.layout.type()) &&
         shape.layout.components() >= least_team_components && fits_team_accumulator(shape);
}

std::unique_ptr<device_accumulator<float>> make_team_accumulator(const accumulator_shape& shape) {
  if (const std::optional<team_plan> plan = make_plan(shape)) return std::make_unique<team_accumulator>(shape, *plan);
  throw bad_argument(
      fmt::format("the kernels for few columns and many rows take 1 to {} columns and as many components as fit into a "
                  "block's shared memory, not {} columns and {} components",
                  most_small_columns, shape.layout.columns(), shape.layout.components()));
}

}  // namespace shoal::gmm
