#include <shoal/gmm/cuda/tensor_wide/tied_sums.hpp>

#include <cmath>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/tensor/chunks.hpp>
#include <shoal/gmm/cuda/tensor_float64/framed_moments.cuh>
#include <shoal/gmm/cuda/tensor_float64/moment_tiles.hpp>
#include <shoal/gmm/cuda/tensor_wide/tuning.hpp>

namespace shoal::gmm::tensor_wide {
namespace {

using tensor_float64::tied_frame;

constexpr int origin_threads = 128;

// The origin of one column, the mean of the components' centres as a float32 number, and whether it is near enough to
// all of them. Block j.
__global__ void __launch_bounds__(origin_threads)
    place_origin(const __grid_constant__ problem mixture, const tied_frame frame) {
  cuda::wait_for_predecessor();
  if (*mixture.parameters.stopped != 0) return;
  const cuda::block_group block;
  const auto& parameters = mixture.parameters.in_double;
  const unsigned d = mixture.layout.columns, column = blockIdx.x;
  double sum = 0, count = 0;
  for (unsigned k = threadIdx.x; k < mixture.layout.components; k += origin_threads) {
    if (parameters.log_constants[k] == -INFINITY) continue;
    sum += parameters.centres[std::size_t{k} * d + column];
    count += 1;
  }
  sum = block.sum(sum);
  count = block.sum(count);
  const auto origin = static_cast<double>(count > 0 ? static_cast<float>(sum / count) : 0.0F);
  bool together = true;
  for (unsigned k = threadIdx.x; k < mixture.layout.components; k += origin_threads) {
    if (parameters.log_constants[k] == -INFINITY) continue;
    const double distance = parameters.centres[std::size_t{k} * d + column] - origin;
    // A comparison that a NaN fails.
    together = together && fabs(distance) * static_cast<double>(mixture.norms[column]) <= most_origin_distance;
  }
  if (!together) {
    *frame.together = 0;
    *frame.idle = 1;
  }
  if (threadIdx.x == 0) frame.origin[column] = origin;
}

// Before that: zero where the fit goes on.
__global__ void begin_frame(const __grid_constant__ problem mixture, const tied_frame frame) {
  cuda::wait_for_predecessor();
  *frame.together = 1;
  *frame.idle = *mixture.parameters.stopped;
}

__global__ void __launch_bounds__(tile)
    weigh_rows(const __grid_constant__ row_chunk chunk, double* weights, const int* idle) {
  cuda::wait_for_predecessor();
  if (*idle != 0) return;
  const std::size_t row = std::size_t{blockIdx.x} * tile + threadIdx.x;
  if (row < chunk.count) weights[row] = chunk.weights == nullptr ? 1.0 : static_cast<double>(chunk.weights[row]);
}

__global__ void __launch_bounds__(tile)
    add_numbers(const double* from, double* to, std::size_t count, const int* idle) {
  cuda::wait_for_predecessor();
  if (*idle != 0) return;
  const std::size_t at = std::size_t{blockIdx.x} * tile + threadIdx.x;
  if (at < count) to[at] += from[at];
}

unsigned blocks_of(std::size_t count) { return static_cast<unsigned>((count + tile - 1) / tile); }

accumulator_shape of_one(accumulator_shape shape) {
  shape.layout = statistics_layout(covariance_type::tied, 1, shape.layout.columns());
  return shape;
}

}  // namespace

tied_sums::tied_sums(const accumulator_shape& shape, std::size_t chunk_rows)
    : used_(shares_origin(shape)), layout_(of_one(shape).layout) {
  if (!used_) return;
  plan_ = plan_moments(of_one(shape), layout_);
  plan_.lanes.sums = tensor::take(lanes_, plan_.lanes.lanes * plan_.lanes.size);
  tensor::take(weights_, chunk_rows);
  tensor::take(sums_, plan_.lanes.size);
  frame_.origin = tensor::take(origin_, layout_.columns);
  frame_.together = tensor::take(flags_, 2);
  frame_.idle = frame_.together + 1;
}

prepared_parameters<float> tied_sums::of_rows(const problem& mixture) const {
  prepared_parameters<float> rows = mixture.parameters;
  rows.in_double.centres = frame_.origin;
  rows.stopped = frame_.idle;
  return rows;
}

void tied_sums::clear(const problem& mixture, cudaStream_t stream) {
  if (!used_) return;
  tensor_float64::clear_lanes(plan_.lanes, mixture.parameters.stopped, stream);
  cuda::launch_in_turn(begin_frame, 1, 1, 0, stream, mixture, frame_);
  cuda::launch_in_turn(place_origin, layout_.columns, origin_threads, 0, stream, mixture, frame_);
}

void tied_sums::add(const problem& mixture, const row_chunk& chunk, const row_terms& terms,
                    const tensor_float64::lane_plan& lanes, cudaStream_t stream) {
  if (!used_) return;
  tensor_float64::component_frame shared;
  shared.origin = frame_.origin;
  shared.together = frame_.together;
  tensor_float64::with_moment_tile<float>(mixture.layout, [&](auto shape) {
    tensor_float64::launch_framed_moments<float, double, covariance_type::tied, decltype(shape)>(
        mixture.layout, chunk, shared, mixture.parameters, terms, lanes, stream);
  });
  cuda::launch_in_turn(weigh_rows, blocks_of(chunk.count), tile, 0, stream, chunk, weights_.data(), frame_.idle);
  moments(layout_, chunk, of_rows(mixture), {weights_.data(), weights_.size(), terms.sums}, {}, plan_, stream);
}

void tied_sums::merge(const problem& mixture, double* statistics, cudaStream_t stream) {
  if (!used_) return;
  tensor_float64::merge_lanes(plan_.lanes, sums_.data(), frame_.idle, stream);
  const std::size_t count = plan_.lanes.size - layout_.shared;
  cuda::launch_in_turn(add_numbers, blocks_of(count), tile, 0, stream, sums_.data() + layout_.shared,
                       statistics + mixture.layout.shared, count, frame_.idle);
  tensor_float64::leave_tied_frame(mixture.layout, mixture.parameters.in_double, frame_, statistics,
                                   mixture.parameters.stopped, stream);
}

}  // namespace shoal::gmm::tensor_wide
