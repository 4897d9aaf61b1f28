// Rows that are in shared memory once while the components lie near each other, and another room's kernels where they
// do not.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/condition.hpp>
#include <shoal/execution/cuda/early_start.hpp>
#include <shoal/execution/cuda/shard_plan.hpp>
#include <shoal/execution/cuda/stream.hpp>
#include <shoal/gmm/cuda/few_columns/lanes.hpp>
#include <shoal/gmm/cuda/tensor/chunks.hpp>
#include <shoal/gmm/cuda/tensor/clear.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/kernels.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/problem.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/staged.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/staged_tuning.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/tensor_diagonal.hpp>

namespace shoal::gmm::tensor_diagonal {
namespace {

using few_columns::ceiling;

// How a shape is worked on. All of it depends on the shape alone, for the bits do.
struct staged_plan {
  staged_kernel kernel;
  few_columns::group_plan groups;
  std::size_t lanes = 0;
};

std::optional<staged_plan> make_plan(const accumulator_shape& shape) {
  const statistics_layout& layout = shape.layout;
  if (layout.type() != covariance_type::diag || shape.weighted || layout.columns() > most_columns ||
      layout.components() > most_staged_components || !has_products()) {
    return std::nullopt;
  }
  const int columns = static_cast<int>(layout.columns()), components = static_cast<int>(layout.components());
  staged_plan plan;
  plan.kernel = shape.precision == precision::float32 ? find_fine_staged_kernel(columns, components)
                                                      : find_coarse_staged_kernel(columns, components);
  if (plan.kernel.function == nullptr || plan.kernel.shared_bytes > shape.shared_bytes) return std::nullopt;
  const std::size_t places = shape.multiprocessors * static_cast<std::size_t>(plan.kernel.blocks);
  plan.groups = few_columns::plan_groups(
      shape,
      // Tiles that one copy fetches begin at a multiple of 16 bytes.
      [&](std::size_t rows) {
        return columns % 4 == 0 || rows % 4 == 0 ? std::size_t{1} : std::numeric_limits<std::size_t>::max();
      },
      [&](std::size_t rows, std::size_t all) {
        const auto padded = static_cast<double>(ceiling(rows, staged_rows) * staged_rows);
        return static_cast<double>(ceiling(all, places)) * (padded + staged_flush_cost_rows) +
               static_cast<double>(std::min(all, places) * staged_lane_size(plan.kernel)) * staged_lane_cost_rows;
      });
  if (plan.groups.unit_groups == 0) return std::nullopt;
  plan.lanes = std::min(places, std::max<std::size_t>(1, plan.groups.groups));
  return plan;
}

problem staged_sizes(const statistics_layout& layout, int products) {
  problem sizes;
  sizes.columns = static_cast<int>(layout.columns());
  sizes.components = static_cast<int>(layout.components());
  sizes.tiles = (sizes.components + tile_components - 1) / tile_components;
  sizes.steps = compiled_steps(sizes.columns);
  sizes.width = padded_width(sizes.columns);
  sizes.products = products;
  return sizes;
}

class staged_accumulator final : public accumulator<float> {
 public:
  staged_accumulator(const accumulator_shape& shape, const staged_plan& plan, std::unique_ptr<accumulator<float>> other)
      : other_(std::move(other)),
        plan_(plan),
        problem_(staged_sizes(shape.layout, shape.precision == precision::float32 ? 3 : 1)),
        size_(shape.layout.size()),
        shard_rows_(shape.share_rows),
        most_shards_(shape.shards),
        alone_(shape.shards == shape.data_shards),
        lane_size_(staged_lane_size(plan.kernel)),
        lanes_(shape.shards * plan.lanes * lane_size_),
        of_others_(shape.shards > 1 ? shape.shards * size_ : 0),
        stopped_(2) {
    using tensor::take;
    const auto columns = static_cast<std::size_t>(problem_.steps * step_size);
    const auto parts = static_cast<std::size_t>(problem_.features * split_terms(problem_.products));
    const auto padded = static_cast<std::size_t>(problem_.tiles * tile_components);
    problem_.frame = take(frame_, columns);
    problem_.mean_curve = take(mean_curve_, columns);
    problem_.arrangement = take(arrangement_, arrangement_size);
    problem_.operands =
        take(operands_, static_cast<std::size_t>(problem_.tiles * problem_.steps) * parts * operand_size);
    problem_.constants = take(constants_, padded);
    problem_.common_constants = take(common_constants_, padded);
    problem_.own_constants = take(own_constants_, padded);
    turn_.own_stopped = stopped_.data();
    turn_.others_stopped = stopped_.data() + 1;
    cuda::check(cudaFuncSetAttribute(plan_.kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(plan_.kernel.shared_bytes)),
                "reserve shared memory for the mixture's kernel");
    cuda::check(cudaFuncSetAttribute(plan_.kernel.function, cudaFuncAttributePreferredSharedMemoryCarveout,
                                     cudaSharedmemCarveoutMaxShared),
                "divide the memory of a multiprocessor");
  }

  bool keeps_shards_apart() const override { return true; }

  void clear(const prepared_parameters<float>& parameters, cudaStream_t stream) override {
    tensor::cleared_memory cleared;
    cleared.add(arrangement_);
    tensor::clear(cleared, parameters.stopped, stream);
    pack_cleared_mixture(with(problem_, parameters), stream);
    fresh_ = true;
    shards_ = 1;
    pieces_.clear();
  }

