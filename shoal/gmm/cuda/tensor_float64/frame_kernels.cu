// Puts diagonal and spherical mixtures into a frame, and takes the frame out of their sums.
#include <cuda_runtime.h>

#include <cmath>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/tensor/operands.hpp>
#include <shoal/gmm/cuda/tensor/products.cuh>
#include <shoal/gmm/cuda/tensor_float64/frame_kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/left_out.hpp>
#include <shoal/gmm/cuda/tensor_float64/tuning.hpp>

namespace shoal::gmm::tensor_float64 {
namespace {

constexpr int frame_threads = 128;
// Of a component of many columns.
constexpr int most_pack_threads = 384;
constexpr unsigned pack_threads(unsigned columns) { return columns <= 256 ? frame_threads : most_pack_threads; }
// Of a component whose sums move: spherical ones have one block, and several threads' numbers are asked for at once.
constexpr unsigned most_move_threads = 512, moved_at_once = 4;
constexpr unsigned move_threads(const kernel_layout& layout) {
  const bool wide = layout.type == covariance_type::spherical && layout.columns > moved_at_once * frame_threads;
  return wide ? most_move_threads : frame_threads;
}

__device__ bool is_empty(const prepared_components<double>& parameters, unsigned k) {
  return parameters.log_constants[k] == -INFINITY;
}
__device__ double mean_of(const prepared_components<double>& parameters, std::size_t at) {
  return parameters.centres[at] - parameters.offsets[at] / parameters.factors[at];
}

__device__ double least_of(const cuda::warp_group&, double value) {
  for (unsigned step = cuda::warp_size / 2; step > 0; step /= 2) {
    value = fmin(value, __shfl_xor_sync(cuda::every_lane, value, step));
  }
  return value;
}
__device__ double least_of(const cuda::block_group& block, double value) {
  __shared__ double warps[frame_threads / cuda::warp_size];
  value = least_of(cuda::warp_group(), value);
  if (block.rank % cuda::warp_size == 0) warps[block.rank / cuda::warp_size] = value;
  block.sync();
  for (const double other : warps) value = fmin(value, other);
  return value;
}

// Until a component shows that it is not so. A launch that others follow closely: behind a memset the next one's began
// 4 µs later.
__global__ void assume_together(const component_frame frame) {
  cuda::wait_for_predecessor();
  if (frame.left_out.count != nullptr) {
    for (unsigned k = threadIdx.x; k < frame.eights * 8; k += blockDim.x) frame.left_out.marks[k] = 0;
    if (threadIdx.x == 0) *frame.left_out.count = 0;
  }
  if (threadIdx.x != 0) return;
  *frame.together = 1;
  if (frame.near != nullptr) *frame.near = 1;
}

// The origin of one column, the mean of the components' means, and whether they are near enough to it. A group
// for each column.
template <class Group>
__global__ void __launch_bounds__(frame_threads)
    place_origin(const kernel_layout layout, const __grid_constant__ prepared_components<double> parameters,
                 const component_frame frame, const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0) return;
  const Group group;
  const unsigned column = blockIdx.x * (blockDim.x / group.size) + threadIdx.x / group.size;
  if (column == 0) {
    for (unsigned i = group.rank; i < frame.kept_blocks; i += group.size) frame.kept[i] = {};
  }
  if (column >= layout.columns) {
    if (group.rank != 0) return;
    if (column < frame.steps * frame_step) frame.origin[column] = 0;
    if (frame.units != nullptr) frame.units[column] = make_float2(0, 0);
    return;
  }
  double sum = 0, count = 0, least = INFINITY;
  for (unsigned k = group.rank; k < layout.components; k += group.size) {
    if (is_empty(parameters, k)) continue;
    sum += mean_of(parameters, std::size_t{k} * layout.columns + column);
    count += 1;
    least = fmin(least, parameters.factors[std::size_t{k} * layout.columns + column]);
  }
  sum = group.sum(sum);
  count = group.sum(count);
  double origin = count > 0 ? sum / count : 0;
  const bool half = frame.units != nullptr;
  double unit = 1;
  if (half) {
    origin = static_cast<double>(static_cast<float>(origin));
    least = least_of(group, least);
    unit = least > 1e-38 && least < 1e38 ? scalbn(1.0, ilogb(least)) : 1;
  }
  bool together = true, near = half && fabs(origin * unit) <= 1e30;
  for (unsigned k = group.rank; k < layout.components; k += group.size) {
    if (is_empty(parameters, k)) continue;
    const std::size_t at = std::size_t{k} * layout.columns + column;
    // A comparison that a NaN fails.
    const double factor = parameters.factors[at];
    const double distance = fabs(mean_of(parameters, at) - origin) * factor;
    together = together && distance <= (frame.float_rows ? most_float_column_distance : most_column_distance) &&
               factor >= least_frame_factor && factor <= most_frame_factor;
    near = near && together;
    if (!(distance <= most_half_column_distance && factor / unit <= most_half_ratio)) {
      if (frame.left_out.count != nullptr) {
        frame.left_out.marks[k] = 1;
      } else {
        near = false;
      }
    }
  }
  if (!together) *frame.together = 0;
  if (half && !near) *frame.near = 0;
  if (group.rank != 0) return;
  frame.origin[column] = origin;
  if (half) frame.units[column] = make_float2(static_cast<float>(unit), static_cast<float>(-origin * unit));
}

// What is known of a column of a component, read while those of the column before are divided.
struct column_facts {
  double centre, offset, factor, origin, unit;

