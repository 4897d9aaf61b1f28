// Rows and centroids as products of 8-bit whole numbers take them, and the search by these products.
//
// A row x′ becomes x̂ = q · n · unit: whole numbers q of at most 127, and n, a small whole number of its own. All
// centroids share one unit. A score is then a whole number, n · (q · q′) and ‖c′‖²/2 in units of both.
//
// Let a be the centroid of the least score and k any other. By Cauchy and Schwarz the true scores of a and k differ by
// at most lost · D + ‖x̂‖ · P and a unit in the wrong direction, where lost = ‖x′ − x̂‖, D is the largest ‖c′ₐ − c′ₖ‖ of
// a and any other centroid, and P that of their roundings. Where that is within what bf16 promises
// (docs/tolerances.md), the label is kept; other rows are left to products of float16.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include <shoal/core/host_device.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/stream.hpp>
#include <shoal/nearest/cuda/float16_operands.hpp>

namespace shoal {

/// Where rows lie about the origin of a search.
struct rows_extent {
  double largest = 0;  ///< of |x′| of any row and column; zero: not known
  double norm = 0;     ///< root of the mean of ‖x′‖²
  bool any = false;    ///< rows of any number and kind are searched by products of bytes first, though it may not pay
};

/// Columns that a product has at a time, and most of them in all.
inline constexpr int byte_step_columns = 32;
inline constexpr std::size_t most_byte_columns = 128;
/// Centroids whose scores a warpgroup has in its registers at one time.
inline constexpr int byte_cluster_tile = 128;
/// n of the row with the largest entry of all; of others it is what their own largest entry needs.
inline constexpr int most_byte_multiplier = 16;

/// Products of a row with a centroid: 2, 3 or 4.
SHOAL_HD constexpr int byte_steps(int columns) {
  const int steps = (columns + byte_step_columns - 1) / byte_step_columns;
  return steps < 2 ? 2 : steps;
}

/// What a search knows of a row.
struct byte_row {
  float norm = 0;    ///< ‖x′‖, or somewhat more
  float lost = 0;    ///< ‖x′ − x̂‖, or somewhat more
  float length = 0;  ///< ‖x̂‖, or somewhat more
  int multiplier = 1;
};

struct byte_operands {
  signed char* rows = nullptr;  ///< [rows_at_once][byte_steps · 32]
  byte_row* facts = nullptr;    ///< [rows_at_once]
  float unit = 0;               ///< of rows
  float usual_norm = 0;         ///< of a row, and what it loses: whether the step's rows are searched by bytes at all
  float usual_lost = 0;
  signed char* centroids = nullptr;    ///< [padded] −c′, as products take them
  std::int32_t* starts = nullptr;      ///< [padded] ‖c′‖²/2 and a place, as scores are added to
  float* largest_values = nullptr;     ///< [byte_value_blocks] of |c′|
  float2* largest_pairs = nullptr;     ///< [byte_pair_tiles][padded] D² and P² of a centroid and 64 others
  float2* pair_bounds = nullptr;       ///< [padded] D and P of a centroid
  int2* best = nullptr;                ///< [rows_at_once] the least score so far and its centroid
  unsigned long long* left = nullptr;  ///< [rows_at_once / 128] a byte for 16 rows: not zero where labels are left open
  int* all_left = nullptr;             ///< not zero: no row was searched
};

inline constexpr int byte_value_blocks = 64;
inline constexpr int byte_pair_tile = 64;

/// The memory of one GPU for them.
class byte_memory {
 public:
  /// For so many rows at a time, a multiple of float16_block_rows, and centroids, a multiple of float16_cluster_tile.
  void grow(std::size_t rows_at_once, std::size_t centroids, std::size_t columns, const rows_extent& extent,
            const cuda::stream& stream);
  const byte_operands& operands() const { return operands_; }
  std::size_t rows_at_once() const { return best_.size(); }
  /// Waits for the last search: the share of 16 rows each of which some were left open.
  double share_left(std::size_t count, const cuda::stream& stream) const;

 private:
  byte_operands operands_;
  cuda::device_buffer<signed char> rows_, centroids_;
  cuda::device_buffer<byte_row> facts_;
  cuda::device_buffer<std::int32_t> starts_;
  cuda::device_buffer<float> largest_values_;
  cuda::device_buffer<float2> largest_pairs_, pair_bounds_;
  cuda::device_buffer<int2> best_;
  cuda::device_buffer<unsigned long long> left_;
  cuda::device_buffer<int> all_left_;
};

/// Operands of rows, at most rows_at_once.
void convert_rows(const float* rows, std::size_t count, int columns, const float* origin, const byte_operands& to,
                  const int* stopped, cudaStream_t stream);

/// Operands of the centroids and what is known of any two. `negated`: [columns][padded] −c′. Needs half_norms.
void convert_centroids(const searched_centroids& centroids, const float* negated, const byte_operands& to,
                       const int* stopped, cudaStream_t stream);

/// Labels of converted rows, −1 of those that are left open.
void search_bytes(const byte_operands& operands, std::size_t first_row, std::size_t count,
                  const searched_centroids& centroids, std::int32_t* labels, std::size_t multiprocessors,
                  const int* stopped, cudaStream_t stream);

/// As search_float16(), but only of rows that search_bytes() left open.
void search_left_rows(const float16_operands& operands, const byte_operands& bytes, std::size_t first_row,
                      std::size_t count, const searched_centroids& centroids, std::int32_t* labels,
                      std::size_t multiprocessors, const int* stopped, cudaStream_t stream);

}  // namespace shoal
