// What the host must know about the kernels that multiply float64 rows of few columns by components on tensor cores.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/gmm/covariance_type.hpp>
#include <shoal/gmm/cuda/few_columns/kernels.hpp>

namespace shoal::gmm::few_columns {

/// Components of a tile, and rows that a group of warps has features of at a time: one for each thread of a warp.
inline constexpr unsigned float64_tile = 16, float64_stage_rows = 32;

/// Features of a row z: its columns, their products (full and tied) or squares, and 1, the last one. Of each component
/// there are as many sums.
constexpr unsigned float64_features(covariance_type type, unsigned columns) {
  const bool matrix = type == covariance_type::full || type == covariance_type::tied;
  return matrix ? (columns + 1) * (columns + 2) / 2 : 2 * columns + 1;
}

/// What is the same for all kernels of as many columns and tiles of a warp.
struct float64_sizes {
  covariance_type type;
  unsigned columns;
  unsigned tiles;  ///< of a warp

  constexpr unsigned features() const { return float64_features(type, columns); }
  /// The 1 has no part in the products of densities where it would take a further step by itself.
  constexpr bool constants_apart() const { return features() % 4 == 1; }
  /// Steps of four features in a product of densities, and tiles of eight in one of moments.
  constexpr unsigned quads() const { return features() / 4 + (features() % 4 > 1 ? 1 : 0); }
  constexpr unsigned eights() const { return (features() + 7) / 8; }
  /// Of a row's features in shared memory: four rows lie in other banks.
  constexpr unsigned stride() const { return 8 * eights() + 4; }
  /// Whether rows that a warp will need lie in shared memory, not in registers, and elements from one to the next
  /// there: an odd number, for rows in other banks.
  constexpr bool fetches_rows() const { return columns > 2; }
  constexpr unsigned fetched_stride() const { return fetches_rows() ? columns | 1 : 0; }
  /// Whether a warp has registers for its components' coefficients.
  constexpr bool holds_coefficients() const { return quads() * tiles <= 8 && tiles < 4; }
  /// Eights of rows that a warp has at a time: more of them share coefficients that come from shared memory.
  constexpr unsigned row_eights() const {
    const unsigned eights_of_tiles = quads() * tiles <= 8 ? 4 : 8;
    const unsigned most = tiles == 1 ? 4 : tiles == 3 ? eights_of_tiles / 4 : eights_of_tiles / tiles;
    return most > 1 && 8 * tiles * (eights() + most) > 160 ? most / 2 : most;
  }
  /// Numbers of a thread that go on from one launch to the next.
  constexpr unsigned kept() const { return 4 * tiles * eights() + 4; }
  constexpr unsigned warps() const {
    const unsigned words = 8 * tiles * eights() + 8 * tiles * row_eights() +
                           (holds_coefficients() ? 4 * quads() * tiles : 0) + 2 * columns;
    return words <= 84 ? 16 : words <= 104 ? 12 : 8;
  }
  constexpr unsigned threads() const { return 32 * warps(); }
  /// The table has 2 to the power of so many entries, sixteen times.
  constexpr unsigned table_bits() const { return features() <= 6 ? 10 : 8; }
};

/// Warps of a block that share rows, at most, and blocks that do.
inline constexpr unsigned most_float64_parts = 16, most_float64_cluster = 8;

/// A mixture in the frame that its components share.
struct float64_mixture {
  double* coefficients = nullptr;  ///< [tiles][quads][32 threads][2]: features 4 quad + q of components g and g + 8
  double* constants = nullptr;     ///< [tiles][16] log2 of the density at the origin
  double* origin = nullptr;        ///< [columns]
  double* unit = nullptr;          ///< [columns] powers of two
  int* apart = nullptr;            ///< [blocks of pack_float64()] whether some of these components lie apart
  int* own_stopped = nullptr;      ///< for the lanes of these kernels; null where others' are theirs
  int* other_stopped = nullptr;    ///< whether others have nothing left to do
};

/// What a launch is told. `parts` warps of a block have components of their own and the same rows.
struct float64_product_arguments : kernel_arguments<double> {
  unsigned columns = 0;
  unsigned parts = 1;        ///< a power of two that divides the block's warps
  unsigned cluster = 1;      ///< blocks that share rows; of more than one all warps are parts
  unsigned pack_blocks = 0;  ///< of pack_float64(); none: each block packs the mixture by itself
  unsigned lane_count = 0;   ///< of a shard: at least as many as it has blocks
  float64_mixture mixture;
  double* states = nullptr;  ///< [shards][lanes][kept][threads] what a launch leaves to the next one
  bool whole = false;        ///< there is no next one
};

/// Elements that a warp works in while it packs a component.
inline constexpr unsigned most_frame_columns = 16;
inline constexpr unsigned packed_component_size = most_frame_columns * (most_frame_columns + 3);

/// In elements of shared memory.
struct float64_places {
  unsigned table = 0;     ///< [2^bits][16]
  unsigned coefficients;  ///< as in memory
  unsigned constants;
  unsigned origin;    ///< [16], then 1 / unit and units [16]
  unsigned partial;   ///< [groups][3][parts of the cluster][8 row_eights]
  unsigned head;      ///< [2 threads]
  unsigned fetched;   ///< [warps][float64_stage_rows][fetched_stride]
  unsigned features;  ///< [groups][buffers][float64_stage_rows][stride], later sums on their way to the lane
  unsigned size;

