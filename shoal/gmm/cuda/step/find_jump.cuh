// Whether a mean has jumped in a step, by the rule of find_jump() in jump.hpp: device code of maximise.cu.
#pragma once

#include <cuda_runtime.h>

#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/step/step_arguments.hpp>
#include <shoal/gmm/jump_rule.hpp>

namespace shoal::gmm {

// One component's move, or that of tied components together, after the step has replaced means and factors. What other
// blocks have written is read past the nearest cache.
template <class Scalar>
struct component_move {
  const step_arguments<Scalar>& of;
  unsigned k;

  __device__ bool tied() const { return of.layout.type == covariance_type::tied; }
  __device__ const double* sums(unsigned component) const {
    return of.statistics + of.layout.header + component * of.layout.component_size;
  }
  __device__ double weight(unsigned component) const { return fmax(sums(component)[of.layout.weight], 0.0); }
  __device__ static std::size_t row(unsigned order, unsigned i) {
    return std::size_t{i} * order - std::size_t{i} * (i + 1) / 2;
  }

  __device__ double delta(unsigned component, unsigned j) const {
    const unsigned d = of.layout.columns;
    std::size_t at = j;
    if (of.layout.type == covariance_type::full) {
      at = row(d + 1, j) + d;
    } else if (!tied()) {
      at = 1 + j;
    }
    return sums(component)[at] / weight(component);
  }

  // δ² and μ² of a column: of tied components the means over all of them.
  __device__ void squares(unsigned j, double& between, double& place) const {
    between = place = 0;
    const unsigned first = tied() ? 0 : k, end = tied() ? of.layout.components : k + 1;
    double total = 0;
    for (unsigned c = first; c < end; ++c) {
      const double share = weight(c), moved = delta(c, j);
      const double mean = __ldcg(of.model.means + std::size_t{c} * of.layout.columns + j);
      between += share * moved * moved;
      place += share * mean * mean;
      total += share;
    }
    between /= total;
    place /= total;
  }

  __device__ double second(unsigned j) const {
    const unsigned d = of.layout.columns;
    if (tied()) {
      double total = 0;
      for (unsigned c = 0; c < of.layout.components; ++c) total += weight(c);
      return of.statistics[of.layout.shared + row(d, j) + j] / total;
    }
    const double* const own = sums(k);
    return (of.layout.type == covariance_type::full ? own[row(d + 1, j) + j] : own[1 + d + j]) / weight(k);
  }
};

// By a whole block, for all components, where a thread saw one move far; `failed` says that some covariance has no
// factor. Components without matrices have found it out by themselves.
template <class Scalar>
__device__ bool find_jump(const cuda::block_group& block, const step_arguments<Scalar>& arguments, bool failed) {
  const kernel_layout& layout = arguments.layout;
  if (layout.type == covariance_type::diag || layout.type == covariance_type::spherical) {
    return true;
  }
  const unsigned d = layout.columns;
  const jump_limit limit = jump_limit_of(sizeof(Scalar));
  const unsigned moves = layout.type == covariance_type::tied ? 1 : layout.components;
  const double* const factors = arguments.prepared.in_double.factors;
  for (unsigned k = 0; k < moves; ++k) {
    const component_move<Scalar> of{arguments, k};
    double between_sum = 0;
    bool helps = false, rough = false;
    for (unsigned j = block.rank; j < d; j += block.size) {
      double between = 0, place = 0;
      of.squares(j, between, place);
      helps = helps || nearer_helps(between, of.second(j), place, limit);
      between_sum += between;
    }
    between_sum = block.sum(between_sum);
    if (block.any(helps) && outweighs(between_sum, arguments.regularization, limit)) {
      // U = L⁻ᵀ, so that column j of U is row j of L⁻¹.
      const double* const factor = factors + (layout.type == covariance_type::tied ? 0 : std::size_t{k} * d * d);
      for (unsigned j = block.rank; j < d && !failed; j += block.size) {
        double whitened = 0;
        for (unsigned i = 0; i <= j; ++i) {
          double between = 0, place = 0;
          of.squares(i, between, place);
          whitened += fabs(__ldcg(factor + std::size_t{i} * d + j)) * sqrt(between);
        }
        rough = rough || !(whitened * whitened <= limit.ratio);
      }
      rough = rough || failed;
    }
    if (block.any(rough)) return true;
  }
  return false;
}

}  // namespace shoal::gmm
