// Factors of covariances that are too large for one block's shared memory, by many blocks for each of them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/gmm/cuda/step/step_arguments.hpp>

namespace shoal::gmm {

/// Rows and columns of a tile.
inline constexpr unsigned tile_side = 64;
constexpr unsigned tiles_of_side(unsigned columns) { return (columns + tile_side - 1) / tile_side; }

/// Doubles of work memory.
std::size_t tiled_work(const kernel_layout& layout);

/// Where in a step the factors are asked for: what says whether there is anything to do.
enum class factors_of : int { maximised, prepared };

/// U of each covariance of the model, as prepared_components has it, by kernels that launch_in_turn() launches. `work`
/// has tiled_work() doubles.
template <class Scalar>
void factorise_in_tiles(const step_arguments<Scalar>& arguments, double* work, factors_of which, cudaStream_t stream);
extern template void factorise_in_tiles(const step_arguments<float>&, double*, factors_of, cudaStream_t);
extern template void factorise_in_tiles(const step_arguments<double>&, double*, factors_of, cudaStream_t);

}  // namespace shoal::gmm
