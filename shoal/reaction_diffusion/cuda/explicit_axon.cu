// A warp takes a window of the axon through all steps of a pass in its registers: a lane has consecutive nodes, and
// gets its neighbours' by shuffles. What went wrong at the window's ends is thrown away.
#include <cuda_runtime.h>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/reaction_diffusion/cuda/explicit_kernels.hpp>
#include <shoal/reaction_diffusion/cuda/fused.cuh>
#include <shoal/reaction_diffusion/cuda/lane_exchange.cuh>

namespace shoal::reaction_diffusion {
namespace {

constexpr int warps = 4;

// Nodes of a lane, and blocks that a multiprocessor holds.
template <class Scalar>
struct axon_tuning;
template <>
struct axon_tuning<double> {
  static constexpr int nodes = 12, blocks = 4;
};
template <>
struct axon_tuning<float> {
  static constexpr int nodes = 16, blocks = 5;
};

template <class Scalar>
struct axon_pass {
  const Scalar* v;
  const Scalar* w;
  Scalar* new_v;
  Scalar* new_w;
  const Scalar* input;
  long long nodes;
  int steps;
  bool left_mirrors, right_mirrors, has_input;
  explicit_coefficients<Scalar> by;
};

template <bool recovery_spreads, bool at_end, class Scalar, int own>
__device__ void step_lane(const axon_pass<Scalar>& pass, long long first, Scalar (&v)[own], Scalar (&w)[own]) {
  const explicit_coefficients<Scalar>& by = pass.by;
  for (int step = 0; step < pass.steps; ++step) {
    if constexpr (at_end) {
#pragma unroll
      for (int k = 0; k < own; ++k) {
        if (pass.has_input && first + k == pass.nodes - 1) v[k] = pass.input[step];
      }
    }
    Scalar left_v = __shfl_up_sync(every_lane, v[own - 1], 1);
    const Scalar right_v = __shfl_down_sync(every_lane, v[0], 1);
    Scalar left_w = 0, right_w = 0;
    if constexpr (recovery_spreads) {
      left_w = __shfl_up_sync(every_lane, w[own - 1], 1);
      right_w = __shfl_down_sync(every_lane, w[0], 1);
    }
#pragma unroll
    for (int k = 0; k < own; ++k) {
      const Scalar old_v = v[k], old_w = w[k];
      Scalar before_v = left_v, behind_v = k + 1 < own ? v[k + 1 < own ? k + 1 : k] : right_v;
      Scalar before_w = left_w, behind_w = k + 1 < own ? w[k + 1 < own ? k + 1 : k] : right_w;
      if constexpr (at_end) {
        if (pass.left_mirrors && first + k == 0) {
          before_v = behind_v;
          before_w = behind_w;
        }
        if (pass.right_mirrors && first + k == pass.nodes - 1) {
          behind_v = before_v;
          behind_w = before_w;
        }
      }
      const Scalar slope = fused(old_v, fused(-by.step, old_v, by.quadratic), by.rest);
      const Scalar flow = fused(-by.step, old_w, product_of(by.spread, sum_of(before_v, behind_v)));
      v[k] = fused(slope, old_v, flow);
      w[k] = fused(by.decay, old_w, product_of(by.gain, old_v));
      if constexpr (recovery_spreads) w[k] = fused(by.recovery_spread, sum_of(before_w, behind_w), w[k]);
      left_v = old_v;
      left_w = old_w;
    }
  }
  if constexpr (at_end) {
#pragma unroll
    for (int k = 0; k < own; ++k) {
      if (pass.has_input && first + k == pass.nodes - 1) v[k] = pass.input[pass.steps];
    }
  }
}

template <bool recovery_spreads, class Scalar>
__global__ void __launch_bounds__(warps* lanes, axon_tuning<Scalar>::blocks)
    step_axon_kernel(const __grid_constant__ axon_pass<Scalar> pass, int halo) {
  constexpr int own = axon_tuning<Scalar>::nodes, size = own * lanes;
  using through = lane_exchange<Scalar, own>;
  __shared__ node_vector<Scalar> room[warps][lanes * through::stride];
  const int lane = static_cast<int>(threadIdx.x) % lanes, warp = static_cast<int>(threadIdx.x) / lanes;
  const long long window = static_cast<long long>(blockIdx.x) * warps + warp;
  const long long begin = window * (size - 2 * halo) - halo;
  if (begin + halo >= pass.nodes) return;
  const through rows{room[warp]};
  Scalar v[own], w[own];
  typename through::vector read_v[through::vectors], read_w[through::vectors];
  rows.fetch(pass.v, begin, pass.nodes, lane, read_v);
  rows.fetch(pass.w, begin, pass.nodes, lane, read_w);
  rows.arrange(read_v, lane, v);
  rows.arrange(read_w, lane, w);
  if (begin <= 0 || begin + size >= pass.nodes) {
    step_lane<recovery_spreads, true>(pass, begin + lane * own, v, w);
  } else {
    step_lane<recovery_spreads, false>(pass, begin + lane * own, v, w);
  }
  rows.store(v, halo, begin, pass.nodes, lane, pass.new_v);
  rows.store(w, halo, begin, pass.nodes, lane, pass.new_w);
}

}  // namespace

template <class Scalar>
void step_axon(const field<const Scalar>& from, const field<Scalar>& to, std::size_t nodes, int steps, window_end left,
               window_end right, const Scalar* input, const explicit_coefficients<Scalar>& by, cudaStream_t stream) {
  constexpr int vector = node_vector<Scalar>::size;
  const int halo = (steps + vector - 1) / vector * vector;
  const axon_pass<Scalar> pass{from.v,
                               from.w,
                               to.v,
                               to.w,
                               input,
                               static_cast<long long>(nodes),
                               steps,
                               left == window_end::mirror,
                               right != window_end::open,
                               right == window_end::input,
                               by};
  const std::size_t own = static_cast<std::size_t>(axon_tuning<Scalar>::nodes * lanes - 2 * halo) * warps;
  const auto blocks = static_cast<unsigned>((nodes + own - 1) / own);
  if (by.recovery_spread == 0) {
    step_axon_kernel<false><<<blocks, warps * lanes, 0, stream>>>(pass, halo);
  } else {
    step_axon_kernel<true><<<blocks, warps * lanes, 0, stream>>>(pass, halo);
  }
  cuda::check_launch("step_axon");
}

template void step_axon(const field<const double>&, const field<double>&, std::size_t, int, window_end, window_end,
                        const double*, const explicit_coefficients<double>&, cudaStream_t);
template void step_axon(const field<const float>&, const field<float>&, std::size_t, int, window_end, window_end,
                        const float*, const explicit_coefficients<float>&, cudaStream_t);

}  // namespace shoal::reaction_diffusion
