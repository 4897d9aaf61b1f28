// What the accumulators for few columns share on the host: how rows are cut into groups, and lanes, one for each block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>

#include <cuda_runtime_api.h>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/early_start.hpp>
#include <shoal/execution/cuda/shard_plan.hpp>
#include <shoal/gmm/cuda/accumulator.hpp>
#include <shoal/gmm/cuda/few_columns/kernels.hpp>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::few_columns {

constexpr std::size_t ceiling(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

/// How units of cuda::piece_unit rows are cut into groups. It depends on the shape alone, for the bits do.
struct group_plan {
  std::size_t unit_groups = 0;  ///< 0: there is no such cut
  std::size_t group_rows = 0;
  std::size_t groups = 0;                   ///< of all rows
  std::size_t single_precision_slices = 0;  ///< threads' sums that are added in the data's scalar
};

/// As many groups to a unit as take the least time(rows of a group, groups of all rows), of those whose slowest thread,
/// which sums thread_rows(rows of a group) rows, sums at most most_lane_rows. Shards are done in one launch.
template <class ThreadRows, class Time>
group_plan plan_groups(const accumulator_shape& shape, const ThreadRows& thread_rows, const Time& time) {
  constexpr std::size_t least_rows = 32;
  const std::size_t rows_of_all = shape.share_rows * shape.data_shards;
  group_plan plan;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t groups = 1; groups <= cuda::piece_unit / least_rows; ++groups) {
    const std::size_t rows = ceiling(cuda::piece_unit, groups);
    if (ceiling(cuda::piece_unit, rows) != groups || thread_rows(rows) > most_lane_rows) continue;
    const std::size_t all = rows_of_all / cuda::piece_unit * groups + ceiling(rows_of_all % cuda::piece_unit, rows);
    const double taken = time(rows, all);
    if (taken >= least) continue;
    least = taken;
    plan.unit_groups = groups;
    plan.group_rows = rows;
    plan.groups = all;
  }
  const std::size_t summed = std::max<std::size_t>(1, thread_rows(plan.group_rows));
  plan.single_precision_slices = std::max<std::size_t>(1, most_lane_rows / summed);
  return plan;
}

/// An accumulator whose lanes another one may fill.
template <class Scalar>
class lanes_owner : public accumulator<Scalar> {
 public:
  virtual double* lane_memory() const = 0;  ///< [shards][lane_count()][statistics]
  virtual std::size_t lane_count() const = 0;
};

/// What make_accumulator and make_team_accumulator (few_columns.hpp) make.
template <class Scalar>
std::unique_ptr<lanes_owner<Scalar>> make_blocks(const accumulator_shape& shape);
extern template std::unique_ptr<lanes_owner<float>> make_blocks(const accumulator_shape&);
extern template std::unique_ptr<lanes_owner<double>> make_blocks(const accumulator_shape&);
std::unique_ptr<lanes_owner<float>> make_teams(const accumulator_shape& shape);

/// What a launch takes beside its arguments.
struct block_launch {
  const void* function = nullptr;  ///< __global__ void(Arguments)
  std::size_t threads = 0;
  std::size_t lanes = 0;  ///< of each shard
  std::size_t shared_bytes = 0;
  std::size_t states = 0;   ///< partial sums of a lane that stay apart until the last piece; 0: none
  std::size_t cluster = 1;  ///< blocks of each lane
};

