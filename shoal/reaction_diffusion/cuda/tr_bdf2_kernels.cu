#include <cuda_runtime.h>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/reaction_diffusion/cuda/newton_vectors.cuh>
#include <shoal/reaction_diffusion/cuda/tr_bdf2_kernels.hpp>

namespace shoal::reaction_diffusion {
namespace {

constexpr int threads = 256;

template <class Scalar>
__device__ long long own_node(const newton_memory<Scalar>& memory) {
  return memory.first + static_cast<long long>(blockIdx.x) * threads + threadIdx.x;
}

// With f = a·x as the host has it: products and sums are rounded one by one.
template <class Scalar>
__global__ void begin_middle_kernel(tr_bdf2_memory<Scalar> memory, tr_bdf2_scalars<Scalar> by) {
  const newton_memory<Scalar>& newton = memory.newton;
  const newton_state<Scalar>& state = *newton.state;
  const long long i = own_node(newton);
  if (i >= newton.end) return;
  const Scalar* const now = vector_of(newton, state.now);
  const Scalar v = now[i], w = memory.w[i];
  const Scalar rate = rate_at(newton.equations, now, i, w);
  const Scalar constant = sum_of(product_of(by.keep, w), product_of(by.gain, v));
  memory.rate[i] = rate;
  newton.w[i] = constant;
  newton.right[i] = sum_of(v, product_of(by.kappa, rate - constant));
  vector_of(newton, state.iterate)[i] = sum_of(v, product_of(by.reach, v - vector_of(newton, state.earlier)[i]));
}

template <class Scalar>
__global__ void begin_end_kernel(tr_bdf2_memory<Scalar> memory, tr_bdf2_scalars<Scalar> by) {
  const newton_memory<Scalar>& newton = memory.newton;
  const newton_state<Scalar>& state = *newton.state;
  const long long i = own_node(newton);
  if (i >= newton.end) return;
  const Scalar v = vector_of(newton, state.now)[i], middle = vector_of(newton, state.middle)[i];
  const Scalar constant =
      product_of(by.decay, product_of(by.from_middle, newton.w[i]) - product_of(by.from_begin, memory.w[i]));
  memory.end_w[i] = constant;
  newton.right[i] = product_of(by.from_middle, middle) - product_of(by.from_begin, v) - product_of(by.kappa, constant);
  vector_of(newton, state.iterate)[i] = sum_of(v, product_of(by.beyond, middle - v));
}

// The stages' own equations give the rates at the middle and at the end.
template <class Scalar>
__device__ Scalar error_of(const tr_bdf2_scalars<Scalar>& by, Scalar begin, Scalar middle, Scalar end, Scalar rate) {
  const Scalar at_middle = product_of(middle - begin, by.per_kappa) - rate;
  const Scalar at_end = sum_of(end - product_of(by.from_middle, middle), product_of(by.from_begin, begin));
  return product_of(by.step, sum_of(sum_of(product_of(by.of_begin, rate), product_of(by.of_middle, at_middle)),
                                    product_of(product_of(by.of_end, at_end), by.per_kappa)));
}

template <class Scalar>
__global__ void estimate_kernel(tr_bdf2_memory<Scalar> memory, tr_bdf2_scalars<Scalar> by) {
  const newton_memory<Scalar>& newton = memory.newton;
  const newton_state<Scalar>& state = *newton.state;
  const long long i = own_node(newton);
  if (i >= newton.end) return;
  const Scalar error = error_of(by, vector_of(newton, state.now)[i], vector_of(newton, state.middle)[i],
                                vector_of(newton, state.iterate)[i], memory.rate[i]);
  newton.right[i] = newton.equations.has_input && i == newton.equations.nodes - 1 ? Scalar(0) : error;
}

template <class Scalar>
__global__ void largest_error_kernel(tr_bdf2_memory<Scalar> memory, tr_bdf2_scalars<Scalar> by) {
  const newton_memory<Scalar>& newton = memory.newton;
  newton_state<Scalar>& state = *newton.state;
  const long long i = own_node(newton);
  unsigned long long largest = 0;
  if (i < newton.end) {
    const Scalar v = vector_of(newton, state.now)[i], w = memory.w[i];
    const Scalar rate = product_of(by.epsilon, v - product_of(by.gamma, w));
    const Scalar of_w = error_of(by, w, newton.w[i], memory.end_w[i], rate);
    largest = max(bits_of(static_cast<double>(newton.right[i])), bits_of(static_cast<double>(of_w)));
  }
  raise(state.change, largest, static_cast<int>(threadIdx.x) % 32);
}

template <class Scalar>
__global__ void accept_kernel(newton_state<Scalar>* state) {
  state->earlier = state->now;
  state->now = state->iterate;
}

template <class Scalar, class Kernel>
void launch(Kernel kernel, const char* name, const tr_bdf2_memory<Scalar>& memory, const tr_bdf2_scalars<Scalar>& by,
            cudaStream_t stream) {
  const long long nodes = memory.newton.end - memory.newton.first;
  kernel<<<static_cast<unsigned>((nodes + threads - 1) / threads), threads, 0, stream>>>(memory, by);
  cuda::check_launch(name);
}

}  // namespace

template <class Scalar>
void begin_middle(const tr_bdf2_memory<Scalar>& memory, const tr_bdf2_scalars<Scalar>& by, cudaStream_t stream) {
  launch(begin_middle_kernel<Scalar>, "begin_middle", memory, by, stream);
}

template <class Scalar>
void begin_end(const tr_bdf2_memory<Scalar>& memory, const tr_bdf2_scalars<Scalar>& by, cudaStream_t stream) {
  launch(begin_end_kernel<Scalar>, "begin_end", memory, by, stream);
}

template <class Scalar>
void estimate_error(const tr_bdf2_memory<Scalar>& memory, const tr_bdf2_scalars<Scalar>& by, cudaStream_t stream) {
  launch(estimate_kernel<Scalar>, "estimate_error", memory, by, stream);
}

template <class Scalar>
void find_largest_error(const tr_bdf2_memory<Scalar>& memory, const tr_bdf2_scalars<Scalar>& by, cudaStream_t stream) {
  launch(largest_error_kernel<Scalar>, "find_largest_error", memory, by, stream);
}

template <class Scalar>
void accept_end(const tr_bdf2_memory<Scalar>& memory, cudaStream_t stream) {
  accept_kernel<<<1, 1, 0, stream>>>(memory.newton.state);
  cuda::check_launch("accept_end");
}

template void begin_middle(const tr_bdf2_memory<double>&, const tr_bdf2_scalars<double>&, cudaStream_t);
template void begin_middle(const tr_bdf2_memory<float>&, const tr_bdf2_scalars<float>&, cudaStream_t);
template void begin_end(const tr_bdf2_memory<double>&, const tr_bdf2_scalars<double>&, cudaStream_t);
template void begin_end(const tr_bdf2_memory<float>&, const tr_bdf2_scalars<float>&, cudaStream_t);
template void estimate_error(const tr_bdf2_memory<double>&, const tr_bdf2_scalars<double>&, cudaStream_t);
template void estimate_error(const tr_bdf2_memory<float>&, const tr_bdf2_scalars<float>&, cudaStream_t);
template void find_largest_error(const tr_bdf2_memory<double>&, const tr_bdf2_scalars<double>&, cudaStream_t);
template void find_largest_error(const tr_bdf2_memory<float>&, const tr_bdf2_scalars<float>&, cudaStream_t);
template void accept_end(const tr_bdf2_memory<double>&, cudaStream_t);
template void accept_end(const tr_bdf2_memory<float>&, cudaStream_t);

}  // namespace shoal::reaction_diffusion
