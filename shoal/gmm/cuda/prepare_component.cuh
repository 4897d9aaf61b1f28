// From a component's covariance to what kernels read: device code of maximise.cu and prepare.cu.
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include <shoal/gmm/cuda/maximise.hpp>
#include <shoal/gmm/cuda/thread_group.cuh>

namespace shoal::gmm {

inline constexpr double half_log_two_pi = 0.91893853320467274178;

// Doubles between rows of (Σ | μ − c): odd, so that columns do not share memory banks.
__host__ __device__ inline unsigned matrix_stride(unsigned columns) { return (columns + 1) | 1; }
// Doubles that a group needs for a component: that matrix and one more vector.
__host__ __device__ inline std::size_t component_work(covariance_type type, unsigned columns) {
  const bool matrix = type == covariance_type::full || type == covariance_type::tied;
  return columns + (matrix ? std::size_t{columns} * matrix_stride(columns) : 0);
}

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

// With A = L̃DL̃ᵀ the upper triangle of `matrix` and v its column `columns`, leaves D on the diagonal, the lower triangle
// of L̃⁻¹ (whose diagonal is one) below it and L̃⁻¹v in the last column. Each step subtracts multiples of one row from
// those below it, which nobody writes meanwhile. False when a pivot is not positive and finite.
template <class Group>
__device__ bool eliminate(const Group& group, double* matrix, unsigned columns) {
  const unsigned stride = matrix_stride(columns);
  const unsigned across = columns < 8 ? 8 : (columns < 16 ? 16 : warp_size);
  const unsigned first_column = group.rank % across;
  const unsigned first_row = group.rank / across;
  const unsigned rows = group.size / across;
  for (unsigned j = 0; j < columns; ++j) {
    const double* const above = matrix + std::size_t{j} * stride;
    const double pivot = above[j];
    if (!(pivot > 0) || isinf(pivot)) return false;
    const double inverse = 1 / pivot;
    for (unsigned i = j + 1 + first_row; i < columns; i += rows) {
      double* const row = matrix + std::size_t{i} * stride;
      const double factor = above[i] * inverse;
      for (unsigned column = first_column; column <= columns; column += across) {
        if (column == j) {
          row[column] = -factor;
        } else if (column < j || column >= i) {
          row[column] -= factor * above[column];
        }
      }
    }
    group.sync();
  }
  return true;
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
  const std::size_t start = std::size_t{which} * d * d;
  bool finite = true;
  for (unsigned element = group.rank; element < d * d; element += group.size) {
    const unsigned i = element / d, j = element % d;
    double value = 0;
    if (i < j) value = matrix[std::size_t{j} * stride + i] * roots[j];
    if (i == j) value = roots[j];
    finite = finite && isfinite(value);
    write_factor(arguments.prepared, start + element, value);
  }
  return !group.any(!finite);
}

// ln πₖ + Σ ln diag Uₖ, which settle() shifts when all are there.
template <class Scalar>
__device__ void write_constant(const step_arguments<Scalar>& arguments, unsigned k, double weight, double logarithms) {
  arguments.prepared.in_double.log_constants[k] = log(weight) + logarithms;
}

// A component with a matrix of its own, after the upper triangle and the last column (μ − c) of `work` are there.
template <class Group, class Scalar>
__device__ void prepare_matrix(const Group& group, const step_arguments<Scalar>& arguments, unsigned k, double weight,
                               double* work) {
  const unsigned d = arguments.layout.columns;
  const unsigned stride = matrix_stride(d);
  double* const roots = work + std::size_t{d} * stride;
  if (!eliminate(group, work, d)) {
    if (group.rank == 0) refuse(arguments, refusal::indefinite, k, 0);
    return;
  }
  const double logarithms = take_roots(group, work, d, roots);
  if (!write_matrix(group, arguments, k, work, roots) && group.rank == 0) refuse(arguments, refusal::singular, k, 0);
  for (unsigned j = group.rank; j < d; j += group.size) {
    write_offset(arguments.prepared, std::size_t{k} * d + j, -work[std::size_t{j} * stride + d] * roots[j]);
  }
  if (group.rank == 0) write_constant(arguments, k, weight, logarithms);
}

// A component without a matrix: `variance(j)` of each column; `rests` [d] holds μ − c.
template <class Group, class Scalar, class Variance>
__device__ void prepare_diagonal(const Group& group, const step_arguments<Scalar>& arguments, unsigned k, double weight,
                                 const double* rests, const Variance& variance) {
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
  if (group.rank == 0) write_constant(arguments, k, weight, logarithms);
}

// The factor that tied components share, from the model's covariance. Returns Σ ln diag U. By a whole block, since
// there is but one.
template <class Scalar>
__device__ double prepare_shared(const block_group& block, const step_arguments<Scalar>& arguments, double* work) {
  const unsigned d = arguments.layout.columns;
  const unsigned stride = matrix_stride(d);
  double* const roots = work + std::size_t{d} * stride;
  for (unsigned element = block.rank; element < d * d; element += block.size) {
    const unsigned i = element / d, j = element % d;
    if (i <= j) work[std::size_t{i} * stride + j] = arguments.model.covariances[element];
  }
  for (unsigned i = block.rank; i < d; i += block.size) work[std::size_t{i} * stride + d] = 0;
  block.sync();
  if (!eliminate(block, work, d)) {
    if (block.rank == 0) refuse(arguments, refusal::indefinite, 0, 0);
    return 0;
  }
  const double logarithms = take_roots(block, work, d, roots);
  if (!write_matrix(block, arguments, 0, work, roots) && block.rank == 0) refuse(arguments, refusal::singular, 0, 0);
  return logarithms;
}

// A tied component's offsets b = −Uᵀ(μ − c) and its constant, by a warp.
template <class Scalar>
__device__ void prepare_tied(const warp_group& warp, const step_arguments<Scalar>& arguments, unsigned k,
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
  if (warp.rank == 0) write_constant(arguments, k, arguments.model.weights[k], logarithms);
}

// Shifts the log-constants once all are there, so that the greatest is zero. By a whole block.
template <class Scalar>
__device__ void shift_constants(const block_group& block, const step_arguments<Scalar>& arguments) {
  __shared__ double greatest_of[warp_size];
  const unsigned K = arguments.layout.components;
  double* const constants = arguments.prepared.in_double.log_constants;
  double greatest = -INFINITY;
  for (unsigned k = block.rank; k < K; k += block.size) greatest = fmax(greatest, __ldcg(constants + k));
  for (unsigned step = warp_size / 2; step > 0; step /= 2) {
    greatest = fmax(greatest, __shfl_xor_sync(every_lane, greatest, step));
  }
  if (block.rank % warp_size == 0) greatest_of[block.rank / warp_size] = greatest;
  block.sync();
  for (unsigned warp = 0; warp < block.size / warp_size; ++warp) greatest = fmax(greatest, greatest_of[warp]);
  if (!isfinite(greatest)) greatest = 0;
  for (unsigned k = block.rank; k < K; k += block.size) {
    const double shifted = __ldcg(constants + k) - greatest;
    arguments.prepared.packed.log_constants[k] = static_cast<Scalar>(shifted);
    if constexpr (!std::is_same_v<Scalar, double>) constants[k] = shifted;
  }
  if (block.rank == 0) *arguments.prepared.log_shift = greatest - arguments.layout.columns * half_log_two_pi;
}

// The work memory of the calling group: its part of `shared` or, when that is null, of the arguments' global memory.
template <class Scalar>
__device__ double* work_of(const step_arguments<Scalar>& arguments, double* shared, unsigned group) {
  const std::size_t size = component_work(arguments.layout.type, arguments.layout.columns);
  return (shared == nullptr ? arguments.work : shared) + group * size;
}

// True in the block of this launch that is the last to get here; what the others wrote is visible to it.
__device__ inline bool last_block(const block_group& block, unsigned* finished) {
  __shared__ bool last;
  __threadfence();
  block.sync();
  if (block.rank == 0) {
    last = atomicAdd(finished, 1) + 1 == gridDim.x;
    if (last) *finished = 0;
  }
  block.sync();
  if (last) __threadfence();
  return last;
}

}  // namespace shoal::gmm
