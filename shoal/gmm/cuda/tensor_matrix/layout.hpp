// How the kernels for many columns arrange a mixture and its sums for tensor cores; shared by host and device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include <shoal/gmm/cuda/parameters.hpp>
#include <shoal/gmm/cuda/tensor/layout.hpp>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::tensor_matrix {

using namespace tensor;  // what both rooms for many columns share

/// Columns are padded to groups of 8, the width of a tensor-core tile; a kernel is compiled for a number of groups.
inline constexpr int group_columns = 8;
/// Rows that one warp of the expectation step takes; each of its threads owns one.
inline constexpr int word_rows = 32;
/// Rows that a lane of the sums takes at a time, a power of two that divides cuda::piece_unit: fewer where rows are
/// few.
inline constexpr int most_section_rows = 512, least_section_rows = 128;
/// Rows whose products are summed in float32 before they go on in float64.
inline constexpr int float_rows = 128;
/// Lanes of the log-likelihood: word number i belongs to lane i mod this.
inline constexpr int likelihood_lanes = 1024;

/// Groups of columns that the kernels are compiled for.
constexpr int compiled_groups(std::size_t columns) {
  const int groups = (static_cast<int>(columns) + group_columns - 1) / group_columns;
  return groups <= 8 ? (groups < 2 ? 2 : groups) : (groups + 3) / 4 * 4;
}

/// The same numbers as lists: one warp a component in the moments, and a team of warps.
using warp_groups = std::integer_sequence<int, 2, 3, 4, 5, 6, 7, 8>;
using team_groups = std::integer_sequence<int, 12, 16>;

/// Steps of 16 columns in which a product sums over the columns.
constexpr int steps_of(int groups) { return (groups + 1) / 2; }

/// Upper triangle of 16 × 8 tiles: tile (m, n) holds rows 16m… and columns 8n…, for n ≥ 2m. Where tile (m, n) comes.
constexpr int tile_index(int groups, int m, int n) { return m * groups - m * (m - 1) + n - 2 * m; }
constexpr int tile_count(int groups) { return tile_index(groups, steps_of(groups), 2 * steps_of(groups)); }

/// What the expectation step needs of one component, in units of 16 bytes: the tiles of the scaled factor,
/// [tile][thread] two float16 terms of four elements, or the first alone; s₀, s₁, −c₀s₀, −c₁s₁ for each pair of
/// columns; b₀, b₁ for each pair; the log-constant. In a frame that all components share, b is what is left of y at the
/// frame's centre.
constexpr int record_scales(int groups, int products) { return tile_count(groups) * (products == 3 ? 32 : 16); }
constexpr int record_offsets(int groups, int products) {
  return record_scales(groups, products) + 8 * steps_of(groups);
}
constexpr int record_constant(int groups, int products) {
  return record_offsets(groups, products) + 4 * steps_of(groups);
}
constexpr int record_size(int groups, int products) { return record_constant(groups, products) + 1; }

/// Warps that share the second moments of one component, so that their sums fit into registers.
constexpr int team_warps(int groups) { return groups <= 8 ? 1 : 4; }

/// Neighbouring columns that a thread of the moments reads at once.
constexpr int vector_width(int groups, std::size_t columns) {
  if (columns % 4 == 0 && groups % 4 == 0) return 4;
  return columns % 2 == 0 ? 2 : 1;
}

/// The moments may take columns in any order, and take them so that a thread reads neighbours: member `g` of the 8 in
/// group `c` is this column.
constexpr int moment_column(int groups, int width, int c, int g) {
  if (width == 4) return 32 * (c / 4) + 4 * g + c % 4;
  if (width == 2 && c < groups / 2 * 2) return 16 * (c / 2) + 2 * g + c % 2;
  return 8 * c + g;
}
/// Its inverse: 8c + g for a column.
constexpr int moment_place(int groups, int width, int column) {
  if (width == 4) return 8 * (column / 32 * 4 + column % 4) + column % 32 / 4;
  if (width == 2 && column < 16 * (groups / 2)) return 8 * (column / 16 * 2 + column % 2) + column % 16 / 2;
  return column;
}

