#include <cuda_runtime.h>

#include <cstdint>

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

constexpr int own = 16;
constexpr int rows_of_block = own * partition_threads;
constexpr int most_iterations = 40;
constexpr int threads = 256;
constexpr int vectors_of_thread = 2;

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
    if (lane == lanes - 1 && first + own < by.nodes) behind = v[first + own];
    const Scalar beside = -kappa * by.weight, steep = 2 * (1 + by.a);
    const Scalar still = state.stage.own + 2 * kappa * by.weight;
    const bool at_end = first == 0 || first + own >= by.nodes;
#pragma unroll
    for (int k = 0; k < own; ++k) {
      const Scalar value = here[k];
      Scalar left = k > 0 ? here[k > 0 ? k - 1 : 0] : before;
      Scalar right = k + 1 < own ? here[k + 1 < own ? k + 1 : 0] : behind;
      Scalar lower = beside, upper = beside;
      if (at_end) {
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
      to.diagonal[k] = fused(-kappa, derivative, still);
      if constexpr (!given) to.right[k] = fused(kappa, rate, fused(-state.stage.own, value, to.right[k]));
      if (at_end && first + k >= by.nodes - 1) {
        if (first + k >= by.nodes || by.has_input) to.diagonal[k] = 1;
        if (!given && first + k == by.nodes - 1 && by.has_input) to.right[k] = state.stage.input - value;
        if (first + k >= by.nodes) to.lower[k] = to.upper[k] = to.right[k] = 0;
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

template <class Scalar>
__global__ void set_stage_kernel(newton_state<Scalar>* state, stage_coefficients<Scalar> stage, stage_place place) {
  state->stage = stage;
  state->iteration = 0;
  state->change = 0;
  state->before = __longlong_as_double(0x7ff0000000000000LL);
  state->accepts = place == stage_place::step;
  if (place == stage_place::step) {
    // The state becomes the earlier one; the place of that one takes the guess.
    const int free = state->earlier;
    state->earlier = state->now;
    state->iterate = free;
    state->spare = 3 - state->earlier - state->iterate;
  } else if (place == stage_place::middle) {
    int free[3], count = 0;
    for (int i = 0; i < 5; ++i) {
      if (i != state->now && i != state->earlier) free[count++] = i;
    }
    state->iterate = free[0];
    state->spare = free[1];
    state->third = free[2];
  } else {
    state->middle = state->iterate;
    state->iterate = state->third;
  }
}

// The right side, solved in its place.
template <class Scalar>
struct damped_right {
  newton_memory<Scalar> memory;

  __device__ void take(long long first, const Scalar (&known)[own], node_vector<Scalar>* room) const {
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    lane_exchange<Scalar, own>{room}.store(known, 0, first - lane * own, memory.equations.nodes, lane, memory.right);
  }
};

// right, the guess, and what w has beside β·v, node by node.
template <bool damped, class Scalar>
__global__ void __launch_bounds__(threads) begin_kernel(newton_memory<Scalar> memory) {
  constexpr int width = node_vector<Scalar>::size;
  const newton_state<Scalar>& state = *memory.state;
  const axon_equations<Scalar>& by = memory.equations;
  const Scalar* const now = vector_of(memory, state.earlier);
  Scalar* const guess = vector_of(memory, state.iterate);
  const Scalar kappa = state.stage.kappa, beta = state.stage.beta, keep = state.stage.keep;
#pragma unroll
  for (int part = 0; part < vectors_of_thread; ++part) {
    const long long at =
        ((static_cast<long long>(blockIdx.x) * vectors_of_thread + part) * threads + threadIdx.x) * width;
    if (at >= by.nodes) return;
    // Memory goes on to a whole vector.
    const auto v = *reinterpret_cast<const node_vector<Scalar>*>(now + at);
    const auto w = *reinterpret_cast<const node_vector<Scalar>*>(memory.w + at);
    node_vector<Scalar> old{};
    if constexpr (!damped) old = *reinterpret_cast<const node_vector<Scalar>*>(guess + at);
    node_vector<Scalar> right, constant, next;
#pragma unroll
    for (int k = 0; k < width; ++k) {
      const Scalar value = v.values[k];
      if constexpr (damped) {
        constant.values[k] = product_of(keep, w.values[k]);
        right.values[k] = value - product_of(kappa, constant.values[k]);
        next.values[k] = value;
      } else {
        const Scalar rate = rate_at(by, now, at + k, w.values[k]);
        constant.values[k] = sum_of(product_of(keep, w.values[k]), product_of(beta, value));
        right.values[k] = sum_of(value, product_of(kappa, rate - constant.values[k]));
        next.values[k] = sum_of(value, value) - old.values[k];
      }
    }
    *reinterpret_cast<node_vector<Scalar>*>(memory.right + at) = right;
    *reinterpret_cast<node_vector<Scalar>*>(memory.w + at) = constant;
    *reinterpret_cast<node_vector<Scalar>*>(guess + at) = next;
  }
}

template <class Scalar>
__global__ void __launch_bounds__(threads) end_kernel(newton_memory<Scalar> memory) {
  constexpr int width = node_vector<Scalar>::size;
  const newton_state<Scalar>& state = *memory.state;
  const Scalar* const v = vector_of(memory, state.iterate);
  const Scalar beta = state.stage.beta;
#pragma unroll
  for (int part = 0; part < vectors_of_thread; ++part) {
    const long long at =
        ((static_cast<long long>(blockIdx.x) * vectors_of_thread + part) * threads + threadIdx.x) * width;
    if (at >= memory.equations.nodes) return;
    const auto found = *reinterpret_cast<const node_vector<Scalar>*>(v + at);
    auto w = *reinterpret_cast<const node_vector<Scalar>*>(memory.w + at);
#pragma unroll
    for (int k = 0; k < width; ++k) w.values[k] = sum_of(w.values[k], product_of(beta, found.values[k]));
    *reinterpret_cast<node_vector<Scalar>*>(memory.w + at) = w;
  }
}

template <bool given, class Scalar>
__global__ void __launch_bounds__(partition_threads, 3)
    reduce_newton_kernel(newton_memory<Scalar> memory, block_row<Scalar>* blocks) {
  tridiagonal::reduce_block<Scalar, own>(newton_rows<Scalar, given>{memory}, blocks, &memory.state->refused);
}

template <class Scalar>
__global__ void __launch_bounds__(middle_threads)
    middle_newton_kernel(newton_memory<Scalar> memory, block_memory<Scalar> blocks, int count) {
  tridiagonal::solve_middle(blocks, count, 0, rows_of_block, memory.equations.nodes - 1, &memory.state->refused);
}

template <class Scalar>
__global__ void __launch_bounds__(partition_threads, 3)
    finish_newton_kernel(newton_memory<Scalar> memory, block_row<Scalar>* blocks) {
  tridiagonal::finish_block<Scalar, own>(newton_rows<Scalar, false>{memory}, newton_change<Scalar>{memory}, blocks,
                                         &memory.state->refused);
}

template <class Scalar>
__global__ void __launch_bounds__(partition_threads, 3)
    finish_damped_kernel(newton_memory<Scalar> memory, block_row<Scalar>* blocks) {
  tridiagonal::finish_block<Scalar, own>(newton_rows<Scalar, true>{memory}, damped_right<Scalar>{memory}, blocks,
                                         &memory.state->refused);
}

// Whether another iteration follows; the same rule as on the host.
template <class Scalar>
__global__ void decide_kernel(newton_state<Scalar>* state, cudaGraphConditionalHandle loop) {
  constexpr double epsilon = sizeof(Scalar) == 4 ? 0x1p-23 : 0x1p-52;
  const double change = __longlong_as_double(static_cast<long long>(state->change));
  const int taken = state->iterate;
  state->iterate = state->spare;
  state->spare = taken;
  ++state->iteration;
  ++state->iterations;
  const bool finite = isfinite(change);
  const bool done = change <= state->stage.accuracy ||
                    state->stage.squared * change * change <= state->stage.accuracy ||
                    (change >= state->before && change <= 1e3 * epsilon);
  state->before = change;
  state->change = 0;
  if (finite && !done && state->iteration < most_iterations) return;
  if (!finite || !done) {
    if (state->end == newton_end::converged) {
      state->end = finite ? newton_end::too_many : newton_end::not_finite;
      state->failed_at = state->stage.time;
    }
  }
  if (state->accepts) state->now = state->iterate;
  cudaGraphSetConditional(loop, 0);
}

std::size_t blocks_of(std::size_t nodes) { return (nodes + rows_of_block - 1) / rows_of_block; }

template <class Scalar>
unsigned vector_blocks(long long nodes) {
  constexpr long long each = static_cast<long long>(threads) * vectors_of_thread * node_vector<Scalar>::size;
  return static_cast<unsigned>((nodes + each - 1) / each);
}

}  // namespace

template <class Scalar>
std::size_t newton_scratch_values(std::size_t nodes) {
  return block_memory<Scalar>::values * blocks_of(nodes);
}

template <class Scalar>
void set_stage(const newton_memory<Scalar>& memory, const stage_coefficients<Scalar>& stage, stage_place place,
               cudaStream_t stream) {
  set_stage_kernel<<<1, 1, 0, stream>>>(memory.state, stage, place);
  cuda::check_launch("set_stage");
}

template <class Scalar>
void begin_step(const newton_memory<Scalar>& memory, const stage_coefficients<Scalar>& stage, bool damped,
                cudaStream_t stream) {
  set_stage(memory, stage, stage_place::step, stream);
  const unsigned blocks = vector_blocks<Scalar>(memory.equations.nodes);
  if (damped) {
    begin_kernel<true><<<blocks, threads, 0, stream>>>(memory);
  } else {
    begin_kernel<false><<<blocks, threads, 0, stream>>>(memory);
  }
  cuda::check_launch("begin_step");
}

template <class Scalar>
void damp(const newton_memory<Scalar>& memory, cudaStream_t stream) {
  const std::size_t count = blocks_of(static_cast<std::size_t>(memory.equations.nodes));
  const auto blocks = block_memory<Scalar>::in(memory.scratch, count);
  const auto grid = static_cast<unsigned>(count);
  reduce_newton_kernel<true><<<grid, partition_threads, 0, stream>>>(memory, blocks.rows);
  middle_newton_kernel<<<1, middle_threads, 0, stream>>>(memory, blocks, static_cast<int>(count));
  finish_damped_kernel<<<grid, partition_threads, 0, stream>>>(memory, blocks.rows);
  cuda::check_launch("damp");
}

template <class Scalar>
cuda::graph record_newton(const newton_memory<Scalar>& memory, cudaStream_t stream) {
  const auto nodes = static_cast<std::size_t>(memory.equations.nodes);
  const std::size_t count = blocks_of(nodes);
  const auto blocks = block_memory<Scalar>::in(memory.scratch, count);
  const auto grid = static_cast<unsigned>(count);

  cudaGraph_t graph = nullptr;
  cuda::check(cudaGraphCreate(&graph, 0), "make a graph");
  cudaGraphConditionalHandle loop{};
  cuda::check(cudaGraphConditionalHandleCreate(&loop, graph, 1, cudaGraphCondAssignDefault), "make a graph's loop");
  cudaGraphNodeParams of_loop{};
  of_loop.type = cudaGraphNodeTypeConditional;
  of_loop.conditional.handle = loop;
  of_loop.conditional.type = cudaGraphCondTypeWhile;
  of_loop.conditional.size = 1;
  cudaGraphNode_t loop_node = nullptr, end_node = nullptr;
  cuda::check(cudaGraphAddNode(&loop_node, graph, nullptr, nullptr, 0, &of_loop), "make a graph's loop");
  cuda::check(cudaStreamBeginCaptureToGraph(stream, of_loop.conditional.phGraph_out[0], nullptr, nullptr, 0,
                                            cudaStreamCaptureModeThreadLocal),
              "record a graph");
  reduce_newton_kernel<false><<<grid, partition_threads, 0, stream>>>(memory, blocks.rows);
  middle_newton_kernel<<<1, middle_threads, 0, stream>>>(memory, blocks, static_cast<int>(count));
  finish_newton_kernel<<<grid, partition_threads, 0, stream>>>(memory, blocks.rows);
  decide_kernel<<<1, 1, 0, stream>>>(memory.state, loop);
  cudaGraph_t body = nullptr;
  cuda::check(cudaStreamEndCapture(stream, &body), "record a graph");

  newton_memory<Scalar> of_end = memory;
  void* arguments[] = {&of_end};
  cudaGraphNodeParams end{};
  end.type = cudaGraphNodeTypeKernel;
  end.kernel.func = reinterpret_cast<void*>(end_kernel<Scalar>);
  end.kernel.gridDim = dim3(vector_blocks<Scalar>(memory.equations.nodes));
  end.kernel.blockDim = dim3(threads);
  end.kernel.kernelParams = arguments;
  cuda::check(cudaGraphAddNode(&end_node, graph, &loop_node, nullptr, 1, &end), "make a graph");
  return cuda::graph::make(graph, stream);
}

template std::size_t newton_scratch_values<double>(std::size_t);
template std::size_t newton_scratch_values<float>(std::size_t);
template void set_stage(const newton_memory<double>&, const stage_coefficients<double>&, stage_place, cudaStream_t);
template void begin_step(const newton_memory<double>&, const stage_coefficients<double>&, bool, cudaStream_t);
template void damp(const newton_memory<double>&, cudaStream_t);
template void set_stage(const newton_memory<float>&, const stage_coefficients<float>&, stage_place, cudaStream_t);
template void begin_step(const newton_memory<float>&, const stage_coefficients<float>&, bool, cudaStream_t);
template void damp(const newton_memory<float>&, cudaStream_t);
template cuda::graph record_newton(const newton_memory<double>&, cudaStream_t);
template cuda::graph record_newton(const newton_memory<float>&, cudaStream_t);

}  // namespace shoal::reaction_diffusion
