#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/reaction_diffusion/cuda/newton.hpp>
#include <shoal/reaction_diffusion/cuda/newton_vectors.cuh>
#include <shoal/reaction_diffusion/tridiagonal/cuda/partition.cuh>

namespace shoal::reaction_diffusion {
namespace {

using tridiagonal::block_memory;
using tridiagonal::block_row;
using tridiagonal::middle_threads;
using tridiagonal::partition_threads;
using tridiagonal::refused_row;
using tridiagonal::thread_rows;

constexpr int own = newton_thread_rows;
constexpr int rows_of_block = own * partition_threads;
static_assert(rows_of_block == newton_block_rows);

// Newton's rows at the iterate; or, with a right side that is given, those of the last iteration. The ends mirror their
// neighbours, or v is prescribed.
template <class Scalar, bool given>
struct newton_rows {
  newton_memory<Scalar> memory;

  __device__ long long base() const { return 0; }

  __device__ void rows(long long first, thread_rows<Scalar, own>& to, node_vector<Scalar>* room) const {
    const newton_state<Scalar>& state = *memory.state;
    const axon_equations<Scalar>& by = memory.equations;
    const Scalar* const v = vector_of(memory, given ? state.spare : state.iterate);
    const Scalar kappa = state.stage.kappa;
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const long long begin = first - lane * own;  // of the warp
    const lane_exchange<Scalar, own> through{room};
    Scalar here[own];
    typename lane_exchange<Scalar, own>::vector read_v[through.vectors], read_right[through.vectors];
    through.fetch(v, begin, by.nodes, lane, read_v);
    through.fetch(memory.right, begin, by.nodes, lane, read_right);
    through.arrange(read_v, lane, here);
    through.arrange(read_right, lane, to.right);
    Scalar before = __shfl_up_sync(every_lane, here[own - 1], 1);
    Scalar behind = __shfl_down_sync(every_lane, here[0], 1);
    if (lane == 0 && first > 0 && first <= by.nodes) before = v[first - 1];
    if (by.around && first == 0) before = v[by.low];
    if (lane == lanes - 1 && first + own < by.nodes) behind = v[first + own];
    const Scalar beside = -kappa * by.weight, steep = 2 * (1 + by.a);
    const Scalar still = state.stage.own + 2 * kappa * by.weight;
    const bool at_end = first == 0 || first + own >= by.nodes;
    const Scalar far = beside * by.stretch;
#pragma unroll
    for (int k = 0; k < own; ++k) {
      const Scalar value = here[k];
      Scalar left = k > 0 ? here[k > 0 ? k - 1 : 0] : before;
      Scalar right = k + 1 < own ? here[k + 1 < own ? k + 1 : 0] : behind;
      Scalar lower = beside, upper = beside, own_still = still;
      if (at_end && by.around) {
        if (first + k == 0) lower = far;
        if (first + k == by.nodes - 1) {
          right = v[by.high];
          upper = far;
        }
        if (first + k == 0 || first + k == by.nodes - 1) own_still = still + (beside - far);
      } else if (at_end) {
        if (first + k == 0) {
          left = right;
          lower = 0;
          upper = 2 * beside;
        }
        if (first + k == by.nodes - 1) {
          right = left;
          upper = 0;
          lower = by.has_input ? 0 : 2 * beside;
        }
      }
      const Scalar bend = sum_of(left, right) - sum_of(value, value);
      const Scalar reaction = product_of(product_of(value, 1 - value), value - by.a);
      const Scalar rate = fused(by.weight, bend, reaction);
      const Scalar derivative = product_of(value, fused(Scalar(-3), value, steep)) - by.a;
      to.lower[k] = lower;
      to.upper[k] = upper;
      to.diagonal[k] = fused(-kappa, derivative, own_still);
      if constexpr (!given) to.right[k] = fused(kappa, rate, fused(-state.stage.own, value, to.right[k]));
      if (at_end && first + k >= by.nodes - 1) {
        if (first + k >= by.nodes || by.has_input) to.diagonal[k] = 1;
        if (!given && first + k == by.nodes - 1 && by.has_input) to.right[k] = state.stage.input - value;
        if (first + k >= by.nodes) {
          // A thread that has the last node fills up its rows; no row of a thread behind it is part of the system.
          const bool fills = by.around && first < by.nodes;
          to.lower[k] = to.upper[k] = fills ? far : Scalar(0);
          to.right[k] = 0;
          if (fills && far != 0) to.diagonal[k] = -2 * far;
        }
      }
    }
  }
};

// The next iterate, and the largest change.
template <class Scalar>
struct newton_change {
  newton_memory<Scalar> memory;

