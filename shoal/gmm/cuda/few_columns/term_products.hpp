// What the host must know about the kernels that multiply few columns by any number of components on tensor cores.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/gmm/covariance_type.hpp>
#include <shoal/gmm/cuda/few_columns/kernels.hpp>
#include <shoal/gmm/cuda/few_columns/products.hpp>

namespace shoal::gmm::few_columns {

/// What float16 has room for.
inline constexpr float most_float16 = 65000;

/// Warps of a block, of which a multiprocessor has two.
inline constexpr unsigned term_warps = 8;
inline constexpr unsigned term_threads = 32 * term_warps;
inline constexpr unsigned term_blocks = 2;

/// Rows whose features lie in shared memory at a time: 64 for each warp.
inline constexpr unsigned term_stage_rows = 64 * term_warps;

/// Tiles of 16 components whose moments a warp has registers for, and the least that kernels are made for.
constexpr unsigned most_term_tiles(covariance_type type, std::size_t columns) {
  return product_steps(type, product_columns(type, columns)) == 1 ? 4 : 2;
}
constexpr unsigned least_term_tiles(covariance_type type, std::size_t columns) {
  return product_steps(type, product_columns(type, columns)) == 1 ? 3 : 2;
}

/// Where densities are found once, in eleven bits: the eights of rows that a warp has them of at a time, for so many
/// tiles of components (held_tiles).
constexpr int held_row_eights(int warp_tiles) { return warp_tiles <= 2 ? 4 : 2; }
/// Rows of a warp whose features lie in shared memory at a time.
inline constexpr unsigned held_stage_rows = 64;
/// Eights of a row's features, and products of sixteen: z and z², or z, ‖z‖² and what belongs to all columns.
constexpr unsigned held_eights(covariance_type type, unsigned columns) {
  return type == covariance_type::spherical ? columns / 8 + 1 : columns / 4;
}
constexpr unsigned held_steps(covariance_type type, unsigned columns) { return (held_eights(type, columns) + 1) / 2; }

/// What a launch is told. `parts` warps of a block have components of their own and all have the same rows; the others
/// do the same for other rows. Components that these have no registers for are done in further rounds.
struct term_arguments : kernel_arguments<float> {
  unsigned columns = 0;
  unsigned tiles = 0;   ///< of components, of all of them
  unsigned parts = 1;   ///< a divisor of term_warps
  unsigned rounds = 1;  ///< 1, or as many as there are sets of components for each warp
  product_mixture mixture;
};

/// __global__ void(term_arguments), for least_term_tiles() … most_term_tiles() tiles a warp, with all digits of float32
/// (`fine`) or eleven bits of each factor.
const void* find_diagonal_term_kernel(std::size_t columns, unsigned warp_tiles, bool fine);
const void* find_spherical_term_kernel(std::size_t columns, unsigned warp_tiles, bool fine);
/// The same for densities that are found once, for the tiles a warp that held_tiles() says, in eleven bits.
const void* find_diagonal_held_kernel(std::size_t columns, unsigned warp_tiles);
const void* find_spherical_held_kernel(std::size_t columns, unsigned warp_tiles);
std::size_t held_shared_bytes(covariance_type type, std::size_t columns, unsigned warp_tiles);
/// Of a block.
std::size_t term_shared_bytes(covariance_type type, std::size_t columns, unsigned warp_tiles);

/// Writes `mixture` and who works, as pack_products does, for any number of components. `held`: for densities that are
/// found once.
void pack_terms(const prepared_parameters<float>& parameters, covariance_type type, unsigned columns,
                unsigned components, unsigned tiles, bool held, const product_mixture& mixture, cudaStream_t stream);

}  // namespace shoal::gmm::few_columns
