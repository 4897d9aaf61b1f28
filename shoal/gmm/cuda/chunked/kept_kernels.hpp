// Statistics that each superchunk left on the GPU when it was last visited, and what all of them are together.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/gmm/cuda/mixture.hpp>

namespace shoal::gmm {

/// What the kernels work on. Memory of one GPU.
struct kept_arguments {
  kernel_layout layout;
  std::size_t size = 0;                   ///< elements of a statistic
  const double* fresh = nullptr;          ///< [size] of the superchunk that has been visited
  const double* fresh_centres = nullptr;  ///< [K][d] that they are about
  const double* centres = nullptr;        ///< [K][d] of the present parameters
  const int* moved = nullptr;             ///< null, or where it is said whether `fresh` is folded in
  double* kept = nullptr;                 ///< [superchunks][size], each about centres of its own
  double* kept_centres = nullptr;         ///< [superchunks][K][d]
  double* total = nullptr;                ///< [size]
  const int* stopped = nullptr;           ///< as prepared_parameters::stopped
  unsigned superchunks = 0;
  unsigned superchunk = 0;  ///< that has been visited
};

/// Keeps `fresh` in the place of what the superchunk said before, and sums all superchunks about `centres` in order,
/// each moved there by the parallel-axis rule (translate() in statistics.hpp). Of what has not moved the log-likelihood
/// alone is replaced.
void replace_kept(const kept_arguments& arguments, cudaStream_t stream);

/// Says in `moved` whether the superchunk's responsibilities did, Σₖ |ΔWₖ| / Σ w > threshold, and if so adds one to
/// `folded`.
void look_for_movement(const kept_arguments& arguments, double threshold, int* moved, int* folded, cudaStream_t stream);

/// What a step of stepwise EM works on. Memory of one GPU.
struct mix_arguments {
  kernel_layout layout;
  const double* fresh = nullptr;    ///< [size] of the rows of this step, about `centres`
  const double* centres = nullptr;  ///< [K][d] of the present parameters
  model_arrays model;
  double regularization = 0;
  double step_size = 0;          ///< η of a superchunk that weighs as much as a whole one usually does:
  double usual_weight = 1;       ///< so much; others go by their share (step_for.hpp)
  double* course = nullptr;      ///< Σ w ln p and Σ w of the rows of this pass
  bool begins_pass = false;      ///< forget what `course` holds
  double* total = nullptr;       ///< [size]; its log-likelihood and weight are those of `course`
  const int* stopped = nullptr;  ///< as prepared_parameters::stopped
};

/// total = (1 − η) s + η ŝ, as mix() in stepwise.hpp: s what the model stands for per unit of weight, ŝ the rows of
/// this step per unit of theirs. Rows without weight change nothing.
void mix_with_model(const mix_arguments& arguments, cudaStream_t stream);

}  // namespace shoal::gmm
