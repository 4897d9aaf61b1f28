// Rows and centroids as float16 products take them, where a number lies, and the searches by these products.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include <shoal/core/host_device.hpp>
#include <shoal/execution/precision.hpp>
#include <shoal/nearest/cuda/doubtful_rows.hpp>
#include <shoal/nearest/cuda/search_bounds.hpp>

namespace shoal {

/// Centroids in the memory of one GPU. c′ = c − origin.
struct searched_centroids {
  int clusters = 0;
  int columns = 0;
  int padded = 0;                  ///< clusters, up to a multiple of float16_cluster_tile
  const double* values = nullptr;  ///< [clusters][columns] c
  const float* origin = nullptr;   ///< [columns]
  /// [padded] what scores −x·c′ are greater by, as ‖c′‖²/2, or for list_near_float16 unlisted_half_norm
  const float* half_norms = nullptr;
  precision products = precision::float32;
  search_bounds* bounds = nullptr;
};

/// Of centroids that are in no list; their values are the origin. Greater than any limit of rows of which something is
/// known, so that rows whose first tiles have no others keep short lists.
inline constexpr float unlisted_half_norm = 0x1p126f;

/// How many float16 numbers stand for one: where two do, the second has what rounding to the first lost, so that two
/// numbers have as many digits as float32, and three products are one.
enum class float16_digits { one, two };

/// Operands lie in units of 64 rows (or centroids). A unit is cut into slabs of 64 columns, or of 48 where so fewer are
/// padded. A slab is core matrices of 8 rows × 16 bytes: those of 8 rows one after another. Of two numbers for each,
/// the slabs of the second ones come first in rows and last in centroids.
struct float16_layout {
  static constexpr int unit_rows = 64;
  static constexpr int step_columns = 16;  ///< of one product

  int columns = 0;
  int steps = 4;  ///< products of a slab, 3 or 4
  int slabs = 0;  ///< of one number for each
  bool twice = false;