  void add(const cuda::device_piece<float>& piece, const prepared_parameters<float>& parameters,
           cudaStream_t stream) override {
    tensor::check_piece(piece);
    if (most_shards_ > 1) shards_ = std::max(shards_, ceiling(piece.count, shard_rows_));
    launch(piece, parameters, stream);
    // Rows of what is recorded stay where they are.
    if (alone_ && cuda::is_recorded(stream)) {
      pieces_.push_back(piece);
    } else {
      give_to_others(piece, fresh_, parameters, of_others_.data(), stream);
    }
    fresh_ = false;
  }

  void merge(double* statistics, const prepared_parameters<float>& parameters, cudaStream_t stream) override {
    if (fresh_) add({}, parameters, stream);
    const bool later = !pieces_.empty(), apart = shards_ > 1;
    const cuda::condition others(stream, later);
    staged_turn turn = turn_;
    turn.has_condition = others.exists();
    turn.condition = others.handle();
    merge_staged(with(problem_, parameters), plan_.kernel, turn, shards_, plan_.lanes, lanes_.data(),
                 apart && !later ? of_others_.data() : nullptr, statistics, stream);
    if (!later) {
      if (!apart) other_->merge(statistics, unless_own(parameters), stream);
      return;
    }
    others.when_set(recorder_, [&](cudaStream_t in) {
      for (std::size_t i = 0; i < pieces_.size(); ++i) give_to_others(pieces_[i], i == 0, parameters, statistics, in);
      if (!apart) other_->merge(statistics, unless_own(parameters), in);
    });
  }

 private:
  void launch(const cuda::device_piece<float>& piece, const prepared_parameters<float>& parameters,
              cudaStream_t stream) {
    staged_arguments arguments;
    arguments.mixture = with(problem_, parameters);
    arguments.turn = turn_;
    arguments.rows = piece.rows;
    arguments.lanes = lanes_.data();
    arguments.lane_size = lane_size_;
    arguments.count = piece.count;
    arguments.first_unit = piece.share_first / cuda::piece_unit;
    arguments.shard_units = ceiling(shards_ == 1 ? piece.count : shard_rows_, cuda::piece_unit);
    arguments.group_rows = static_cast<unsigned>(plan_.groups.group_rows);
    arguments.unit_groups = static_cast<unsigned>(plan_.groups.unit_groups);
    arguments.fresh = fresh_;
    cudaLaunchAttribute attribute{};
    cudaLaunchConfig_t configuration{};
    configuration.gridDim = dim3(static_cast<unsigned>(plan_.lanes), static_cast<unsigned>(shards_));
    configuration.blockDim = dim3(static_cast<unsigned>(plan_.kernel.threads));
    configuration.dynamicSmemBytes = plan_.kernel.shared_bytes;
    configuration.stream = stream;
    cuda::start_early(configuration, attribute);
    void* passed[] = {&arguments};
    cuda::check(cudaLaunchKernelExC(&configuration, plan_.kernel.function, passed), "launch the mixture's kernel");
  }

  // Others have their shards one after another, whose sums they leave at `shard_sums`.
  void give_to_others(const cuda::device_piece<float>& piece, bool first_piece,
                      const prepared_parameters<float>& own_parameters, double* shard_sums, cudaStream_t stream) {
    const prepared_parameters<float> parameters = unless_own(own_parameters);
    if (shards_ == 1) {
      if (first_piece) other_->clear(parameters, stream);
      if (piece.count > 0) other_->add(piece, parameters, stream);
      return;
    }
    for (std::size_t shard = 0; shard < shards_; ++shard) {
      const std::size_t first = shard * shard_rows_;
      cuda::device_piece<float> part = piece;
      part.rows = piece.rows + first * static_cast<std::size_t>(problem_.columns);
      part.first = piece.first + first;
      part.share_first = 0;
      part.count = std::min(shard_rows_, piece.count - first);
      other_->clear(parameters, stream);
      other_->add(part, parameters, stream);
      other_->merge(shard_sums + shard * size_, parameters, stream);
    }
  }

  prepared_parameters<float> unless_own(prepared_parameters<float> parameters) const {
    parameters.stopped = turn_.others_stopped;
    return parameters;
  }

  std::unique_ptr<accumulator<float>> other_;
  staged_plan plan_;
  problem problem_;
  std::size_t size_;
  std::size_t shard_rows_;
  std::size_t most_shards_;
  std::size_t shards_ = 1;  // of the rows that were added since clear()
  bool alone_;              // no other GPU has rows
  std::size_t lane_size_;
  cuda::device_buffer<float2> frame_;
  cuda::device_buffer<float> mean_curve_, constants_, common_constants_, own_constants_;
  cuda::device_buffer<std::uint16_t> operands_;
  cuda::device_buffer<int> arrangement_;
  cuda::device_buffer<double> lanes_, of_others_;
  cuda::device_buffer<int> stopped_;
  cuda::stream recorder_;
  std::vector<cuda::device_piece<float>> pieces_;  // that others have not been given yet
  staged_turn turn_;
  bool fresh_ = true;  // what the lanes hold does not count
};

}  // namespace

bool suits_staged(const accumulator_shape& shape) {
  return is_staged_faster(shape.precision, shape.share_rows, shape.layout.columns(), shape.layout.components()) &&
         make_plan(shape).has_value();
}

std::unique_ptr<accumulator<float>> make_staged_accumulator(const accumulator_shape& shape,
                                                            std::unique_ptr<accumulator<float>> other) {
  if (const std::optional<staged_plan> plan = make_plan(shape)) {
    return std::make_unique<staged_accumulator>(shape, *plan, std::move(other));
  }
  throw bad_argument(
      fmt::format("rows that are in shared memory once are of diagonal covariances without weights, of not so many "
                  "columns and components as {} and {}",
                  shape.layout.columns(), shape.layout.components()));
}

}  // namespace shoal::gmm::tensor_diagonal
