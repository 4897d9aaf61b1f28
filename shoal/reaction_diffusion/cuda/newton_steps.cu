// What comes before and behind Newton's iterations, node by node, and what GPUs tell each other after each.
#include <cuda_runtime.h>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/reaction_diffusion/cuda/newton.hpp>
#include <shoal/reaction_diffusion/cuda/newton_vectors.cuh>

namespace shoal::reaction_diffusion {
namespace {

constexpr int threads = 256;
constexpr int vectors_of_thread = 2;

template <class Scalar>
__global__ void set_stage_kernel(newton_state<Scalar>* state, stage_coefficients<Scalar> stage, stage_place place) {
  state->stage = stage;
  state->iteration = 0;
  state->change = 0;
  state->before = __longlong_as_double(0x7ff0000000000000LL);
  state->accepts = place == stage_place::step;
  state->done = false;
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

template <class Scalar>
__device__ long long own_vector(const newton_memory<Scalar>& memory, int part) {
  return memory.first + ((static_cast<long long>(blockIdx.x) * vectors_of_thread + part) * threads + threadIdx.x) *
                            node_vector<Scalar>::size;
}

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
    const long long at = own_vector<Scalar>(memory, part);
    if (at >= memory.end) return;
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
    const long long at = own_vector<Scalar>(memory, part);
    if (at >= memory.end) return;
    const auto found = *reinterpret_cast<const node_vector<Scalar>*>(v + at);
    auto w = *reinterpret_cast<const node_vector<Scalar>*>(memory.w + at);
#pragma unroll
    for (int k = 0; k < width; ++k) w.values[k] = sum_of(w.values[k], product_of(beta, found.values[k]));
    *reinterpret_cast<node_vector<Scalar>*>(memory.w + at) = w;
  }
}

// One thread, of each GPU of several.
template <class Scalar>
__global__ void write_letter_kernel(newton_memory<Scalar> memory, newton_letter<Scalar>* letter, bool of_guess) {
  newton_state<Scalar>& state = *memory.state;
  if (!of_guess && state.done) return;
  const Scalar* const v = vector_of(memory, of_guess ? state.iterate : state.spare);
  *letter = {state.change, v[memory.first], v[memory.end - 1]};
}

template <class Scalar>
__global__ void read_letters_kernel(newton_memory<Scalar> memory, const newton_letter<Scalar>* letters, int own_place,
                                    int count, bool of_guess) {
  newton_state<Scalar>& state = *memory.state;
  if (!of_guess && state.done) return;
  Scalar* const v = vector_of(memory, of_guess ? state.iterate : state.spare);
  v[memory.first - 1] = letters[own_place > 0 ? own_place - 1 : count - 1].last;
  v[memory.end] = letters[own_place + 1 < count ? own_place + 1 : 0].first;
  if (of_guess) return;
  for (int i = 0; i < count; ++i) state.change = max(state.change, letters[i].change);
  goes_on(state);
}

template <class Scalar>
unsigned vector_blocks(const newton_memory<Scalar>& memory) {
  constexpr long long each = static_cast<long long>(threads) * vectors_of_thread * node_vector<Scalar>::size;
  return static_cast<unsigned>((memory.end - memory.first + each - 1) / each);
}

}  // namespace

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
  const unsigned blocks = vector_blocks(memory);
  if (damped) {
    begin_kernel<true><<<blocks, threads, 0, stream>>>(memory);
  } else {
    begin_kernel<false><<<blocks, threads, 0, stream>>>(memory);
  }
  cuda::check_launch("begin_step");
}

template <class Scalar>
void write_letter(const newton_memory<Scalar>& memory, newton_letter<Scalar>* letter, bool of_guess,
                  cudaStream_t stream) {
  write_letter_kernel<<<1, 1, 0, stream>>>(memory, letter, of_guess);
  cuda::check_launch("write_letter");
}

template <class Scalar>
void read_letters(const newton_memory<Scalar>& memory, const newton_letter<Scalar>* letters, std::size_t place,
                  std::size_t count, bool of_guess, cudaStream_t stream) {
  read_letters_kernel<<<1, 1, 0, stream>>>(memory, letters, static_cast<int>(place), static_cast<int>(count), of_guess);
  cuda::check_launch("read_letters");
}

template <class Scalar>
void end_newton(const newton_memory<Scalar>& memory, cudaStream_t stream) {
  end_kernel<<<vector_blocks(memory), threads, 0, stream>>>(memory);
  cuda::check_launch("end_newton");
}

template void set_stage(const newton_memory<double>&, const stage_coefficients<double>&, stage_place, cudaStream_t);
template void begin_step(const newton_memory<double>&, const stage_coefficients<double>&, bool, cudaStream_t);
template void write_letter(const newton_memory<double>&, newton_letter<double>*, bool, cudaStream_t);
template void read_letters(const newton_memory<double>&, const newton_letter<double>*, std::size_t, std::size_t, bool,
                           cudaStream_t);
template void end_newton(const newton_memory<double>&, cudaStream_t);
template void set_stage(const newton_memory<float>&, const stage_coefficients<float>&, stage_place, cudaStream_t);
template void begin_step(const newton_memory<float>&, const stage_coefficients<float>&, bool, cudaStream_t);
template void write_letter(const newton_memory<float>&, newton_letter<float>*, bool, cudaStream_t);
template void read_letters(const newton_memory<float>&, const newton_letter<float>*, std::size_t, std::size_t, bool,
                           cudaStream_t);
template void end_newton(const newton_memory<float>&, cudaStream_t);

}  // namespace shoal::reaction_diffusion
