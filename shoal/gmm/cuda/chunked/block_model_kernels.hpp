// A pass of asynchronous EM in which every thread block has a superchunk and a model of its own.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/gmm/cuda/mixture.hpp>

namespace shoal::gmm {

/// What is in a block's shared memory at a time.
struct block_models_tile {
  unsigned rows = 0;  ///< whose responsibilities are looked at together
  unsigned part = 0;  ///< components whose changes are there; when they are fewer than all, one part follows another
  bool shared_work = false;  ///< whether what a maximisation works in is there too
};

/// What a pass of one GPU works on, in its memory. Covariances are full or diag. Arithmetic is in float64 whatever the
/// rows' scalar, so no row is far.
template <class Scalar>
struct block_models_arguments {
  kernel_layout layout;
  std::size_t size = 0;  ///< elements of a statistic
  const Scalar* rows = nullptr;
  const Scalar* weights = nullptr;  ///< null: all one
  std::size_t row_count = 0;
  Scalar* memberships = nullptr;       ///< [N][K] responsibilities that the statistics rest on
  const std::size_t* order = nullptr;  ///< [chunks] chunks in the order in which they are visited
  std::size_t chunk_rows = 0;
  unsigned chunks = 0;
  unsigned superchunk = 0;                 ///< successive chunks of that order that a block visits
  const double* total = nullptr;           ///< [size] statistics of all rows, about the present centres
  prepared_components<double> components;  ///< the model that every block begins with
  double threshold = 0;
  double regularization = 0;
  bool local_models = false;
  unsigned tile_rows = 0;  ///< as in block_models_tile, the next two as well
  unsigned part = 0;
  bool shared_work = false;
  double* scratch = nullptr;  ///< [blocks][block_models_scratch()]
  double* deltas = nullptr;   ///< [blocks][size] what each adds to `total`; its header: Σ w ln p, 0, folded chunks, 0
  const int* stopped = nullptr;
};

/// Doubles of scratch memory for each block.
std::size_t block_models_scratch(const kernel_layout& layout);

/// The largest tile that fits.
block_models_tile choose_block_models_tile(const kernel_layout& layout, std::size_t scalar_bytes,
                                           std::size_t shared_bytes);

/// One block for each superchunk. A block visits its chunks in order: rows whose responsibilities under its model moved
/// by more than the threshold, Σₖ |Δrₖ|, take the new ones as their memberships, and with local models the block
/// maximises a model over `total` with all that it has changed so far; a component that has no rows there, whose mean
/// jumps (jump_rule.hpp), or whose covariance is not positive definite keeps what it had.
template <class Scalar>
void visit_by_block_models(const block_models_arguments<Scalar>& arguments, cudaStream_t stream);
extern template void visit_by_block_models(const block_models_arguments<float>&, cudaStream_t);
extern template void visit_by_block_models(const block_models_arguments<double>&, cudaStream_t);

/// The deltas of all blocks, added up in their order, unless *stopped.
void sum_blocks(double* sum, const double* deltas, unsigned blocks, std::size_t size, const int* stopped,
                cudaStream_t stream);

/// total += sum, but for the log-likelihood and the number of folded chunks, which are replaced; unless *stopped.
void add_block_sums(double* total, const double* sum, std::size_t size, const int* stopped, cudaStream_t stream);

}  // namespace shoal::gmm