  SHOAL_HD explicit constexpr float16_layout(int all_columns, float16_digits digits)
      : columns(all_columns), twice(digits == float16_digits::two) {
    const int fours = (columns + 63) / 64, threes = (columns + 47) / 48;
    steps = threes * 48 < fours * 64 ? 3 : 4;
    slabs = steps == 3 ? threes : fours;
  }
  SHOAL_HD constexpr int padded() const { return slabs * steps * step_columns; }
  static SHOAL_HD constexpr unsigned slab_bytes(int steps_of_slab) {
    return static_cast<unsigned>(unit_rows * step_columns * 2 * steps_of_slab);
  }
  SHOAL_HD constexpr int stored_slabs() const { return twice ? 2 * slabs : slabs; }
  SHOAL_HD constexpr std::size_t unit_bytes() const {
    return static_cast<std::size_t>(stored_slabs()) * slab_bytes(steps);
  }
  /// Whether those of a block's rows stay in shared memory while all centroids pass. At 10⁶ rows × 256 columns and
  /// K = 1000 the search takes 0.81 ms on an H200 so, with warpgroups that multiply in turn, and 0.89 where rows are
  /// fetched for every tile of centroids; 1.23 and 1.24 at 384 columns.
  SHOAL_HD constexpr bool resident() const { return stored_slabs() * steps * step_columns <= 512; }
  /// Slabs are multiplied in turn, the small products first: the second numbers of rows by the first of centroids, the
  /// other way about, and the first ones. Which of its slabs each factor then takes:
  SHOAL_HD constexpr int turns() const { return twice ? 3 * slabs : slabs; }
  SHOAL_HD constexpr int row_slab(int turn) const { return turn < 2 * slabs ? turn : turn - slabs; }
  SHOAL_HD constexpr int centroid_slab(int turn) const { return turn < 2 * slabs ? turn : turn - 2 * slabs; }
  /// Bytes from 8 rows to the next 8, within a slab.
  static SHOAL_HD constexpr unsigned stride(int steps_of_slab) { return slab_bytes(steps_of_slab) / 8; }
  /// Byte of the 8 columns from `column` on of a row, in the first of its slabs.
  SHOAL_HD constexpr std::size_t place(std::size_t row, int column) const {
    const int slab = steps == 3 ? column / 48 : column / 64, within = column - slab * steps * step_columns;
    return row / unit_rows * unit_bytes() + static_cast<std::size_t>(slab) * slab_bytes(steps) +
           row % unit_rows / 8 * stride(steps) + static_cast<std::size_t>(within / 8 * 128) + row % 8 * 16;
  }
};

/// Centroids whose scores a warpgroup has in its registers at one time.
inline constexpr int float16_cluster_tile = 256;

/// Rows that a block takes at a time.
inline constexpr int float16_block_rows = 128;

/// What a search knows of a row x′ whose float16 operand is x̂ = x′ · a power of two, rounded.
struct float16_row {
  float norm = 0;     ///< ‖x′‖, or somewhat more
  float lost = 0;     ///< ‖x′ − x̂‖ in units of x′, or somewhat more; infinite: nothing is known of the row
  float inverse = 0;  ///< of the power of two
  float unused = 0;
};

/// What a search knows of a centroid.
struct float16_centroid {
  float half_norm = 0;  ///< of searched_centroids; unlisted_half_norm: of a centroid that no row is near
  float norm = 0;       ///< ‖c′‖, at least 2⁻⁶ of the largest one
};

/// Operands of some rows at a time and of all centroids, in the memory of one GPU.
struct float16_operands {
  unsigned char* rows = nullptr;  ///< [rows_at_once]
  float16_row* facts = nullptr;   ///< [rows_at_once]
  std::size_t rows_at_once = 0;
  float16_digits digits = float16_digits::one;
  unsigned char* centroids = nullptr;  ///< [padded], −c′ · a power of two that all share
  float16_centroid* starts = nullptr;  ///< [padded]
};

/// Rows that are searched at one time: enough for every multiprocessor, few enough for a GPU's cache where that can be.
std::size_t float16_rows_at_once(std::size_t columns, float16_digits digits, std::size_t multiprocessors);

/// Operands of rows, at most rows_at_once. `origin` is what centroids are about; rows of float64 are rounded to float32
/// after it was subtracted.
template <class Scalar>
void convert_rows(const Scalar* rows, std::size_t count, int columns, const float* origin, const float16_operands& to,
                  const int* stopped, cudaStream_t stream);

/// Operands of the centroids. Needs half_norms and bounds.largest_norm, and leaves in bounds.largest_residual the
/// largest square of ‖c′ − ĉ′‖ / float16_centroid::norm.
void convert_centroids(const searched_centroids& centroids, const float16_operands& to, const int* stopped,
                       cudaStream_t stream);

/// Labels of converted rows, `first_row` the number of the first one in the piece that `labels` and `doubtful` are of.
/// centroids.padded is a multiple of float16_cluster_tile. With precision::float32 doubtful rows are listed; in the
/// rougher precisions the products decide.
void search_float16(const float16_operands& operands, std::size_t first_row, std::size_t count,
                    const searched_centroids& centroids, std::int32_t* labels, const doubtful_rows& doubtful,
                    std::size_t multiprocessors, const int* stopped, cudaStream_t stream);

/// Of each row the centroids that may be its nearest one, as far as float16 products tell: in lists, of which a row has
/// near_lists in each part of the centroids.
inline constexpr int near_lists = 4;
inline constexpr int near_capacity = 128;  ///< of a list
struct near_centroid {
  int centroid = 0;
  float least = 0;  ///< the centroid is none of those where this is beyond the least limit of the row's parts
};
struct listed_centroids {
  near_centroid* lists = nullptr;   ///< [rows][parts][near_lists][near_capacity]
  unsigned char* counts = nullptr;  ///< [rows][parts][near_lists]; beyond near_capacity: any centroid may be nearest
  float* limits = nullptr;          ///< [rows][parts]
  int parts = 1;                    ///< of the centroids, which different blocks take for the same rows
  bool two = false;                 ///< those that may be one of the two nearest
};
/// Parts that keep all multiprocessors busy; at most `most`.
int float16_parts(std::size_t count, const searched_centroids& centroids, std::size_t multiprocessors, int most);
/// Lists them for converted rows.
void list_near_float16(const float16_operands& operands, std::size_t count, const searched_centroids& centroids,
                       const listed_centroids& to, std::size_t multiprocessors, cudaStream_t stream);

}  // namespace shoal
