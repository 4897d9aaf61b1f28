// The reaction node by node; products and sums are rounded one by one, as on the host.
#include <cuda_runtime.h>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/reaction_diffusion/cuda/fused.cuh>
#include <shoal/reaction_diffusion/cuda/newton_vectors.cuh>
#include <shoal/reaction_diffusion/cuda/split_kernels.hpp>

namespace shoal::reaction_diffusion {
namespace {

constexpr int threads = 256;
constexpr int most_iterations = 40;

unsigned blocks_for(std::size_t count, int each) {
  return static_cast<unsigned>((count + static_cast<std::size_t>(each) - 1) / static_cast<std::size_t>(each));
}

__device__ long long own_index() { return static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; }

// Solves v − κ(f(v) − α − βv) = right. Returns the iterations, 0 where they do not converge.
template <class Scalar>
__device__ unsigned solve_node(Scalar kappa, Scalar a, Scalar alpha, Scalar beta, Scalar right, Scalar accuracy,
                               Scalar& v) {
  for (unsigned iteration = 1; iteration <= most_iterations; ++iteration) {
    const Scalar reaction = product_of(product_of(v, 1 - v), v - a) - alpha - product_of(beta, v);
    const Scalar residual = v - product_of(kappa, reaction) - right;
    const Scalar slope = 1 - product_of(kappa, product_of(v, 2 * (1 + a) - product_of(Scalar(3), v)) - a - beta);
    const Scalar change = residual / slope;
    v -= change;
    const Scalar size = change < 0 ? -change : change;
    if (!isfinite(size)) return 0;
    if (size <= accuracy || 3 * kappa * size * size <= accuracy) return iteration;
  }
  return 0;
}

template <class Scalar>
__global__ void __launch_bounds__(threads)
    react_kernel(field<Scalar> nodes, long long count, reaction_step<Scalar> by, split_state* state) {
  const long long i = own_index();
  unsigned taken = 0;
  if (i < count) {
    const Scalar begin_v = nodes.v[i], begin_w = nodes.w[i];
    const bool backward = by.rule == part_rule::backward_euler;
    const Scalar kappa = backward                          ? by.step
                         : by.rule == part_rule::trapezoid ? by.step / 2
                                                           : static_cast<Scalar>(tr_bdf2_weights::share) * by.step / 2;
    const Scalar own = kappa * by.epsilon * by.gamma, decay = 1 / (1 + own), beta = kappa * by.epsilon * decay;
    const Scalar rate = product_of(product_of(begin_v, 1 - begin_v), begin_v - by.a) - begin_w;
    Scalar alpha = backward ? product_of(decay, begin_w)
                            : sum_of(product_of(product_of(decay, 1 - own), begin_w), product_of(beta, begin_v));
    Scalar right = backward ? begin_v : sum_of(begin_v, product_of(kappa, rate));
    Scalar v = begin_v;
    taken = solve_node(kappa, by.a, alpha, beta, right, by.accuracy, v);
    if (by.rule == part_rule::tr_bdf2 && taken > 0) {
      const auto c1 = static_cast<Scalar>(tr_bdf2_weights::from_middle),
                 c2 = static_cast<Scalar>(tr_bdf2_weights::from_begin);
      const Scalar middle_w = sum_of(alpha, product_of(beta, v));
      right = product_of(c1, v) - product_of(c2, begin_v);
      alpha = product_of(decay, product_of(c1, middle_w) - product_of(c2, begin_w));
      const unsigned more = solve_node(kappa, by.a, alpha, beta, right, by.accuracy, v);
      taken = more == 0 ? 0 : taken + more;
    }
    if (taken == 0 && atomicExch(&state->failed, 1u) == 0) state->failed_at = by.time;
    nodes.v[i] = v;
    nodes.w[i] = sum_of(alpha, product_of(beta, v));
  }
  const unsigned most = __reduce_max_sync(0xffffffffu, taken);
  if (threadIdx.x % 32 == 0 && most > 0) atomicMax(&state->most, most);
}

__global__ void count_kernel(split_state* state, unsigned* iterations) {
  *iterations = state->most;
  state->most = 0;
}

template <class Scalar>
__global__ void __launch_bounds__(threads)
    difference_kernel(const Scalar* one, const Scalar* other, long long count, split_state* state) {
  const long long i = own_index();
  const unsigned long long own = i < count ? bits_of(static_cast<double>(one[i] - other[i])) : 0;
  raise(state->difference, own, static_cast<int>(threadIdx.x) % 32);
}

}  // namespace

template <class Scalar>
void react(const field<Scalar>& nodes, std::size_t count, const reaction_step<Scalar>& by, split_state* state,
           unsigned* iterations, cudaStream_t stream) {
  react_kernel<<<blocks_for(count, threads), threads, 0, stream>>>(nodes, static_cast<long long>(count), by, state);
  count_kernel<<<1, 1, 0, stream>>>(state, iterations);
  cuda::check_launch("react");
}

template <class Scalar>
void find_difference(const Scalar* one, const Scalar* other, std::size_t count, split_state* state,
                     cudaStream_t stream) {
  difference_kernel<<<blocks_for(count, threads), threads, 0, stream>>>(one, other, static_cast<long long>(count),
                                                                        state);
  cuda::check_launch("find_difference");
}

template void react(const field<double>&, std::size_t, const reaction_step<double>&, split_state*, unsigned*,
                    cudaStream_t);
template void react(const field<float>&, std::size_t, const reaction_step<float>&, split_state*, unsigned*,
                    cudaStream_t);
template void find_difference(const double*, const double*, std::size_t, split_state*, cudaStream_t);
template void find_difference(const float*, const float*, std::size_t, split_state*, cudaStream_t);

}  // namespace shoal::reaction_diffusion
