#include <shoal/gmm/cuda/small_accumulator.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/check.hpp>
#include <shoal/gmm/cuda/small_kernel.hpp>
#include <shoal/gmm/cuda/tuning.hpp>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm {
namespace {

std::size_t row_places(std::size_t stage_rows, std::size_t slices) { return stage_rows + slices; }

// The bits of far rows lie in pairs of words.
std::size_t far_words(std::size_t rows) { return (rows + 63) / 64 * 2; }

// How a shape is worked on. All of it depends on the shape alone, for the bits do.
struct small_plan {
  std::size_t threads = 0;
  std::size_t blocks = 0;  // of a multiprocessor
  std::size_t shared_bytes = 0;
  std::size_t round_components = 0;
  std::size_t stage_rows = 0;
  std::size_t group_rows = 0;
  std::size_t unit_groups = 0;
  std::size_t lanes = 0;
  std::size_t single_precision_slices = 0;
};

#include <cstdlib>
std::size_t knob(const char* name, std::size_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::size_t ceiling(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

template <class Scalar>
small_kernel find_kernel(const accumulator_shape& shape) {
  const statistics_layout& layout = shape.layout;
  if (layout.columns() < 1 || layout.columns() > most_small_columns) return {};
  return layout.has_matrices() ? find_small_matrix_kernel<Scalar>(layout.columns())
                               : find_small_diagonal_kernel<Scalar>(layout.columns());
}

// Elements between components: an odd number of vectors, because threads of different components read them at once.
std::size_t term_stride(const small_kernel& kernel, std::size_t stage_rows) {
  return (stage_rows / kernel.vector | 1) * kernel.vector;
}

// Rows that a thread has of a stage of `rows`, and of a whole group.
std::size_t slice_rows(const small_kernel& kernel, std::size_t rows, std::size_t slices) {
  return ceiling(ceiling(rows, kernel.vector), slices) * kernel.vector;
}
std::size_t thread_rows(const small_kernel& kernel, std::size_t group_rows, std::size_t stage_rows,
                        std::size_t slices) {
  return group_rows / stage_rows * slice_rows(kernel, stage_rows, slices) +
         slice_rows(kernel, group_rows % stage_rows, slices);
}

// A block of `threads` with as many rows in a stage as its memory allows and pays, and with as few rounds of components
// as fit. Nothing when none fits.
template <class Scalar>
std::optional<small_plan> plan_block(const small_kernel& kernel, std::size_t components, std::size_t threads,
                                     std::size_t blocks, std::size_t block_bytes) {
  small_plan plan;
  plan.threads = threads;
  plan.blocks = blocks;
  const std::size_t flush_bytes = threads * std::max(kernel.flushed_sums * sizeof(Scalar), 2 * sizeof(double));
  for (std::size_t rounds = ceiling(components, threads); rounds <= most_rounds; ++rounds) {
    plan.round_components = ceiling(components, rounds);
    const std::size_t slices = threads / plan.round_components;
    const auto bytes = [&](std::size_t rows) {
      const std::size_t stage = (rows + components * term_stride(kernel, rows)) * sizeof(Scalar) +
                                far_words(rows) * sizeof(unsigned);
      return (plan.round_components * kernel.record + 2 * row_places(rows, slices) * kernel.row_elements) *
                 sizeof(Scalar) +
             std::max(stage, flush_bytes);
    };
    // Every thread has the same number of vectors of rows.
    std::size_t rows = knob("Q", small_slice_rows) / kernel.vector * kernel.vector * slices;
    while (rows < 2 * least_stage_rows) rows += kernel.vector * slices;
    while (rows >= least_stage_rows && (bytes(rows) > block_bytes || rows > cuda::piece_unit)) {
      rows -= std::min(rows, kernel.vector * slices);
    }
    if (rows < least_stage_rows) continue;
    plan.stage_rows = rows;
    plan.shared_bytes = bytes(rows);
    return plan;
  }
  return std::nullopt;
}

// Groups, so many to a unit that the multiprocessors are done at the same time and no thread sums more than
// most_lane_rows rows.
void plan_groups(std::size_t share_rows, std::size_t multiprocessors, const small_kernel& kernel, small_plan& plan) {
  const std::size_t places = multiprocessors * plan.blocks;
  const std::size_t slices = plan.threads / plan.round_components;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t groups = 1; groups <= cuda::piece_unit / least_group_rows; ++groups) {
    const std::size_t rows = ceiling(cuda::piece_unit, groups);
    if (ceiling(cuda::piece_unit, rows) != groups) continue;
    if (groups != knob("G", groups)) continue;
    if (thread_rows(kernel, rows, plan.stage_rows, slices) > most_lane_rows) continue;
    const std::size_t all =
        share_rows / cuda::piece_unit * groups + ceiling(share_rows % cuda::piece_unit, rows);
    const std::size_t each = ceiling(all, multiprocessors);
    const double time = static_cast<double>(each * (thread_rows(kernel, rows, plan.stage_rows, slices) + group_cost)) *
                        (each == 1 ? lone_block : 1.0);
    if (time >= least) continue;
    least = time;
    plan.unit_groups = groups;
    plan.group_rows = rows;
    plan.lanes = std::min(places, std::max<std::size_t>(1, all));
  }
  plan.single_precision_slices =
      std::max<std::size_t>(1, most_lane_rows / thread_rows(kernel, plan.group_rows, plan.stage_rows, slices));
}

template <class Scalar>
std::optional<small_plan> make_plan(const accumulator_shape& shape, const small_kernel& kernel) {
  // The system keeps 1 KiB for itself in each block.
  constexpr std::size_t system_bytes = 1024;
  const std::size_t components = shape.layout.components();
  std::optional<small_plan> best;
  double most = 0;
  // Two blocks or more have something to do while one waits; larger blocks make fewer lanes.
  for (std::size_t blocks = 1; blocks <= kernel.threads / small_thread_unit; ++blocks) {
    if (kernel.threads % (blocks * small_thread_unit) != 0) continue;
    if (blocks != knob("B", blocks)) continue;
    const std::size_t threads = kernel.threads / blocks;
    const std::size_t bytes = std::min(shape.shared_bytes, (shape.shared_bytes + system_bytes) / blocks - system_bytes);
    const std::optional<small_plan> plan = plan_block<Scalar>(kernel, components, threads, blocks, bytes);
    if (!plan) continue;
    const std::size_t round = plan->round_components;
    const std::size_t rounds = ceiling(components, round);
    const auto working = static_cast<double>(blocks * (threads / round) * round);
    const auto full = static_cast<double>(std::min<std::size_t>(plan->stage_rows, 256)) / 256;
    const double value =
        working / static_cast<double>(1 + rounds) * (0.75 + 0.25 * full) / (blocks == 1 ? lone_block : 1.0);
    if (value > most) {
      most = value;
      best = plan;
    }
  }
  if (best) plan_groups(shape.share_rows, shape.multiprocessors, kernel, *best);
  if (best && knob("V", 0)) fmt::print("T {} B {} S {} round {} group {} G {} lanes {} shared {} pre {}\n", best->threads, best->blocks, best->stage_rows, best->round_components, best->group_rows, best->unit_groups, best->lanes, best->shared_bytes, best->single_precision_slices);
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
    arguments.round_components = static_cast<unsigned>(plan_.round_components);
    arguments.stage_rows = static_cast<unsigned>(plan_.stage_rows);
    arguments.row_places =
        static_cast<unsigned>(row_places(plan_.stage_rows, plan_.threads / plan_.round_components));
    arguments.term_stride = static_cast<unsigned>(term_stride(kernel_, plan_.stage_rows));
    arguments.group_rows = static_cast<unsigned>(plan_.group_rows);
    arguments.unit_groups = static_cast<unsigned>(plan_.unit_groups);
    arguments.single_precision_slices = static_cast<unsigned>(plan_.single_precision_slices);
    arguments.fresh = fresh_;
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t configuration{};
    configuration.gridDim = dim3(static_cast<unsigned>(plan_.lanes));
    configuration.blockDim = dim3(static_cast<unsigned>(plan_.threads));
    configuration.dynamicSmemBytes = plan_.shared_bytes;
    configuration.stream = stream;
    configuration.attrs = &early;
    configuration.numAttrs = 1;
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
  throw bad_argument(fmt::format(
      "the kernels for few columns take 1 to {} columns and as many components as fit into a block's shared memory, not "
      "{} columns and {} components",
      most_small_columns, shape.layout.columns(), shape.layout.components()));
}
template std::unique_ptr<device_accumulator<float>> make_small_accumulator(const accumulator_shape&);
template std::unique_ptr<device_accumulator<double>> make_small_accumulator(const accumulator_shape&);

}  // namespace shoal::gmm