  __device__ column_facts(const kernel_layout& layout, const prepared_components<double>& parameters,
                          const component_frame& frame, unsigned k, unsigned column) {
    const std::size_t at = std::size_t{k} * layout.columns + column;
    centre = __ldg(parameters.centres + at);
    offset = __ldg(parameters.offsets + at);
    factor = __ldg(parameters.factors + at);
    origin = __ldg(frame.origin + column);
    unit = frame.units != nullptr ? static_cast<double>(__ldg(frame.units + column).x) : 1;
  }
};

// The operands and constants of component k, which may be one of those that fill the last tile. Block k.
__global__ void __launch_bounds__(most_pack_threads)
    pack_component(const kernel_layout layout, const __grid_constant__ prepared_components<double> parameters,
                   const component_frame frame, const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0) return;
  const cuda::block_group block;
  const unsigned k = blockIdx.x, features = features_of(layout.type);
  const bool empty = k >= layout.components || is_empty(parameters, k);
  double squared_distance = 0;
  const bool half = frame.units != nullptr;
  if (frame.left_out.count != nullptr && k < most_left_out) {
    double* const sums = frame.left_out.sums + k * layout.component_size;
    for (std::size_t i = block.rank; i < layout.component_size; i += block.size) sums[i] = 0;
  }
  const unsigned past = half ? half_columns(layout.columns) : frame.steps * frame_step;
  const unsigned last = layout.columns - 1, known = empty ? 0 : k;
  column_facts next(layout, parameters, frame, known, min(block.rank, last));
  for (unsigned j = block.rank; j < past; j += block.size) {
    const column_facts own = next;
    next = column_facts(layout, parameters, frame, known, min(j + block.size, last));
    double line = 0, curve = 0;
    if (!empty && j < layout.columns) {
      const double distance = (own.centre - own.offset / own.factor - own.origin) * own.factor;
      squared_distance += distance * distance;
      line = distance * own.factor;
      curve = -0.5 * own.factor * own.factor;
    }
    const std::size_t eight = (std::size_t{j} / frame_step * frame.eights + k / 8) * features;
    if (j < frame.steps * frame_step) {
      double* const to = frame.operands + eight * 128 + operand_place(k, j % frame_step);
      to[0] = line;
      if (features == 2) to[128] = curve;
    }
    if (half) {
      const double inverse = 1 / own.unit;  // of a power of two
      std::uint32_t high, low;
      tensor::split(static_cast<float>(line * inverse), static_cast<float>(curve * inverse * inverse), high, low);
      const std::size_t size = std::size_t{frame.half_tile()} * frame_step;
      const std::size_t step = std::size_t{k / frame.half_tile()} * (past / frame_step) + j / frame_step;
      std::uint16_t* const to =
          frame.half_operands + step * half_terms(frame.products) * features * size +
          tensor::operand_place(static_cast<int>(k % frame.half_tile()), tensor::step_place(j % frame_step));
      to[0] = static_cast<std::uint16_t>(high);
      if (features == 2) to[size] = static_cast<std::uint16_t>(high >> 16);
      if (frame.products == 3) {
        to[features * size] = static_cast<std::uint16_t>(low);
        if (features == 2) to[3 * size] = static_cast<std::uint16_t>(low >> 16);
      }
    }
  }
  squared_distance = block.sum(squared_distance);
  if (block.rank != 0) return;
  if (!(squared_distance <= (frame.float_rows ? most_float_squared_distance : most_squared_distance(layout.columns)))) {
    *frame.together = 0;
    if (half) *frame.near = 0;
  }
  const bool leaves_out = frame.left_out.count != nullptr;
  const bool held =
      squared_distance <= most_half_squared_distance(layout.columns) && !(leaves_out && frame.left_out.marks[k] != 0);
  if (half && !held) {
    const unsigned place = leaves_out ? atomicAdd(frame.left_out.count, 1U) : most_left_out;
    if (place < most_left_out) {
      frame.left_out.places[place] = k;
    } else {
      *frame.near = 0;
    }
  }
  const double constant = empty ? -INFINITY : parameters.log_constants[k] - 0.5 * squared_distance;
  const double factor = empty ? 0 : parameters.factors[std::size_t{k} * layout.columns];
  const double curve = -0.5 * factor * factor;
  frame.constants[k] = constant;
  if (layout.type == covariance_type::spherical) frame.curves[k] = curve;
  if (!half) return;
  const auto as_terms = [](double value) {
    const auto high = static_cast<float>(value);
    return make_float2(high, isfinite(high) ? static_cast<float>(value - static_cast<double>(high)) : 0.0F);
  };
  frame.half_constants[k] = as_terms(held ? constant : -INFINITY);
  const double unit = static_cast<double>(frame.units[0].x);
  if (layout.type == covariance_type::spherical) frame.half_curves[k] = as_terms(curve / (unit * unit));
}

