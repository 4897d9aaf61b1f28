#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/step/factorise_in_tiles.hpp>
#include <shoal/gmm/cuda/step/prepare_component.cuh>
#include <shoal/gmm/cuda/step/squarem_kernels.hpp>
#include <shoal/gmm/cuda/step/step_launch.cuh>
#include <shoal/gmm/cuda/step/tied.cuh>

namespace shoal::gmm {
namespace {

__host__ __device__ unsigned triangle(unsigned d) { return d * (d + 1) / 2; }

// A part is what one group of threads does: a component, or the covariance that tied ones share, which comes last.
__host__ __device__ unsigned part_count(const kernel_layout& layout) {
  return layout.components + (layout.type == covariance_type::tied ? 1 : 0);
}

// Where a part's coordinates and covariances lie. A part without a component has neither weight nor mean.
struct part {
  bool component;
  unsigned spread_count;      // coordinates of its covariance
  std::size_t spread;         // the first of them
  unsigned covariance_count;  // numbers of its covariance in the model
  std::size_t covariance;     // the first of them

  __device__ part(const kernel_layout& layout, unsigned index) : component(index < layout.components) {
    const unsigned K = layout.components, d = layout.columns;
    const std::size_t start = K + std::size_t{K} * d;
    const bool tied = layout.type == covariance_type::tied;
    const unsigned own = tied && component ? 0 : index;
    if (tied && component) {
      spread_count = covariance_count = 0;
    } else if (tied || layout.type == covariance_type::full) {
      spread_count = triangle(d);
      covariance_count = d * d;
    } else {
      spread_count = covariance_count = layout.type == covariance_type::diag ? d : 1;
    }
    const std::size_t at = tied ? 0 : own;
    spread = start + at * spread_count;
    covariance = at * covariance_count;
  }
};

template <class Scalar>
__device__ double* point_of(const squarem_arguments<Scalar>& arguments, squarem_point which) {
  const kernel_layout& layout = arguments.step.layout;
  const unsigned K = layout.components, d = layout.columns;
  const std::size_t spreads = layout.type == covariance_type::full   ? std::size_t{K} * triangle(d)
                              : layout.type == covariance_type::tied ? triangle(d)
                              : layout.type == covariance_type::diag ? std::size_t{K} * d
                                                                     : K;
  return arguments.points + static_cast<std::size_t>(which) * (K + std::size_t{K} * d + spreads);
}

// Calls visit(place) for each coordinate of a part.
template <class Group, class Visit>
__device__ void for_each_coordinate(const Group& group, const kernel_layout& layout, unsigned index,
                                    const Visit& visit) {
  const part its(layout, index);
  const unsigned d = layout.columns;
  if (its.component) {
    if (group.rank == 0) visit(std::size_t{index});
    for (unsigned j = group.rank; j < d; j += group.size) visit(layout.components + std::size_t{index} * d + j);
  }
  for (unsigned e = group.rank; e < its.spread_count; e += group.size) visit(its.spread + e);
}

// Calls visit(place) for each number of the model that is a part's, as places of model_arrays in one piece.
template <class Group, class Visit>
__device__ void for_each_number(const Group& group, const kernel_layout& layout, unsigned index, const Visit& visit) {
  const part its(layout, index);
  const unsigned K = layout.components, d = layout.columns;
  if (its.component) {
    if (group.rank == 0) visit(std::size_t{index});
    for (unsigned j = group.rank; j < d; j += group.size) visit(K + std::size_t{index} * d + j);
  }
  for (unsigned e = group.rank; e < its.covariance_count; e += group.size) {
    visit(K + std::size_t{K} * d + its.covariance + e);
  }
}

// Gauss's elimination below the diagonal: afterwards column k of the Cholesky factor is column k divided by the root of
// its diagonal element. Matrices that are not positive definite lead to numbers that are not finite, and these to a
// model that is refused.
template <class Group>
__device__ void eliminate_below(const Group& group, double* matrix, unsigned d) {
  const unsigned stride = matrix_stride(d);
  const cuda::group_grid grid(group, d);
  for (unsigned k = 0; k + 1 < d; ++k) {
    const double inverse = 1 / matrix[std::size_t{k} * stride + k];
    for (unsigned i = k + 1 + grid.row; i < d; i += grid.rows) {
      const double share = matrix[std::size_t{i} * stride + k] * inverse;
      for (unsigned j = k + 1 + grid.column; j <= i; j += grid.columns) {
        matrix[std::size_t{i} * stride + j] -= share * matrix[std::size_t{j} * stride + k];
      }
    }
    group.sync();
  }
}

__device__ std::size_t triangle_start(unsigned row) { return std::size_t{row} * (row + 1) / 2; }

// The coordinates of a part of the present model: put(place, value) for each. `work` holds a matrix.
template <class Group, class Scalar, class Put>
__device__ void find_coordinates(const Group& group, const squarem_arguments<Scalar>& arguments, unsigned index,
                                 double* work, const Put& put) {
  const kernel_layout& layout = arguments.step.layout;
  const model_arrays& model = arguments.step.model;
  const part its(layout, index);
  const unsigned K = layout.components, d = layout.columns;
  if (its.component) {
    if (group.rank == 0) put(std::size_t{index}, log(model.weights[index]));
    for (unsigned j = group.rank; j < d; j += group.size) {
      const std::size_t at = std::size_t{index} * d + j;
      put(K + at, (model.means[at] - arguments.means[j]) / arguments.scales[j]);
    }
  }
  const double* const covariance = model.covariances + its.covariance;
  if (layout.type == covariance_type::diag || layout.type == covariance_type::spherical) {
    const bool diagonal = layout.type == covariance_type::diag;
    for (unsigned e = group.rank; e < its.spread_count; e += group.size) {
      put(its.spread + e, 0.5 * log(covariance[e]) - log(diagonal ? arguments.scales[e] : arguments.common_scale));
    }
    return;
  }
  if (its.spread_count == 0) return;
  const unsigned stride = matrix_stride(d);
  const cuda::group_grid grid(group, d);
  for (unsigned i = grid.row; i < d; i += grid.rows) {
    for (unsigned j = grid.column; j <= i; j += grid.columns) {
      work[std::size_t{i} * stride + j] = covariance[std::size_t{i} * d + j];
    }
  }
  group.sync();
  eliminate_below(group, work, d);
  for (unsigned i = grid.row; i < d; i += grid.rows) {
    for (unsigned j = grid.column; j <= i; j += grid.columns) {
      const double value =
          work[std::size_t{i} * stride + j] / sqrt(work[std::size_t{j} * stride + j]) / arguments.scales[i];
      put(its.spread + triangle_start(i) + j, i == j ? log(value) : value);
    }
  }
  group.sync();
}

// What log-weights are measured from so that weights sum to one, by each warp for itself.
template <class Coordinate>
__device__ double log_sum(unsigned count, const Coordinate& coordinate) {
  const unsigned lane = threadIdx.x % cuda::warp_size;
  double greatest = -INFINITY;
  for (unsigned k = lane; k < count; k += cuda::warp_size) greatest = fmax(greatest, coordinate(k));
  for (unsigned step = cuda::warp_size / 2; step > 0; step /= 2) {
    greatest = fmax(greatest, __shfl_xor_sync(cuda::every_lane, greatest, step));
  }
  double sum = 0;
  for (unsigned k = lane; k < count; k += cuda::warp_size) sum += exp(coordinate(k) - greatest);
  return greatest + log(cuda::warp_sum(sum));
}

// A part of the model at a point. `work` holds a matrix.
template <class Group, class Scalar>
__device__ void place_part(const Group& group, const squarem_arguments<Scalar>& arguments, unsigned index,
                           const double* point, double log_weights, double* work) {
  const kernel_layout& layout = arguments.step.layout;
  const model_arrays& model = arguments.step.model;
  const part its(layout, index);
  const unsigned K = layout.components, d = layout.columns;
  if (its.component) {
    if (group.rank == 0) model.weights[index] = exp(point[index] - log_weights);
    for (unsigned j = group.rank; j < d; j += group.size) {
      const std::size_t at = std::size_t{index} * d + j;
      model.means[at] = arguments.means[j] + point[K + at] * arguments.scales[j];
    }
  }
  double* const covariance = model.covariances + its.covariance;
  const double* const spread = point + its.spread;
  if (layout.type == covariance_type::diag || layout.type == covariance_type::spherical) {
    const bool diagonal = layout.type == covariance_type::diag;
    for (unsigned e = group.rank; e < its.spread_count; e += group.size) {
      const double deviation = exp(spread[e]) * (diagonal ? arguments.scales[e] : arguments.common_scale);
      covariance[e] = deviation * deviation;
    }
    return;
  }
  if (its.spread_count == 0) return;
  const unsigned stride = matrix_stride(d);
  const cuda::group_grid grid(group, d);
  for (unsigned i = grid.row; i < d; i += grid.rows) {
    for (unsigned j = grid.column; j <= i; j += grid.columns) {
      const double value = spread[triangle_start(i) + j];
      work[std::size_t{i} * stride + j] = (i == j ? exp(value) : value) * arguments.scales[i];
    }
  }
  group.sync();
  for (unsigned i = grid.row; i < d; i += grid.rows) {
    for (unsigned j = grid.column; j <= i; j += grid.columns) {
      double value = 0;
      for (unsigned l = 0; l <= j; ++l) {
        value += work[std::size_t{i} * stride + l] * work[std::size_t{j} * stride + l];
      }
      covariance[std::size_t{i} * d + j] = value;
      covariance[std::size_t{j} * d + i] = value;
    }
  }
  group.sync();
}

// What has become of the last launch's model; every group finds it out for itself.
enum class outcome { nothing, dropped, only_recorded, second_point, third_point };

template <class Scalar>
__device__ outcome find_outcome(const squarem_arguments<Scalar>& arguments) {
  const step_state& step = *arguments.step.state;
  const squarem_state& state = *arguments.state;
  if (step.steps == step.followed) {
    return state.tried != 0 && step.reason == stop_reason::failed ? outcome::dropped : outcome::nothing;
  }
  squarem_course course = state.course;
  if (state.tried != 0 && !course.judge(step.objectives[step.steps - 1])) return outcome::dropped;
  if (step.reason != stop_reason::none) return outcome::only_recorded;
  return course.phase == squarem_phase::second ? outcome::third_point : outcome::second_point;
}

template <class Group, class Scalar>
__device__ void put_back(const Group& group, const squarem_arguments<Scalar>& arguments, unsigned index) {
  for_each_number(group, arguments.step.layout, index,
                  [&](std::size_t at) { arguments.step.model.weights[at] = arguments.kept[at]; });
}

// The present model's coordinates are the cycle's next point, or the tried model is dropped.
template <class Group, class Scalar>
__device__ void follow_part(const Group& group, const squarem_arguments<Scalar>& arguments, unsigned index,
                            outcome found, double* work) {
  const kernel_layout& layout = arguments.step.layout;
  double* const first = point_of(arguments, squarem_point::first);
  double* const second = point_of(arguments, squarem_point::second);
  double* const third = point_of(arguments, squarem_point::third);
  if (found == outcome::dropped) {
    put_back(group, arguments, index);
    for_each_coordinate(group, layout, index, [&](std::size_t at) { first[at] = third[at]; });
  } else if (found == outcome::second_point) {
    const double* const tried = point_of(arguments, squarem_point::tried);
    const bool kept = arguments.state->tried != 0;
    find_coordinates(group, arguments, index, work, [&](std::size_t at, double value) {
      second[at] = value;
      if (kept) first[at] = tried[at];
    });
  } else if (found == outcome::third_point) {
    double r_squared = 0, v_squared = 0;
    find_coordinates(group, arguments, index, work, [&](std::size_t at, double value) {
      third[at] = value;
      const double r = second[at] - first[at], v = value - second[at] - r;
      r_squared += r * r;
      v_squared += v * v;
    });
    r_squared = group.sum(r_squared);
    v_squared = group.sum(v_squared);
    if (group.rank == 0) {
      arguments.norms[2 * std::size_t{index}] = r_squared;
      arguments.norms[2 * std::size_t{index} + 1] = v_squared;
    }
  }
}

// The kept model is back, whatever the tried one's own step has come to.
template <class Scalar>
__device__ void forget_tried(const squarem_arguments<Scalar>& arguments) {
  step_state& step = *arguments.step.state;
  arguments.state->tried = 0;
  arguments.state->replaced = 1;
  step.failure = refusal::none;
  step.reason = stop_reason::none;
  *arguments.step.prepared.stopped = 0;
  *arguments.step.host_reason = static_cast<int>(stop_reason::none);
}

// The record of it. By one thread, when all parts are done.
template <class Scalar>
__device__ void record_outcome(const squarem_arguments<Scalar>& arguments, outcome found) {
  if (found == outcome::nothing) return;
  step_state& step = *arguments.step.state;
  squarem_state& state = *arguments.state;
  const bool stepped = step.steps != step.followed;
  const double reached = stepped ? step.objectives[step.steps - 1] : 0;
  double change = INFINITY;
  if (!stepped) {
    state.course.go_back();
  } else if (state.tried != 0) {
    state.course.judge(reached);
  }
  if (found == outcome::dropped) {
    forget_tried(arguments);
  } else {
    change = state.course.follow(reached, found != outcome::only_recorded);
  }
  state.tried = 0;
  if (!stepped) return;
  state.changes[step.steps - 1] = change;
  step.followed = step.steps;
  if (step.reason == stop_reason::none && arguments.tolerance != 0 && fabs(change) < arguments.tolerance) {
    step.reason = stop_reason::converged;
    *arguments.step.prepared.stopped = static_cast<int>(stop_reason::converged);
    *arguments.step.host_reason = static_cast<int>(stop_reason::converged);
  }
}

template <class Scalar>
__device__ bool leaps(const squarem_arguments<Scalar>& arguments) {
  return *arguments.step.prepared.stopped == 0 && arguments.state->course.phase == squarem_phase::leap;
}

// The length of the step from here, by each warp for itself; `course` is a copy.
template <class Scalar>
__device__ double find_length(const squarem_arguments<Scalar>& arguments, squarem_course& course) {
  double r_squared = 0, v_squared = 0;
  for (unsigned index = threadIdx.x % cuda::warp_size; index < part_count(arguments.step.layout);
       index += cuda::warp_size) {
    r_squared += arguments.norms[2 * std::size_t{index}];
    v_squared += arguments.norms[2 * std::size_t{index} + 1];
  }
  return course.step_length(cuda::warp_sum(r_squared), cuda::warp_sum(v_squared));
}

template <class Scalar>
__device__ double extrapolated(const squarem_arguments<Scalar>& arguments, double length, std::size_t at) {
  const double first = point_of(arguments, squarem_point::first)[at];
  const double second = point_of(arguments, squarem_point::second)[at];
  const double r = second - first, v = point_of(arguments, squarem_point::third)[at] - second - r;
  return first + 2 * length * r + length * length * v;
}

// A part of the model at the end of a step of that length; 0: the present model begins the next cycle.
template <class Group, class Scalar>
__device__ void leap_part(const Group& group, const squarem_arguments<Scalar>& arguments, unsigned index, double length,
                          double log_weights, double* work) {
  const kernel_layout& layout = arguments.step.layout;
  if (length == 0) {
    double* const first = point_of(arguments, squarem_point::first);
    const double* const third = point_of(arguments, squarem_point::third);
    for_each_coordinate(group, layout, index, [&](std::size_t at) { first[at] = third[at]; });
    return;
  }
  double* const tried = point_of(arguments, squarem_point::tried);
  for_each_number(group, layout, index, [&](std::size_t at) { arguments.kept[at] = arguments.step.model.weights[at]; });
  for_each_coordinate(group, layout, index, [&](std::size_t at) { tried[at] = extrapolated(arguments, length, at); });
  group.sync();
  place_part(group, arguments, index, tried, log_weights, work);
}

template <class Scalar>
__device__ double find_log_weights(const squarem_arguments<Scalar>& arguments, double length) {
  return log_sum(arguments.step.layout.components, [&](unsigned k) { return extrapolated(arguments, length, k); });
}

// By one thread, when all parts are done.
template <class Scalar>
__device__ void record_leap(const squarem_arguments<Scalar>& arguments, const squarem_course& course, double length) {
  arguments.state->course = course;
  if (length == 0) return;
  arguments.state->tried = 1;
  arguments.state->replaced = 1;
}

// Groups of threads go through the parts, each with memory for a matrix.
template <class Group>
struct groups;
template <>
struct groups<cuda::warp_group> {
  unsigned first, step;
  double* work;
  template <class Scalar>
  __device__ groups(const squarem_arguments<Scalar>& arguments, double* shared, step_memory) {
    const unsigned warps = blockDim.x / cuda::warp_size, index = threadIdx.x / cuda::warp_size;
    const kernel_layout& layout = arguments.step.layout;
    first = blockIdx.x * warps + index;
    step = gridDim.x * warps;
    work = shared + index * component_work(layout.type, layout.columns);
  }
};
template <>
struct groups<cuda::block_group> {
  unsigned first, step;
  double* work;
  template <class Scalar>
  __device__ groups(const squarem_arguments<Scalar>& arguments, double* shared, step_memory memory) {
    first = blockIdx.x;
    step = gridDim.x;
    work = memory == step_memory::tiles
               ? work_of_tiles(arguments.step) + blockIdx.x * matrix_size(arguments.step.layout.columns)
               : shared;
  }
};

template <class Group, class Scalar>
__device__ void follow(const squarem_arguments<Scalar>& arguments, const groups<Group>& cut) {
  const Group group;
  const outcome found = find_outcome(arguments);
  if (found != outcome::nothing && found != outcome::only_recorded) {
    for (unsigned index = cut.first; index < part_count(arguments.step.layout); index += cut.step) {
      follow_part(group, arguments, index, found, cut.work);
      group.sync();
    }
  }
  const cuda::block_group block;
  if (!last_block(block, &arguments.step.state->finished_blocks)) return;
  if (block.rank == 0) record_outcome(arguments, found);
}

template <class Group, class Scalar>
__device__ void leap(const squarem_arguments<Scalar>& arguments, const groups<Group>& cut) {
  if (!leaps(arguments)) return;
  const Group group;
  squarem_course course = arguments.state->course;
  const double length = find_length(arguments, course);
  const double log_weights = length == 0 ? 0 : find_log_weights(arguments, length);
  for (unsigned index = cut.first; index < part_count(arguments.step.layout); index += cut.step) {
    leap_part(group, arguments, index, length, log_weights, cut.work);
    group.sync();
  }
  const cuda::block_group block;
  if (!last_block(block, &arguments.step.state->finished_blocks)) return;
  if (block.rank == 0) record_leap(arguments, course, length);
}

// The course stays as it is, so that the same model is tried again.
template <class Group, class Scalar>
__device__ void give_way(const squarem_arguments<Scalar>& arguments, const groups<Group>& cut) {
  if (arguments.state->tried == 0) return;
  const Group group;
  for (unsigned index = cut.first; index < part_count(arguments.step.layout); index += cut.step) {
    put_back(group, arguments, index);
  }
  const cuda::block_group block;
  if (!last_block(block, &arguments.step.state->finished_blocks)) return;
  if (block.rank == 0) forget_tried(arguments);
}

template <class Group, class Scalar>
__global__ void __launch_bounds__(most_block_threads)
    follow_kernel(const __grid_constant__ squarem_arguments<Scalar> arguments, step_memory memory) {
  extern __shared__ double shared[];
  cuda::wait_for_predecessor();
  follow(arguments, groups<Group>(arguments, shared, memory));
}

template <class Group, class Scalar>
__global__ void __launch_bounds__(most_block_threads)
    leap_kernel(const __grid_constant__ squarem_arguments<Scalar> arguments, step_memory memory) {
  extern __shared__ double shared[];
  cuda::wait_for_predecessor();
  leap(arguments, groups<Group>(arguments, shared, memory));
}

template <class Group, class Scalar>
__global__ void __launch_bounds__(most_block_threads)
    give_way_kernel(const __grid_constant__ squarem_arguments<Scalar> arguments, step_memory memory) {
  extern __shared__ double shared[];
  cuda::wait_for_predecessor();
  give_way(arguments, groups<Group>(arguments, shared, memory));
}

// All of it, by the one block that does all components, a warp each.
template <class Scalar>
__global__ void __launch_bounds__(most_block_threads)
    extrapolate_in_one_block(const __grid_constant__ squarem_arguments<Scalar> arguments, squarem_work work) {
  extern __shared__ double shared[];
  __shared__ double constants[most_warps];
  cuda::wait_for_predecessor();
  const cuda::block_group block;
  const groups<cuda::warp_group> cut(arguments, shared, step_memory::shared);
  if (work == squarem_work::go_on) {
    follow(arguments, cut);
    block.sync();
  }
  if (work == squarem_work::end) {
    give_way(arguments, cut);
  } else {
    leap(arguments, cut);
  }
  block.sync();
  if (arguments.state->replaced == 0) return;
  if (cut.first < arguments.step.layout.components) {
    prepare_component(cuda::warp_group(), arguments.step, cut.first, cut.work, constants);
  }
  block.sync();
  settle_prepared(block, arguments.step, constants);
}

template <class Group, class Scalar>
__global__ void __launch_bounds__(most_block_threads)
    begin_cycle_kernel(const __grid_constant__ squarem_arguments<Scalar> arguments, step_memory memory) {
  extern __shared__ double shared[];
  cuda::wait_for_predecessor();
  const groups<Group> cut(arguments, shared, memory);
  const Group group;
  double* const first = point_of(arguments, squarem_point::first);
  for (unsigned index = cut.first; index < part_count(arguments.step.layout); index += cut.step) {
    find_coordinates(group, arguments, index, cut.work, [&](std::size_t at, double value) { first[at] = value; });
    group.sync();
  }
}

// As for steps. Where those have tiles a block has a matrix in their memory, so that there are no more blocks than fit.
template <class Scalar>
step_launch choose_groups(const step_arguments<Scalar>& step) {
  step_launch shape = choose_launch(step.layout, step.multiprocessors, step.shared_bytes);
  if (shape.memory == step_memory::tiles) {
    const std::size_t fit = tiled_work(step.layout) / matrix_size(step.layout.columns);
    shape.blocks = static_cast<unsigned>(std::clamp<std::size_t>(fit, 1, shape.blocks));
  }
  return shape;
}

template <class Scalar>
using squarem_kernel = void (*)(squarem_arguments<Scalar>, step_memory);

template <class Scalar>
void launch(squarem_kernel<Scalar> by_warps, squarem_kernel<Scalar> by_blocks,
            const squarem_arguments<Scalar>& arguments, cudaStream_t stream) {
  const step_launch shape = choose_groups(arguments.step);
  cuda::launch_in_turn(shape.warps ? by_warps : by_blocks, shape.blocks, shape.threads, shape.shared, stream, arguments,
                       shape.memory);
}

}  // namespace

std::size_t point_size(const kernel_layout& layout) {
  const std::size_t K = layout.components, d = layout.columns;
  const std::size_t spreads = layout.type == covariance_type::full   ? K * triangle(layout.columns)
                              : layout.type == covariance_type::tied ? triangle(layout.columns)
                              : layout.type == covariance_type::diag ? K * d
                                                                     : K;
  return K + K * d + spreads;
}

std::size_t norms_size(const kernel_layout& layout) { return 2 * std::size_t{part_count(layout)}; }

template <class Scalar>
void extrapolate(const squarem_arguments<Scalar>& arguments, squarem_work work, cudaStream_t stream) {
  const step_launch shape = choose_groups(arguments.step);
  if (shape.warps && shape.blocks == 1) {
    cuda::launch_in_turn(extrapolate_in_one_block<Scalar>, 1, shape.threads, shape.shared, stream, arguments, work);
    return;
  }
  if (work == squarem_work::go_on) {
    launch<Scalar>(follow_kernel<cuda::warp_group>, follow_kernel<cuda::block_group>, arguments, stream);
  }
  if (work == squarem_work::end) {
    launch<Scalar>(give_way_kernel<cuda::warp_group>, give_way_kernel<cuda::block_group>, arguments, stream);
  } else {
    launch<Scalar>(leap_kernel<cuda::warp_group>, leap_kernel<cuda::block_group>, arguments, stream);
  }
  prepare(arguments.step, stream);
}
template void extrapolate(const squarem_arguments<float>&, squarem_work, cudaStream_t);
template void extrapolate(const squarem_arguments<double>&, squarem_work, cudaStream_t);

template <class Scalar>
void begin_cycle(const squarem_arguments<Scalar>& arguments, cudaStream_t stream) {
  launch<Scalar>(begin_cycle_kernel<cuda::warp_group>, begin_cycle_kernel<cuda::block_group>, arguments, stream);
}
template void begin_cycle(const squarem_arguments<float>&, cudaStream_t);
template void begin_cycle(const squarem_arguments<double>&, cudaStream_t);

}  // namespace shoal::gmm