/// One component's sums in one lane: the tiles of Σ r z zᵀ as tensor cores hold them ([tile][register][thread]), then
/// Σ r z [8 · groups] by place, then Σ r. z is the scaled, centred row.
constexpr int sums_first(int groups) { return tile_count(groups) * 128; }
constexpr int sums_weight(int groups) { return sums_first(groups) + group_columns * groups; }
constexpr int sums_size(int groups) { return sums_weight(groups) + 2; }
/// Where Σ r z_i z_j lies, for places i ≤ j.
constexpr int sums_second(int groups, int i, int j) {
  const int row = i % 16;
  const int column = j % 8;
  const int slot = (row / 8) * 2 + column % 2;
  return tile_index(groups, i / 16, j / 8) * 128 + slot * 32 + (row % 8) * 4 + column / 2;
}

inline constexpr int no_peak = -1000;

/// How the kernel that reads rows once (one_pass_layout.hpp) shares components out: `each` to a warp, and `parts` warps
/// to the same ones, which take rows in turn.
struct one_pass_plan {
  int warps = 0;  ///< of a block; 0: the mixture is none for that kernel
  int each = 1;
  int parts = 1;
  int blocks = 1;  ///< of a multiprocessor
  std::size_t shared_bytes = 0;
};

/// A problem and its buffers on the device.
struct problem {
  int columns = 0;
  int components = 0;
  int groups = 0;
  int width = 0;
  int lanes = 0;
  int section_rows = most_section_rows;
  int products = 3;  ///< of float16 terms for one of float32 grade; 1: of the first terms, 11 bits, alone
  int parts = 1;     ///< of the components, each by a block of the expectation step
  bool tied = false;
  double negligible = negligible_log_ratio<float>;  ///< a far row's responsibilities below exp(−this) are zero

  prepared_parameters<float> parameters;

  float* deviations = nullptr;  ///< [K][columns] of the columns under a component, in float32's range
  int* exponents = nullptr;     ///< [K][columns] their exponents
  int* peaks = nullptr;         ///< [K] exponent of the greatest element of the factor in these units; no_peak: empty
  float2* frame = nullptr;      ///< [columns, padded] S, −mS: the units and the centre that all components share
  int* apart = nullptr;         ///< not zero: the components are too far apart for such a frame
  uint4* records = nullptr;     ///< [K][record_size]
  float2* moment_scales = nullptr;  ///< [K][place] s, −cs
  int* moments_apart = nullptr;     ///< not zero: too far apart for sums about the centre that all share
  int* coarse = nullptr;            ///< not zero: a component is out of float16's range, every row is far

  float* terms = nullptr;  ///< [K][chunk_rows] ln πₖN(x) − log_shift; a far row's responsibility
  float2* shifts = nullptr;  ///< [chunk_rows] greatest term, ln Σ exp(term − greatest) − ln w; ∞: far or weightless
  unsigned* far_masks = nullptr;    ///< [chunk_rows / word_rows]
  double2* word_sums = nullptr;     ///< [chunk_rows / word_rows] Σ w ln p, Σ w
  double* log_densities = nullptr;  ///< [chunk_rows] ln p(x); null where it is not asked for
  double* scratch = nullptr;        ///< [far_warps][K]
  double* sums = nullptr;           ///< [2 · lanes][K][sums_size]; the second half is of far rows
  int* any_far = nullptr;           ///< not zero: the second half is not all zero
  int* far_found = nullptr;         ///< not zero: some bit of far_masks was set

  int frame_lanes = 0;                   ///< of the sums about the shared centre (frame_layout.hpp); 0: there are none
  int frame_section_rows = 0;            ///< rows that such a lane takes at a time; divides cuda::piece_unit
  std::uint16_t* placed_rows = nullptr;  ///< [step of 16 rows][term][placed_columns][row]
  std::uint16_t* placed_responsibilities = nullptr;  ///< [tile of components][step][term][component × row]
  int* section_exponents = nullptr;                  ///< [chunk_rows / frame_section_rows] of the greatest weights
  double* frame_sums = nullptr;                      ///< [frame_lanes][tile][component][feature]
  double* frame_total = nullptr;                     ///< [tile][component][feature]
  double* likelihood = nullptr;                      ///< [likelihood_lanes][likelihood_sums]

  one_pass_plan one_pass;
  int one_pass_blocks = 0;           ///< each has `parts` lanes
  int one_pass_section_rows = 0;     ///< rows that such a block takes at a time; divides cuda::piece_unit
  double* one_pass_sums = nullptr;   ///< [one_pass_blocks][parts][K][one_pass_sums_size]
  double* one_pass_total = nullptr;  ///< [K][one_pass_sums_size]
  std::size_t chunk_rows = 0;
};

}  // namespace shoal::gmm::tensor_matrix