// With z = x − m: x − c = z + (m − c). Of a spherical component only the variances' mean counts: they are made equal,
// each S²/W and a share of what is left. Block k; diagonal ones are cut into parts of columns.
__global__ void __launch_bounds__(most_move_threads)
    move_to_centre(const kernel_layout layout, const __grid_constant__ prepared_components<double> parameters,
                   const component_frame frame, double* statistics, const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0 || *frame.together == 0) return;
  const cuda::block_group block;
  const unsigned k = blockIdx.x, d = layout.columns;
  const unsigned own = blockIdx.y * block.size + block.rank, stride = gridDim.y * block.size;
  const bool spherical = layout.type == covariance_type::spherical;
  double* const component = statistics + layout.header + k * layout.component_size;
  double* const first = component + 1;
  double* const second = first + d;
  const double weight = component[layout.weight];
  const double norms = spherical ? second[0] : 0;
  double rest = 0, of_means = 0;
  block.sync();  // all have read what one of them writes
  for (unsigned begin = own; begin < d; begin += moved_at_once * stride) {
    double sums[moved_at_once], distances[moved_at_once], squares[moved_at_once];
#pragma unroll
    for (unsigned i = 0; i < moved_at_once; ++i) {
      const unsigned j = min(begin + i * stride, d - 1);
      sums[i] = first[j];
      distances[i] = frame.origin[j] - parameters.centres[std::size_t{k} * d + j];
      squares[i] = spherical ? 0 : second[j];
    }
#pragma unroll
    for (unsigned i = 0; i < moved_at_once; ++i) {
      const unsigned j = begin + i * stride;
      if (j >= d) break;
      const double moved = sums[i] + weight * distances[i], change = (sums[i] + moved) * distances[i];
      first[j] = moved;
      if (spherical) {
        squares[i] = weight > 0 ? moved * moved / weight : 0;
        of_means += squares[i];
        rest += change;
      } else {
        squares[i] += change;
      }
      second[j] = squares[i];
    }
  }
  if (!spherical) return;
  const double share = (norms + block.sum(rest) - block.sum(of_means)) / d;
  for (unsigned j = block.rank; j < d; j += block.size) second[j] += share;
}

}  // namespace

void pack_frame(const kernel_layout& layout, const prepared_components<double>& parameters,
                const component_frame& frame, const int* stopped, cudaStream_t stream) {
  cuda::launch_in_turn(assume_together, 1, frame.left_out.count != nullptr ? most_pack_threads : 1, 0, stream, frame);
  const unsigned columns = frame.units != nullptr ? half_columns(layout.columns) : frame.steps * frame_step;
  const auto place = [&](auto kernel, unsigned at_once) {
    cuda::launch_in_turn(kernel, (columns + at_once - 1) / at_once, frame_threads, 0, stream, layout, parameters, frame,
                         stopped);
  };
  // With the same bits. Blocks whose threads have no component would wait for each other all the same.
  if (layout.components <= cuda::warp_size) {
    place(place_origin<cuda::warp_group>, frame_threads / cuda::warp_size);
  } else {
    place(place_origin<cuda::block_group>, 1);
  }
  cuda::launch_in_turn(pack_component, frame.eights * 8, pack_threads(layout.columns), 0, stream, layout, parameters,
                       frame, stopped);
}

void leave_frame(const kernel_layout& layout, const prepared_components<double>& parameters,
                 const component_frame& frame, double* statistics, const int* stopped, cudaStream_t stream) {
  if (frame.left_out.count != nullptr) add_left_out(layout, frame, statistics, stopped, stream);
  const unsigned threads = move_threads(layout);
  const unsigned parts = layout.type == covariance_type::spherical ? 1 : (layout.columns + threads - 1) / threads;
  cuda::launch_in_turn(move_to_centre, dim3(layout.components, parts), threads, 0, stream, layout, parameters, frame,
                       statistics, stopped);
}

}  // namespace shoal::gmm::tensor_float64
