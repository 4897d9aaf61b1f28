// What the host must know about the kernels that multiply few columns on tensor cores.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include <shoal/gmm/covariance_type.hpp>
#include <shoal/gmm/cuda/accumulator.hpp>
#include <shoal/gmm/cuda/few_columns/kernels.hpp>

namespace shoal::gmm::few_columns {

/// Warps of a block, and rows and components of one product.
inline constexpr unsigned product_warps = 4;
inline constexpr unsigned product_rows = 16;
inline constexpr unsigned product_components = 16;
/// Warps that share a row's components, at most.
inline constexpr unsigned most_sharing_warps = product_warps;

/// Columns that kernels are made for; fewer are filled up with zeros.
inline constexpr unsigned most_full_product_columns = 8;
constexpr unsigned product_columns(covariance_type type, std::size_t columns) {
  if (type != covariance_type::full) return columns <= 8 ? 8 : 16;
  for (const unsigned made : {2U, 3U, 4U, 5U, 6U}) {
    if (columns <= made) return made;
  }
  return most_full_product_columns;
}

/// The features of a row with a full covariance are z and all z zᵀ. Two threads make them: one has the columns as they
/// are, the other one in reverse, and both do the same, so that column i of the one is column `columns` − 1 − i of the
/// other. Each makes the first half of the columns and the products of columns i <= j with i + j < columns; what both
/// make counts once, as the first one's.
constexpr unsigned half_lines(unsigned columns) { return (columns + 1) / 2; }
constexpr unsigned half_pair(unsigned columns, unsigned i, unsigned j) {
  return half_lines(columns) + i * columns - i * (i - 1) + (j - i);
}
constexpr unsigned half_features(unsigned columns) {
  const unsigned last = half_lines(columns) - 1;
  return (half_pair(columns, last, columns - 1 - last) / 8 + 1) * 8;
}
constexpr unsigned line_feature(unsigned columns, unsigned i) {
  return i < half_lines(columns) ? i : half_features(columns) + columns - 1 - i;
}
constexpr unsigned pair_feature(unsigned columns, unsigned i, unsigned j) {
  return i + j < columns ? half_pair(columns, i, j)
                         : half_features(columns) + half_pair(columns, columns - 1 - j, columns - 1 - i);
}

/// What a row's columns give: z and z², for spherical components z alone, for full ones z and z zᵀ.
constexpr unsigned product_features(covariance_type type, unsigned columns) {
  if (type == covariance_type::full) return 2 * half_features(columns);
  return type == covariance_type::spherical ? columns : 2 * columns;
}
/// Products of 16 features each.
constexpr unsigned product_steps(covariance_type type, unsigned columns) {
  return (product_features(type, columns) + 15) / 16;
}
/// Tiles of components that a warp has registers for.
constexpr unsigned most_tiles_of_warp(covariance_type type, unsigned columns) {
  return product_features(type, columns) <= 32 ? 4 : 3;
}

/// Rows that a warp has at a time: one warp's chain of products, sums over lanes and exponentials leaves most cycles
/// empty, and two chains fill each other's.
constexpr unsigned rows_of_warp(covariance_type type, unsigned columns, unsigned warp_tiles) {
  return warp_tiles <= 2 && product_features(type, columns) <= 48 ? 2 * product_rows : product_rows;
}

/// A column in the frame that all components share: z = scale · x + shift. Of the coefficients of z² the mean over the
/// components, `curve`, is taken out and added for each row, so that sums stay small and keep their digits.
struct product_column {
  float scale, shift, curve;
  float unit;  ///< 1 / scale, a power of two
};

/// A component's log₂ density is constant + norm_factor · ‖z‖² (of spherical ones) + a product of features.
struct product_constants {
  float constant, norm_factor;
};

/// A mixture as these kernels read it.
struct product_mixture {
  product_column* columns = nullptr;       ///< [product_columns()]
  product_constants* constants = nullptr;  ///< [tiles · 16]
  /// [tiles][steps][2 terms][32 lanes][8]: coefficients as a warp's lanes hold them, high terms and low ones.
  std::uint16_t* operands = nullptr;
  int* own_stopped = nullptr;    ///< not zero: these kernels leave the rows alone
  int* other_stopped = nullptr;  ///< not zero: the others do
};

/// What a launch is told. Rows are cut as for kernel_arguments.
struct product_arguments {
  prepared_parameters<float> parameters;
  const float* rows = nullptr;
  const float* weights = nullptr;  ///< null: these kernels have no weights
  double* lanes = nullptr;         ///< [shards][lanes][statistics]
  std::size_t shared_triangle = 0;
  std::size_t factor_stride = 0;
  std::size_t count = 0;
  std::size_t first_unit = 0;
  std::size_t shard_units = 0;
  unsigned statistics = 0;
  unsigned components = 0;
  unsigned group_rows = 0;
  unsigned unit_groups = 0;
  unsigned single_precision_slices = 0;
  bool fresh = false;
  unsigned columns = 0;
  unsigned share = 0;  ///< warps that share a row's components
  unsigned tiles = 0;  ///< of components, of all of them
  product_mixture mixture;
};

/// One kernel.
struct product_kernel {
  const void* function = nullptr;  ///< __global__ void(product_arguments)
  unsigned blocks = 0;             ///< of a multiprocessor
};

/// For 1 … most_tiles_of_warp() tiles a warp.
product_kernel find_diagonal_product_kernel(std::size_t columns, unsigned warp_tiles);
product_kernel find_spherical_product_kernel(std::size_t columns, unsigned warp_tiles);
product_kernel find_full_product_kernel(std::size_t columns, unsigned warp_tiles);
/// Of a block.
std::size_t product_shared_bytes(covariance_type type, std::size_t columns, unsigned tiles, unsigned share);

/// Writes `mixture` and who works: the frame is for components that lie so near to each other that sums in it keep
/// float32's digits.
void pack_products(const prepared_parameters<float>& parameters, covariance_type type, unsigned columns,
                   unsigned components, unsigned tiles, const product_mixture& mixture, cudaStream_t stream);

}  // namespace shoal::gmm::few_columns