/// Arguments: kernel_arguments<Scalar> or team_arguments. What depends on the block's plan is in those it is made with.
template <class Scalar, class Arguments>
class lanes_accumulator final : public lanes_owner<Scalar> {
 public:
  /// `owner` is whose lanes it fills; null: its own.
  lanes_accumulator(const accumulator_shape& shape, const block_launch& launch, const group_plan& groups,
                    const Arguments& arguments, const lanes_owner<Scalar>* owner = nullptr)
      : size_(shape.layout.size()),
        shard_rows_(shape.share_rows),
        most_shards_(shape.shards),
        launch_(launch),
        lanes_(owner != nullptr ? 0 : shape.shards * launch.lanes * shape.layout.size()),
        states_(shape.shards * launch.lanes * launch.states * shape.layout.size()),
        arguments_(arguments) {
    const statistics_layout& layout = shape.layout;
    const bool tied = layout.type() == covariance_type::tied;
    const std::size_t columns = layout.columns();
    arguments_.lanes = owner != nullptr ? owner->lane_memory() : lanes_.data();
    if constexpr (requires { arguments_.lane_count; }) {
      arguments_.lane_count = static_cast<unsigned>(owner != nullptr ? owner->lane_count() : launch.lanes);
    }
    if constexpr (requires { arguments_.states; }) arguments_.states = states_.data();
    arguments_.statistics = static_cast<decltype(arguments_.statistics)>(size_);
    arguments_.shared_triangle = tied ? layout.shared() : 0;
    arguments_.factor_stride = tied ? 0 : columns * columns;
    arguments_.components = static_cast<unsigned>(layout.components());
    arguments_.group_rows = static_cast<unsigned>(groups.group_rows);
    arguments_.unit_groups = static_cast<unsigned>(groups.unit_groups);
    arguments_.single_precision_slices = static_cast<unsigned>(groups.single_precision_slices);
    cuda::check(cudaFuncSetAttribute(launch_.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(launch_.shared_bytes)),
                "reserve shared memory for the mixture's kernel");
    cuda::check(cudaFuncSetAttribute(launch_.function, cudaFuncAttributePreferredSharedMemoryCarveout,
                                     cudaSharedmemCarveoutMaxShared),
                "divide the memory of a multiprocessor");
    // Merging reads lanes before it knows whether a stopped kernel has left them as they were.
    lanes_.fill_with_zeros();
  }

  bool keeps_shards_apart() const override { return true; }

  void clear(const prepared_parameters<Scalar>&, cudaStream_t) override {
    fresh_ = true;
    shards_ = 1;
  }

  void add(const cuda::device_piece<Scalar>& piece, const prepared_parameters<Scalar>& parameters,
           cudaStream_t stream) override {
    arguments_.parameters = parameters;
    arguments_.rows = piece.rows;
    arguments_.weights = piece.weights;
    arguments_.count = piece.count;
    arguments_.first_unit = static_cast<decltype(arguments_.first_unit)>(piece.share_first / cuda::piece_unit);
    arguments_.fresh = fresh_;
    // All rows that are summed together: nobody will ask for what a launch leaves.
    if constexpr (requires { arguments_.whole; }) {
      arguments_.whole = piece.share_first == 0 && piece.count >= shard_rows_;
    }
    if (most_shards_ > 1) shards_ = std::max(shards_, ceiling(piece.count, shard_rows_));
    arguments_.shard_units = static_cast<decltype(arguments_.shard_units)>(
        ceiling(shards_ == 1 ? piece.count : shard_rows_, cuda::piece_unit));
    cudaLaunchAttribute attributes[2] = {};
    cudaLaunchConfig_t configuration{};
    const auto cluster = static_cast<unsigned>(launch_.cluster);
    configuration.gridDim = dim3(static_cast<unsigned>(launch_.lanes) * cluster, static_cast<unsigned>(shards_));
    configuration.blockDim = dim3(static_cast<unsigned>(launch_.threads));
    configuration.dynamicSmemBytes = launch_.shared_bytes;
    configuration.stream = stream;
    cuda::start_early(configuration, attributes[0]);
    if (cluster > 1) {
      attributes[1].id = cudaLaunchAttributeClusterDimension;
      attributes[1].val.clusterDim = {cluster, 1, 1};
      configuration.attrs = attributes;
      configuration.numAttrs = 2;
    }
    void* passed[] = {&arguments_};
    cuda::check(cudaLaunchKernelExC(&configuration, launch_.function, passed),
                "launch the mixture's kernel for few columns");
    fresh_ = false;
  }

  void merge(double* statistics, const prepared_parameters<Scalar>& parameters, cudaStream_t stream) override {
    merge_lanes(arguments_.lanes, shards_, fresh_ ? 0 : launch_.lanes, size_, statistics, parameters.stopped, stream);
  }

  lane_array lanes() const override {
    if (shards_ > 1 || fresh_) return {};
    return {arguments_.lanes, launch_.lanes};
  }

  double* lane_memory() const override { return arguments_.lanes; }
  std::size_t lane_count() const override { return launch_.lanes; }

 private:
  std::size_t size_;
  std::size_t shard_rows_;
  std::size_t most_shards_;
  std::size_t shards_ = 1;  // of the rows that were added since clear()
  block_launch launch_;
  cuda::device_buffer<double> lanes_;
  cuda::device_buffer<double> states_;
  Arguments arguments_;
  bool fresh_ = true;  // what the lanes hold does not count
};

}  // namespace shoal::gmm::few_columns
