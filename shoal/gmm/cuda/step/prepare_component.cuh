// From a component's covariance to what kernels read: device code of maximise.cu and prepare.cu.
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/parameters.hpp>
#include <shoal/gmm/cuda/step/eliminate.cuh>
#include <shoal/gmm/cuda/step/eliminate_wide.cuh>
#include <shoal/gmm/cuda/step/step_arguments.hpp>
#include <shoal/gmm/cuda/step/step_launch.cuh>

namespace shoal::gmm {

template <class Scalar>
__device__ void refuse(const step_arguments<Scalar>& arguments, refusal::code kind, unsigned component,
                       unsigned detail) {
  const refusal::code code = refusal::code{component} << 34 | kind << 30 | detail;
  atomicMin(&arguments.state->failure, kind == refusal::mean ? code : code | refusal::after_means);
}

// Writes one number in both arithmetics.
template <class Scalar>
__device__ void write_both(Scalar* packed, double* in_double, std::size_t at, double value) {
  packed[at] = static_cast<Scalar>(value);
  if constexpr (!std::is_same_v<Scalar, double>) in_double[at] = value;
}
template <class Scalar>
__device__ void write_factor(const prepared_arrays<Scalar>& prepared, std::size_t at, double value) {
  write_both(prepared.packed.factors, prepared.in_double.factors, at, value);
}
template <class Scalar>
__device__ void write_offset(const prepared_arrays<Scalar>& prepared, std::size_t at, double value) {
  write_both(prepared.packed.offsets, prepared.in_double.offsets, at, value);
}

// Writes the centre that belongs to a mean, and returns what it leaves of the mean.
template <class Scalar>
__device__ double write_centre(const step_arguments<Scalar>& arguments, unsigned k, unsigned j, double mean) {
  const auto centre = static_cast<Scalar>(mean);
  if (!isfinite(centre)) refuse(arguments, refusal::mean, k, j);
  const auto wide = static_cast<double>(centre);
  write_both(arguments.prepared.packed.centres, arguments.prepared.in_double.centres,
             std::size_t{k} * arguments.layout.columns + j, wide);
  return mean - wide;
}

// Σ ln diag U, after eliminate(); `roots` [columns] takes the inverse roots of D.
template <class Group>
__device__ double take_roots(const Group& group, const double* matrix, unsigned columns, double* roots) {
  double logarithms = 0;
  for (unsigned j = group.rank; j < columns; j += group.size) {
    const double pivot = matrix[std::size_t{j} * matrix_stride(columns) + j];
    roots[j] = 1 / sqrt(pivot);
    logarithms -= 0.5 * log(pivot);
  }
  logarithms = group.sum(logarithms);
  group.sync();
  return logarithms;
}

// U from what eliminate() left, as factor number `which`. False when it is not finite.
template <class Group, class Scalar>
__device__ bool write_matrix(const Group& group, const step_arguments<Scalar>& arguments, unsigned which,
                             const double* matrix, const double* roots) {
  const unsigned d = arguments.layout.columns;
  const unsigned stride = matrix_stride(d);
  const cuda::group_grid grid(group, d);
  const std::size_t start = std::size_t{which} * d * d;
  bool finite = true;
  for (unsigned i = grid.row; i < d; i += grid.rows) {
    for (unsigned j = grid.column; j < d; j += grid.columns) {
      double value = 0;
      if (i < j) value = matrix[std::size_t{j} * stride + i] * roots[j];
      if (i == j) value = roots[j];
      finite = finite && isfinite(value);
      write_factor(arguments.prepared, start + std::size_t{i} * d + j, value);
    }
  }
  return !group.any(!finite);
}

// By whoever has a matrix.
__device__ inline bool eliminate_matrix(const cuda::warp_group& warp, double* matrix, unsigned columns,
                                        double* memory) {
  return eliminate(warp, matrix, columns, memory);
}
__device__ inline bool eliminate_matrix(const cuda::block_group& block, double* matrix, unsigned columns,
                                        double* memory) {
  return columns > most_narrow_columns ? eliminate_wide(block, matrix, columns, memory)
                                       : eliminate(block, matrix, columns, memory);
}

// A component with a matrix of its own, after the upper triangle and the last column (μ − c) of `work` are there.
// `constants` [K] takes ln πₖ + Σ ln diag Uₖ, here and below.
template <class Group, class Scalar>
__device__ void prepare_matrix(const Group& group, const step_arguments<Scalar>& arguments, unsigned k, double weight,
                               double* work, double* constants) {
  const unsigned d = arguments.layout.columns;
  const unsigned stride = matrix_stride(d);
  double* const roots = work + std::size_t{d} * stride;
  if (!eliminate_matrix(group, work, d, roots + d)) {
    if (group.rank == 0) refuse(arguments, refusal::indefinite, k, 0);
    return;
  }
  const double logarithms = take_roots(group, work, d, roots);
  if (!write_matrix(group, arguments, k, work, roots) && group.rank == 0) refuse(arguments, refusal::singular, k, 0);
  for (unsigned j = group.rank; j < d; j += group.size) {
    write_offset(arguments.prepared, std::size_t{k} * d + j, -work[std::size_t{j} * stride + d] * roots[j]);
  }
  if (group.rank == 0) constants[k] = log(weight) + logarithms;
}

// A component without a matrix: `variance(j)` of each column; `rests` [d] holds μ − c.
template <class Group, class Scalar, class Variance>
__device__ void prepare_diagonal(const Group& group, const step_arguments<Scalar>& arguments, unsigned k, double weight,
                                 const double* rests, const Variance& variance, double* constants) {
  const unsigned d = arguments.layout.columns;
  double logarithms = 0;
  for (unsigned j = group.rank; j < d; j += group.size) {
    const double value = variance(j);
    if (!(value > 0) || isinf(value)) refuse(arguments, refusal::variance, k, j);
    const double inverse = 1 / sqrt(value);
    logarithms += log(inverse);
    write_factor(arguments.prepared, std::size_t{k} * d + j, inverse);
    write_offset(arguments.prepared, std::size_t{k} * d + j, -inverse * rests[j]);
  }
  logarithms = group.sum(logarithms);
  if (group.rank == 0) constants[k] = log(weight) + logarithms;
}

// The factor that tied components share, from the model's covariance. Returns Σ ln diag U. By a whole block, since
// there is but one.
template <class Scalar>
__device__ double prepare_shared(const cuda::block_group& block, const step_arguments<Scalar>& arguments,
                                 double* work) {
  const unsigned d = arguments.layout.columns;
  const unsigned stride = matrix_stride(d);
  double* const roots = work + std::size_t{d} * stride;
  const cuda::group_grid grid(block, d);
  for (unsigned i = grid.row; i < d; i += grid.rows) {
    for (unsigned j = grid.column; j < d; j += grid.columns) {
      if (i <= j) work[std::size_t{i} * stride + j] = arguments.model.covariances[std::size_t{i} * d + j];
    }
  }
  for (unsigned i = block.rank; i < d; i += block.size) work[std::size_t{i} * stride + d] = 0;
  block.sync();
  if (!eliminate_matrix(block, work, d, roots + d)) {
    if (block.rank == 0) refuse(arguments, refusal::indefinite, 0, 0);
    return 0;
  }
  const double logarithms = take_roots(block, work, d, roots);
  if (!write_matrix(block, arguments, 0, work, roots) && block.rank == 0) refuse(arguments, refusal::singular, 0, 0);
  return logarithms;
}

// A tied component's offsets b = −Uᵀ(μ − c) and its constant, by a warp.
template <class Scalar>
__device__ void prepare_tied(const cuda::warp_group& warp, const step_arguments<Scalar>& arguments, unsigned k,
                             double logarithms) {
  const unsigned d = arguments.layout.columns;
  const double* const mean = arguments.model.means + std::size_t{k} * d;
  const double* const centre = arguments.prepared.in_double.centres + std::size_t{k} * d;
  const double* const factor = arguments.prepared.in_double.factors;
  for (unsigned j = warp.rank; j < d; j += warp.size) {
    double offset = 0;
    for (unsigned i = 0; i <= j; ++i) offset -= factor[std::size_t{i} * d + j] * (mean[i] - centre[i]);
    write_offset(arguments.prepared, std::size_t{k} * d + j, offset);
  }
  if (warp.rank == 0) {
    arguments.prepared.in_double.log_constants[k] = log(arguments.model.weights[k]) + logarithms;
  }
}

// The same by blocks, one for each 64 columns of each component, of full and tied components whose factors are there.
// A fourth of a block's threads goes through every fourth row.
template <class Scalar>
__device__ void prepare_columns(const cuda::block_group& block, const step_arguments<Scalar>& arguments, unsigned k,
                                unsigned part) {
  constexpr unsigned width = 64, most_parts = 16;
  __shared__ double parts[most_parts * width];
  const unsigned d = arguments.layout.columns;
  const double* const mean = arguments.model.means + std::size_t{k} * d;
  const double* const centre = arguments.prepared.in_double.centres + std::size_t{k} * d;
  const double* const factor = arguments.prepared.in_double.factors +
                               (arguments.layout.type == covariance_type::tied ? 0 : std::size_t{k} * d * d);
  const unsigned column = part * width + block.rank % width;
  double offset = 0;
  constexpr unsigned ahead = 8;  // rows that are asked for at once
  const unsigned own = block.rank / width, rows = block.size / width;
  for (unsigned first = own; first <= column && column < d; first += ahead * rows) {
    double factors[ahead], distances[ahead];
#pragma unroll
    for (unsigned a = 0; a < ahead; ++a) {
      const unsigned i = min(first + a * rows, column);
      factors[a] = factor[std::size_t{i} * d + column];
      distances[a] = mean[i] - centre[i];
    }
#pragma unroll
    for (unsigned a = 0; a < ahead; ++a) {
      if (first + a * rows <= column) offset -= factors[a] * distances[a];
    }
  }
  parts[block.rank] = offset;
  block.sync();
  if (block.rank < width && column < d) {
    for (unsigned at = block.rank + width; at < block.size; at += width) offset += parts[at];
    write_offset(arguments.prepared, std::size_t{k} * d + column, offset);
  }
  if (part != 0) return;
  double logarithms = 0;
  for (unsigned j = block.rank; j < d; j += block.size) logarithms += log(factor[std::size_t{j} * d + j]);
  logarithms = block.sum(logarithms);
  if (block.rank == 0) {
    arguments.prepared.in_double.log_constants[k] = log(arguments.model.weights[k]) + logarithms;
  }
}

// Shifts the log-constants once all are there, so that the greatest is zero. By a whole block.
template <class Scalar>
__device__ void shift_constants(const cuda::block_group& block, const step_arguments<Scalar>& arguments,
                                const double* constants) {
  __shared__ double greatest_of[cuda::warp_size];
  const unsigned K = arguments.layout.components;
  double greatest = -INFINITY;
  for (unsigned k = block.rank; k < K; k += block.size) greatest = fmax(greatest, constants[k]);
  for (unsigned step = 1; step < cuda::warp_size && step < K; step *= 2) {  // the first K lanes need no more
    greatest = fmax(greatest, __shfl_xor_sync(cuda::every_lane, greatest, step));
  }
  if (K > cuda::warp_size) {
    if (block.rank % cuda::warp_size == 0) greatest_of[block.rank / cuda::warp_size] = greatest;
    block.sync();
    for (unsigned warp = 0; warp < block.size / cuda::warp_size; ++warp) greatest = fmax(greatest, greatest_of[warp]);
  }
  // Up to cuda::warp_size components, only the first warp has seen any and writes any.
  if (!isfinite(greatest)) greatest = 0;
  for (unsigned k = block.rank; k < K; k += block.size) {
    write_both(arguments.prepared.packed.log_constants, arguments.prepared.in_double.log_constants, k,
               constants[k] - greatest);
  }
  if (block.rank == 0) *arguments.prepared.log_shift = greatest - arguments.layout.columns * half_log_two_pi;
}

// True in the block of this launch that is the last to get here; what the others wrote is visible to it.
__device__ inline bool last_block(const cuda::block_group& block, unsigned* finished) {
  __shared__ bool last;
  const unsigned blocks = gridDim.x * gridDim.y;
  block.sync();
  if (blocks == 1) return true;
  if (block.rank == 0) {
    __threadfence();
    last = atomicAdd(finished, 1) + 1 == blocks;
    if (last) *finished = 0;
  }
  block.sync();
  if (last) __threadfence();
  return last;
}

// A component of full, diag or spherical.
template <class Group, class Scalar>
__device__ void prepare_component(const Group& group, const step_arguments<Scalar>& arguments, unsigned k, double* work,
                                  double* constants) {
  const covariance_type type = arguments.layout.type;
  const unsigned d = arguments.layout.columns;
  const unsigned stride = matrix_stride(d);
  const double weight = arguments.model.weights[k];
  const bool full = type == covariance_type::full;
  for (unsigned j = group.rank; j < d; j += group.size) {
    const double rest = write_centre(arguments, k, j, arguments.model.means[std::size_t{k} * d + j]);
    work[full ? std::size_t{j} * stride + d : j] = rest;
  }
  if (!full) {
    const double* const variances =
        arguments.model.covariances + (type == covariance_type::diag ? std::size_t{k} * d : k);
    prepare_diagonal(
        group, arguments, k, weight, work, [=](unsigned j) { return variances[type == covariance_type::diag ? j : 0]; },
        constants);
    return;
  }
  const double* const covariance = arguments.model.covariances + std::size_t{k} * d * d;
  for (unsigned element = group.rank; element < d * d; element += group.size) {
    const unsigned i = element / d, j = element % d;
    if (i <= j) work[std::size_t{i} * stride + j] = covariance[element];
  }
  group.sync();
  prepare_matrix(group, arguments, k, weight, work, constants);
}

// The end of preparing a model that no step led to, by the block that is last.
template <class Scalar>
__device__ void settle_prepared(const cuda::block_group& block, const step_arguments<Scalar>& arguments,
                                const double* constants) {
  const refusal::code failure = __ldcg(&arguments.state->failure);
  shift_constants(block, arguments, constants);
  if (block.rank != 0) return;
  const stop_reason reason = failure == refusal::none ? stop_reason::none : stop_reason::failed;
  arguments.state->reason = reason;
  *arguments.prepared.stopped = static_cast<int>(reason);
  if (arguments.replaced != nullptr) *arguments.replaced = 0;
}

}  // namespace shoal::gmm
