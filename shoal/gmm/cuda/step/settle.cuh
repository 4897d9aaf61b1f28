// What every way to end a step shares: what the sums say, what is kept of the last model, the step's record. Device
// code of maximise.cu and factorise_in_tiles.cu.
#pragma once

#include <cuda_runtime.h>

#include <limits>

#include <shoal/gmm/cuda/step/find_jump.cuh>
#include <shoal/gmm/cuda/step/prepare_component.cuh>

namespace shoal::gmm {

// As in maximise.cpp.
inline constexpr double least_weight = 10 * std::numeric_limits<double>::epsilon();

// What every group finds out for itself, which is quicker than to be told.
struct verdict {
  double total = 0;    // Σ Wₖ
  bool empty = false;  // some component has no rows
};

template <class Scalar>
__device__ const double* sums_of(const step_arguments<Scalar>& arguments, unsigned k) {
  return arguments.statistics + arguments.layout.header + k * arguments.layout.component_size;
}

template <class Scalar>
__device__ double weight_of(const step_arguments<Scalar>& arguments, unsigned k) {
  return fmax(sums_of(arguments, k)[arguments.layout.weight], 0.0);
}

// The weight that a thread of a group begins with, for who asks for it early.
template <class Group, class Scalar>
__device__ double first_weight(const Group& group, const step_arguments<Scalar>& arguments) {
  return group.rank < arguments.layout.components ? weight_of(arguments, group.rank) : 0;
}

template <class Group, class Scalar>
__device__ verdict decide(const Group& group, const step_arguments<Scalar>& arguments, double weight) {
  const unsigned K = arguments.layout.components;
  double total = 0;
  bool empty = false;
  const auto add = [&](double of_one) {
    total += of_one;
    empty = empty || !(of_one > least_weight);
  };
  if (group.rank < K) add(weight);
  // Asked for together: one after the other those of 1000 components took a warp 10 µs.
  constexpr unsigned at_once = 8;
  for (unsigned first = group.rank + group.size; first < K; first += at_once * group.size) {
    double some[at_once];
#pragma unroll
    for (unsigned i = 0; i < at_once; ++i) {
      const unsigned k = first + i * group.size;
      some[i] = k < K ? weight_of(arguments, k) : 1;
    }
#pragma unroll
    for (unsigned i = 0; i < at_once; ++i) {
      if (first + i * group.size < K) add(some[i]);
    }
  }
  return {group.sum(total), group.any(empty)};
}
template <class Group, class Scalar>
__device__ verdict decide(const Group& group, const step_arguments<Scalar>& arguments) {
  return decide(group, arguments, first_weight(group, arguments));
}

__device__ inline unsigned triangle_row(unsigned order, unsigned row) { return row * order - row * (row + 1) / 2; }

// What the record of a step needs, read before the work so that it need not wait afterwards.
struct step_start {
  double objective = 0;
  double previous = 0;
  double tolerance = 0;
  int has_previous = 0;
  unsigned steps = 0;
  unsigned pass_steps = 1;
};

// All but the objective, as the step before left it, wherever it ran.
__device__ inline step_start read_start(const step_state& state) {
  return {0,
          __ldcg(&state.previous),
          __ldcg(&state.tolerance),
          __ldcg(&state.has_previous),
          __ldcg(&state.steps),
          __ldcg(&state.pass_steps)};
}

template <class Scalar>
__device__ step_start read_start(const step_arguments<Scalar>& arguments) {
  step_start start = read_start(*arguments.state);
  start.objective = arguments.statistics[log_likelihood_at] / arguments.statistics[total_weight_at];
  return start;
}

// The new mean of a column; returns what the new centre leaves of the mean.
template <class Scalar>
__device__ double maximise_mean(const step_arguments<Scalar>& arguments, unsigned k, unsigned j, double centre,
                                double delta) {
  const double mean = centre + delta;
  arguments.model.means[std::size_t{k} * arguments.layout.columns + j] = mean;
  return write_centre(arguments, k, j, mean);
}

// Where the thread that writes a value is the one that keeps the last.
template <class Scalar>
__device__ double replace_mean(const step_arguments<Scalar>& arguments, unsigned k, unsigned j, double centre,
                               double delta) {
  const std::size_t at = std::size_t{k} * arguments.layout.columns + j;
  arguments.before.means[at] = arguments.model.means[at];
  return maximise_mean(arguments, k, j, centre, delta);
}

template <class Scalar>
__device__ void replace_weight(const step_arguments<Scalar>& arguments, unsigned k, double weight) {
  arguments.before.weights[k] = arguments.model.weights[k];
  arguments.model.weights[k] = weight;
}

template <class Scalar>
__device__ void replace_covariance(const step_arguments<Scalar>& arguments, std::size_t at, double value) {
  arguments.before.covariances[at] = arguments.model.covariances[at];
  arguments.model.covariances[at] = value;
}

// δ², by a product that no other is contracted with: the step's own bits stay as they are without it.
__device__ inline double squared(double delta) { return __dmul_rn(delta, delta); }

// Where a column's mean has moved by more than its deviation (`between` > `rest`), the block that is last looks closer.
// One block need not ask memory.
template <class Scalar>
__device__ void note_move(const step_arguments<Scalar>& arguments, bool far) {
  if (far && gridDim.x != 1) arguments.state->far = 1;
}

// The record of a step, and whether others may follow. By one thread.
template <class Scalar>
__device__ void record_step(const step_arguments<Scalar>& arguments, const step_start& start, bool empty, bool jumped,
                            refusal::code failure) {
  step_state& state = *arguments.state;
  state.far = 0;
  stop_reason reason = stop_reason::none;
  const bool ends_pass = (start.steps + 1) % start.pass_steps == 0;
  if (empty) {
    reason = stop_reason::empty;
  } else if (jumped) {
    reason = stop_reason::jumped;
    state.failure = refusal::none;
  } else if (failure != refusal::none) {
    reason = stop_reason::failed;
  } else if (ends_pass && start.has_previous != 0 && start.tolerance != 0 &&
             fabs(start.objective - start.previous) < start.tolerance) {
    reason = stop_reason::converged;
  }
  state.objectives[start.steps] = start.objective;
  state.steps = start.steps + 1;
  if (ends_pass) {
    state.previous = start.objective;
    state.has_previous = 1;
  }
  if (reason == stop_reason::none) return;
  state.reason = reason;
  *arguments.prepared.stopped = static_cast<int>(reason);
  *arguments.host_reason = static_cast<int>(reason);
}

// Whether any thread of the launch saw a mean move far, for the block that is last.
template <class Scalar>
__device__ bool any_far(const cuda::block_group& block, const step_arguments<Scalar>& arguments, bool far) {
  return gridDim.x == 1 ? block.any(far) : __ldcg(&arguments.state->far) != 0;
}

// By the block that is last to end a step.
template <class Scalar>
__device__ void settle(const cuda::block_group& block, const step_arguments<Scalar>& arguments, const step_start& start,
                       bool empty, bool far, const double* constants) {
  const refusal::code failure = __ldcg(&arguments.state->failure);
  if (!empty) shift_constants(block, arguments, constants);
  const bool jumped = !empty && far && find_jump(block, arguments, failure != refusal::none);
  block.sync();
  if (block.rank == 0) record_step(arguments, start, empty, jumped, failure);
}

}  // namespace shoal::gmm