  __host__ __device__ constexpr float64_places(const float64_sizes& sizes, unsigned parts, unsigned cluster) {
    const unsigned groups = sizes.warps() / parts, most_tiles = parts * sizes.tiles;
    const unsigned own_sums = sizes.tiles * sizes.eights() * 128;
    coefficients = 16U << sizes.table_bits();
    constants = coefficients + most_tiles * sizes.quads() * 64;
    origin = constants + most_tiles * float64_tile;
    partial = origin + 48;
    head = partial + groups * 3 * parts * cluster * 8 * sizes.row_eights();
    fetched = head + 2 * sizes.threads();
    features = fetched + sizes.warps() * float64_stage_rows * sizes.fetched_stride();
    const unsigned rows = groups * (parts > 1 ? 2 : 1) * float64_stage_rows * sizes.stride();
    const unsigned halves = groups / 2 * parts * own_sums;
    const unsigned flushed = parts * (sizes.eights() * 128 + sizes.features());
    const unsigned packed = sizes.warps() * packed_component_size;
    unsigned most = rows > halves ? rows : halves;
    most = most > flushed ? most : flushed;
    most = most > packed ? most : packed;
    size = features + most;
  }
};

/// Tiles of a warp that there are kernels for: as many as it has registers for the sums of.
inline constexpr unsigned most_float64_tiles = 4;
constexpr bool has_float64_tiles(covariance_type type, unsigned columns, unsigned tiles) {
  const unsigned eights = (float64_features(type, columns) + 7) / 8;
  return tiles <= 2 || (tiles <= most_float64_tiles && eights <= 2) ||
         (type == covariance_type::diag && tiles == 3 && eights <= 5);
}

/// Columns that there are kernels for: of matrices each number, of vectors these, with zeros for further ones.
inline constexpr unsigned most_float64_full_columns = 8;
constexpr unsigned padded_float64_columns(covariance_type type, unsigned columns) {
  if (type == covariance_type::full) return columns;
  return columns <= 2 ? 2 : (columns + 3) / 4 * 4;
}

/// __global__ void(float64_product_arguments).
const void* find_full_float64_kernel(std::size_t columns, unsigned tiles);
/// That for 1 to 3 columns, for 4 and 5, for 6, 7 and 8.
const void* find_float64_kernel_of_three(std::size_t columns, unsigned tiles);
const void* find_float64_kernel_of_five(std::size_t columns, unsigned tiles);
const void* find_float64_kernel_of_six(unsigned tiles);
const void* find_float64_kernel_of_seven(unsigned tiles);
const void* find_float64_kernel_of_eight(unsigned tiles);
/// The same for diagonal covariances, spherical ones among them.
const void* find_diagonal_float64_kernel(std::size_t columns, unsigned tiles);

/// Components that a block of pack_float64 packs.
inline constexpr unsigned float64_pack_components = 8;

/// Writes `mixture`.
void pack_float64(const prepared_parameters<double>& parameters, covariance_type type, unsigned columns,
                  unsigned components, unsigned factor_stride, unsigned tiles, const float64_mixture& mixture,
                  cudaStream_t stream);

}  // namespace shoal::gmm::few_columns