  __device__ void take(long long first, Scalar (&change)[own], node_vector<Scalar>* room) const {
    newton_state<Scalar>& state = *memory.state;
    const long long nodes = memory.equations.nodes;
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const lane_exchange<Scalar, own> through{room};
    unsigned long long largest = 0;
#pragma unroll
    for (int k = 0; k < own; ++k) {
      const unsigned long long bits = bits_of(static_cast<double>(change[k]));
      if (first + k < nodes && bits > largest) largest = bits;
    }
    raise(state.change, largest, lane);
    Scalar here[own];
    through.load(vector_of(memory, state.iterate), first - lane * own, nodes, lane, here);
#pragma unroll
    for (int k = 0; k < own; ++k) here[k] = sum_of(here[k], change[k]);
    through.store(here, 0, first - lane * own, nodes, lane, vector_of(memory, state.spare));
  }
};

// The right side, solved in its place.
template <class Scalar>
struct damped_right {
  newton_memory<Scalar> memory;

  __device__ void take(long long first, const Scalar (&known)[own], node_vector<Scalar>* room) const {
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    lane_exchange<Scalar, own>{room}.store(known, 0, first - lane * own, memory.equations.nodes, lane, memory.right);
  }
};

template <class Scalar>
__device__ int own_block(const newton_memory<Scalar>& memory) {
  return static_cast<int>(memory.first / rows_of_block) + static_cast<int>(blockIdx.x);
}

// The thread whose last row is its block's: where the axon closes, the one that has the last node.
template <class Scalar>
__device__ int last_thread(const newton_memory<Scalar>& memory, int place) {
  const long long left = memory.equations.nodes - static_cast<long long>(place) * rows_of_block;
  return memory.equations.around && left < rows_of_block ? static_cast<int>((left - 1) / own) : partition_threads - 1;
}

// Where several GPUs iterate, work is enqueued before it is known to be needed, and does nothing then.
template <bool given, class Scalar>
__global__ void __launch_bounds__(partition_threads, 3)
    reduce_newton_kernel(newton_memory<Scalar> memory, block_row<Scalar>* blocks) {
  if (!given && memory.state->done) return;
  const int place = own_block(memory);
  tridiagonal::reduce_block<Scalar, own>(newton_rows<Scalar, given>{memory}, place, blocks, &memory.state->refused,
                                         last_thread(memory, place));
}

template <bool given, class Scalar>
__global__ void __launch_bounds__(middle_threads)
    middle_newton_kernel(newton_memory<Scalar> memory, block_memory<Scalar> blocks, int count) {
  if (!given && memory.state->done) return;
  tridiagonal::solve_middle(blocks, count, 0, rows_of_block, memory.equations.nodes - 1, &memory.state->refused,
                            memory.equations.around);
}

template <bool given, class Scalar>
__global__ void __launch_bounds__(partition_threads, 3)
    finish_newton_kernel(newton_memory<Scalar> memory, block_row<Scalar>* blocks, int count) {
  using sink = std::conditional_t<given, damped_right<Scalar>, newton_change<Scalar>>;
  if (!given && memory.state->done) return;
  const int place = own_block(memory), before = place > 0 ? place - 1 : memory.equations.around ? count - 1 : -1;
  tridiagonal::finish_block<Scalar, own>(newton_rows<Scalar, given>{memory}, sink{memory}, place, before, blocks,
                                         &memory.state->refused, last_thread(memory, place));
}

template <class Scalar>
__global__ void decide_kernel(newton_state<Scalar>* state, cudaGraphConditionalHandle loop) {
  if (!goes_on(*state)) cudaGraphSetConditional(loop, 0);
}

std::size_t blocks_of(long long nodes) { return static_cast<std::size_t>((nodes + rows_of_block - 1) / rows_of_block); }

// All blocks of the axon, of which a GPU has some.
template <class Scalar>
block_memory<Scalar> blocks_in(const newton_memory<Scalar>& memory) {
  return block_memory<Scalar>::in(memory.scratch, blocks_of(memory.equations.nodes));
}

template <class Scalar>
unsigned own_blocks(const newton_memory<Scalar>& memory) {
  return static_cast<unsigned>(blocks_of(memory.end - memory.first));
}

}  // namespace

template <class Scalar>
std::size_t newton_scratch_values(std::size_t nodes) {
  return block_memory<Scalar>::values * blocks_of(static_cast<long long>(nodes));
}

template <class Scalar>
void reduce_newton(const newton_memory<Scalar>& memory, bool damps, cudaStream_t stream) {
  const auto kernel = damps ? reduce_newton_kernel<true, Scalar> : reduce_newton_kernel<false, Scalar>;
  kernel<<<own_blocks(memory), partition_threads, 0, stream>>>(memory, blocks_in(memory).rows);
  cuda::check_launch("reduce_newton");
}

template <class Scalar>
void solve_newton_middle(const newton_memory<Scalar>& memory, bool damps, cudaStream_t stream) {
  const auto kernel = damps ? middle_newton_kernel<true, Scalar> : middle_newton_kernel<false, Scalar>;
  kernel<<<1, middle_threads, 0, stream>>>(memory, blocks_in(memory),
                                           static_cast<int>(blocks_of(memory.equations.nodes)));
  cuda::check_launch("solve_newton_middle");
}

template <class Scalar>
void finish_newton(const newton_memory<Scalar>& memory, bool damps, cudaStream_t stream) {
  const auto kernel = damps ? finish_newton_kernel<true, Scalar> : finish_newton_kernel<false, Scalar>;
  kernel<<<own_blocks(memory), partition_threads, 0, stream>>>(memory, blocks_in(memory).rows,
                                                               static_cast<int>(blocks_of(memory.equations.nodes)));
  cuda::check_launch("finish_newton");
}

template <class Scalar>
newton_blocks newton_blocks_of(const newton_memory<Scalar>& memory, long long first, long long end) {
  block_row<Scalar>* const rows = blocks_in(memory).rows;
  const auto place = static_cast<std::size_t>(first / rows_of_block);
  return {reinterpret_cast<std::byte*>(rows + place), (blocks_of(end) - place) * sizeof(block_row<Scalar>)};
}

template <class Scalar>
cuda::graph record_newton(const newton_memory<Scalar>& memory, cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  cuda::check(cudaGraphCreate(&graph, 0), "make a graph");
  cudaGraphConditionalHandle loop{};
  cuda::check(cudaGraphConditionalHandleCreate(&loop, graph, 1, cudaGraphCondAssignDefault), "make a graph's loop");
  cudaGraphNodeParams of_loop{};
  of_loop.type = cudaGraphNodeTypeConditional;
  of_loop.conditional.handle = loop;
  of_loop.conditional.type = cudaGraphCondTypeWhile;
  of_loop.conditional.size = 1;
  cudaGraphNode_t loop_node = nullptr;
  cuda::check(cudaGraphAddNode(&loop_node, graph, nullptr, nullptr, 0, &of_loop), "make a graph's loop");
  cuda::check(cudaStreamBeginCaptureToGraph(stream, of_loop.conditional.phGraph_out[0], nullptr, nullptr, 0,
                                            cudaStreamCaptureModeThreadLocal),
              "record a graph");
  reduce_newton(memory, false, stream);
  solve_newton_middle(memory, false, stream);
  finish_newton(memory, false, stream);
  decide_kernel<<<1, 1, 0, stream>>>(memory.state, loop);
  cudaGraph_t body = nullptr;
  cuda::check(cudaStreamEndCapture(stream, &body), "record a graph");
  return cuda::graph::make(graph, stream);
}

template std::size_t newton_scratch_values<double>(std::size_t);
template void reduce_newton(const newton_memory<double>&, bool, cudaStream_t);
template void solve_newton_middle(const newton_memory<double>&, bool, cudaStream_t);
template void finish_newton(const newton_memory<double>&, bool, cudaStream_t);
template newton_blocks newton_blocks_of(const newton_memory<double>&, long long, long long);
template cuda::graph record_newton(const newton_memory<double>&, cudaStream_t);
template std::size_t newton_scratch_values<float>(std::size_t);
template void reduce_newton(const newton_memory<float>&, bool, cudaStream_t);
template void solve_newton_middle(const newton_memory<float>&, bool, cudaStream_t);
template void finish_newton(const newton_memory<float>&, bool, cudaStream_t);
template newton_blocks newton_blocks_of(const newton_memory<float>&, long long, long long);
template cuda::graph record_newton(const newton_memory<float>&, cudaStream_t);

}  // namespace shoal::reaction_diffusion
