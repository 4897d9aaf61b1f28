// A pass of asynchronous EM in which every thread block has a superchunk and a model of its own.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/gmm/cuda/device_mixture.hpp>

namespace shoal::gmm {

/// Most columns and components that the kernel takes, with covariances of their own (full and diag).
inline constexpr unsigned most_block_model_columns = 16;
inline constexpr unsigned most_block_model_components = 64;

/// What a pass works on. Memory of one GPU. Arithmetic is in float64 whatever the rows' scalar, so no row is far.
template <class Scalar>
struct block_models_arguments {
  device_layout layout;
  std::size_t size = 0;  ///< elements of a statistic
  const Scalar* rows = nullptr;
  const Scalar* weights = nullptr;  ///< null: all one
  std::size_t row_count = 0;
  Scalar* memberships = nullptr;       ///< [N][K] responsibilities that the statistics rest on
  const std::size_t* order = nullptr;  ///< [chunks] chunks in the order in which they are visited
  std::size_t chunk_rows = 0;
  unsigned chunks = 0;
  unsigned superchunk = 0;               ///< successive chunks of that order that a block visits
  const double* total = nullptr;         ///< [size] statistics of all rows, about the present centres
  device_components<double> components;  ///< the model that every block begins with
  double threshold = 0;
  double regularization = 0;
  bool local_models = false;
  unsigned tile_rows = 0;     ///< rows whose responsibilities are in shared memory at a time
  double* scratch = nullptr;  ///< [blocks][block_models_scratch()]
  double* deltas = nullptr;   ///< [blocks][size] what each adds to `total`; its header: Σ w ln p, 0, folded chunks, 0
  const int* stopped = nullptr;
};

/// Doubles of scratch memory for each block.
std::size_t block_models_scratch(const device_layout& layout);

/// Rows of a tile that fit into a block's shared memory; 0 when none do.
template <class Scalar>
unsigned block_models_tile(const device_layout& layout, std::size_t shared_bytes);
extern template unsigned block_models_tile<float>(const device_layout&, std::size_t);
extern template unsigned block_models_tile<double>(const device_layout&, std::size_t);

/// One block for each superchunk. A block visits its chunks in order: rows whose responsibilities under its model moved
/// by more than the threshold, Σₖ |Δrₖ|, take the new ones as their memberships, and with local models the block
/// maximises a model over `total` with all that it has changed so far; a component that has no rows there, or a
/// covariance that is not positive definite, keeps what it had.
template <class Scalar>
void visit_by_block_models(const block_models_arguments<Scalar>& arguments, cudaStream_t stream);
extern template void visit_by_block_models(const block_models_arguments<float>&, cudaStream_t);
extern template void visit_by_block_models(const block_models_arguments<double>&, cudaStream_t);

/// total += deltas of all blocks, in their order, but for the log-likelihood and the number of folded chunks, which are
/// replaced.
void consolidate_blocks(double* total, const double* deltas, unsigned blocks, std::size_t size, const int* stopped,
                        cudaStream_t stream);

}  // namespace shoal::gmm
