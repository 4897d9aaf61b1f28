#include <cuda_runtime.h>

#include <cstdint>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/reaction_diffusion/tridiagonal/cuda/kernels.hpp>
#include <shoal/reaction_diffusion/tridiagonal/cuda/partition.cuh>

namespace shoal::reaction_diffusion::tridiagonal {
namespace {

// Rows of a thread, and blocks that a multiprocessor holds.
constexpr int own = 16;
constexpr int blocks_at_once = 3;
constexpr int rows_of_block = own * partition_threads;

// Rows from memory: system `which`, or that of the block.
template <class Scalar>
struct stored_rows {
  systems<Scalar> system;
  long long which;
  bool a_block_each, aligned;

  __device__ long long base() const {
    return (a_block_each ? static_cast<long long>(blockIdx.x) : which) * static_cast<long long>(system.rows);
  }

  __device__ void rows(long long first, thread_rows<Scalar, own>& to, node_vector<Scalar>* room) const {
    using through = lane_exchange<Scalar, own>;
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const auto count = static_cast<long long>(system.rows);
    const long long begin = first - lane * own;  // of the warp
    typename through::vector lower[through::vectors], diagonal[through::vectors], upper[through::vectors],
        right[through::vectors];
    through::fetch(system.lower + base(), begin, count, lane, lower, aligned);
    through::fetch(system.diagonal + base(), begin, count, lane, diagonal, aligned);
    through::fetch(system.upper + base(), begin, count, lane, upper, aligned);
    through::fetch(system.right + base(), begin, count, lane, right, aligned);
    const through here{room};
    here.arrange(lower, lane, to.lower);
    here.arrange(diagonal, lane, to.diagonal);
    here.arrange(upper, lane, to.upper);
    here.arrange(right, lane, to.right);
    if (first == 0) to.lower[0] = 0;
    if (first + own < count) return;
      // Rows that do not exist say x = 0.
#pragma unroll
    for (int k = 0; k < own; ++k) {
      if (first + k >= count - 1) to.upper[k] = 0;
      if (first + k >= count) to.diagonal[k] = 1;
    }
  }
};

template <class Scalar>
struct stored_solution {
  Scalar* solution;
  stored_rows<Scalar> source;

  __device__ void take(long long first, const Scalar (&known)[own], node_vector<Scalar>* room) const {
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    lane_exchange<Scalar, own>{room}.store(known, 0, first - lane * own, static_cast<long long>(source.system.rows),
                                           lane, solution + source.base(), source.aligned);
  }
};

template <class Scalar>
__global__ void __launch_bounds__(partition_threads, blocks_at_once)
    reduce_kernel(stored_rows<Scalar> source, block_row<Scalar>* blocks, refused_row* refused) {
  reduce_block<Scalar, own>(source, static_cast<int>(blockIdx.x), blocks, refused);
}

template <class Scalar>
__global__ void __launch_bounds__(middle_threads)
    middle_kernel(stored_rows<Scalar> source, block_memory<Scalar> blocks, int count, refused_row* refused) {
  const long long base = source.base();
  solve_middle(blocks, count, base, rows_of_block, base + static_cast<long long>(source.system.rows) - 1, refused);
}

template <class Scalar>
__global__ void __launch_bounds__(partition_threads, blocks_at_once)
    finish_kernel(stored_rows<Scalar> source, Scalar* solution, block_row<Scalar>* blocks, refused_row* refused) {
  const int place = static_cast<int>(blockIdx.x);
  finish_block<Scalar, own>(source, stored_solution<Scalar>{solution, source}, place, place - 1, blocks, refused);
}

template <class Scalar>
__global__ void __launch_bounds__(partition_threads, blocks_at_once)
    small_kernel(stored_rows<Scalar> source, Scalar* solution, refused_row* refused) {
  solve_block<Scalar, own>(source, stored_solution<Scalar>{solution, source}, refused);
}

std::size_t blocks_of(std::size_t rows) { return (rows + rows_of_block - 1) / rows_of_block; }

bool begins_at_a_vector(const void* array) { return reinterpret_cast<std::uintptr_t>(array) % 16 == 0; }

}  // namespace

template <class Scalar>
std::size_t scratch_values(std::size_t rows) {
  return rows <= rows_of_block ? 0 : block_memory<Scalar>::values * blocks_of(rows);
}

template <class Scalar>
void solve_on(cudaStream_t stream, const systems<Scalar>& problem, Scalar* solution, Scalar* scratch,
              unsigned long long* refused) {
  static_assert(most_rows_of_block == rows_of_block);
  if (problem.rows == 0 || problem.batch == 0) return;
  bool aligned = problem.batch == 1 || problem.rows * sizeof(Scalar) % 16 == 0;
  const Scalar* const arrays[] = {problem.lower, problem.diagonal, problem.upper, problem.right, solution};
  for (const Scalar* array : arrays) aligned = aligned && begins_at_a_vector(array);
  if (problem.rows <= rows_of_block) {
    small_kernel<<<static_cast<unsigned>(problem.batch), partition_threads, 0, stream>>>(
        stored_rows<Scalar>{problem, 0, true, aligned}, solution, refused);
    cuda::check_launch("solve small tridiagonal systems");
    return;
  }
  const std::size_t count = blocks_of(problem.rows);
  const auto blocks = block_memory<Scalar>::in(scratch, count);
  const auto grid = static_cast<unsigned>(count);
  for (std::size_t which = 0; which < problem.batch; ++which) {
    const stored_rows<Scalar> source{problem, static_cast<long long>(which), false, aligned};
    reduce_kernel<<<grid, partition_threads, 0, stream>>>(source, blocks.rows, refused);
    middle_kernel<<<1, middle_threads, 0, stream>>>(source, blocks, static_cast<int>(count), refused);
    finish_kernel<<<grid, partition_threads, 0, stream>>>(source, solution, blocks.rows, refused);
    cuda::check_launch("solve a tridiagonal system");
  }
}

template std::size_t scratch_values<double>(std::size_t);
template std::size_t scratch_values<float>(std::size_t);
template void solve_on(cudaStream_t, const systems<double>&, double*, double*, unsigned long long*);
template void solve_on(cudaStream_t, const systems<float>&, float*, float*, unsigned long long*);

}  // namespace shoal::reaction_diffusion::tridiagonal
