// How diagonal and spherical mixtures of many columns are arranged for tensor cores; shared by host and device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include <shoal/gmm/cuda/parameters.hpp>
#include <shoal/gmm/cuda/tensor/layout.hpp>
#include <shoal/gmm/cuda/tensor/operands.hpp>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::tensor_diagonal {

using namespace tensor;  // what both rooms for many columns share

/// Rows and components of one product, and rows that are summed in float32 by tensor cores before they go on.
inline constexpr int tile_rows = 128;
inline constexpr int tile_components = 128;
/// Columns, and rows of the moments, that one product sums over.
inline constexpr int step_size = 16;
/// Rows of one stage of the moments.
inline constexpr int block_rows = 64;
/// Lanes of the log-likelihood: tile number i belongs to lane i mod this.
inline constexpr int likelihood_lanes = 256;

/// 16-bit numbers of one block of an operand: 128 rows or components times one step (operands.hpp).
inline constexpr int operand_size = 128 * step_size;

/// Tiles of rows of a chunk.
constexpr int tiles_of(const chunk& rows) { return (rows.count + tile_rows - 1) / tile_rows; }

/// What a row's tile of the expectation step calls row number `row`: one thread's two rows are neighbours.
constexpr int tile_place(int row) { return row / 16 * 16 + row % 16 / 2 + row % 2 * 8; }

/// Terms that a float32 number is split into.
constexpr int split_terms(int products) { return products == 3 ? 2 : 1; }

/// Steps of columns that the kernels are compiled for, and the least of them that has room for so many columns.
constexpr int compiled_steps(int columns) {
  for (const int steps : {1, 2, 4, 6}) {
    if (columns <= steps * step_size) return steps;
  }
  return 8;
}

/// The same numbers as a list.
using step_counts = std::integer_sequence<int, 1, 2, 4, 6, 8>;

/// Features that a block of the moments sums: with one product both, of the same responsibilities.
constexpr int moment_features(int products, bool spherical) { return products == 1 && !spherical ? 2 : 1; }

/// Columns of the moments' products.
constexpr int padded_width(int columns) { return columns <= 64 ? 64 : 128; }

/// How different the components are, but for those that a common frame leaves out: so little that sums about the
/// frame's centre keep their digits; so much that only the choice of the components that matter for a row is made in
/// the frame; or too much for any frame.
inline constexpr int common_frame = 0;
inline constexpr int wide_frame = 1;
inline constexpr int no_frame = 2;
/// What pack_mixture() and dense_moments() say beside how different all components are: whether there are dense_sums,
/// how many components a wide frame would leave out and how many a common one, what these weigh, in units of
/// 1/weight_units, whether some of them are not narrow, and whether a common frame would hold any.
inline constexpr int has_dense_sums_at = 1;
inline constexpr int outsiders_at = 2;
inline constexpr int left_out_at = 3;
inline constexpr int left_out_weight_at = 4;
inline constexpr int broad_left_out_at = 5;
inline constexpr int holds_some_at = 6;
inline constexpr int arrangement_size = 7;
inline constexpr int weight_units = 1 << 24;

struct problem {
  int columns = 0;
  int components = 0;
  int tiles = 0;     ///< of components
  int steps = 0;     ///< of columns, one of those that the kernels are compiled for
  int width = 0;     ///< padded_width(columns)
  int features = 2;  ///< z and z²; z alone when spherical
  int products = 3;  ///< of float16 terms for one of float32 grade; 1: of float16 terms alone
  int lanes = 0;
  int section_rows = 0;  ///< rows that a lane takes at a time; divides cuda::piece_unit
  int own_lanes = 0;     ///< the same for rows that are summed one by one
  int own_section_rows = 0;
  bool spherical = false;
  double negligible = negligible_log_ratio<float>;  ///< responsibilities below exp(−this) that are found again by
                                                    ///< themselves, as those of far rows are, are zero

  prepared_parameters<float> parameters;

  float2* frame = nullptr;            ///< [columns, padded] S, −mS: units and centre that all components share
  float* mean_curve = nullptr;        ///< [columns, padded] mean over the components of the coefficient of z²
  int* arrangement = nullptr;         ///< [arrangement_size] for arrangement_of()
  std::uint16_t* operands = nullptr;  ///< [tile][stage][step][operand_size], stages as the expectation step takes them
  float* constants = nullptr;         ///< [tiles · 128] what a term is made of beside products
  float* common_constants = nullptr;  ///< [tiles · 128] the same in a common frame; −∞ of those that it leaves out
  unsigned char* left_out = nullptr;  ///< [tiles · 128] not zero: a common frame leaves the component out; null: it has
                                      ///< to hold all
  float* norm_factors = nullptr;   ///< [tiles · 128] and its coefficient of ‖z‖², spherical
  float* own_constants = nullptr;  ///< [tiles · 128] ln πₖ + Σ ln s

  float* terms = nullptr;  ///< by term_place(): log₂ πₖN(x) but for what its row has in common; a far row's
                           ///< responsibility
  std::uint16_t* half_terms = nullptr;  ///< by half_term_place(), in the memory of terms, of which far rows' are
                                        ///< written once the moments have read these
  float* tile_greatest = nullptr;       ///< [tiles][chunk_rows] what a row's half_terms are beside; with one product
  float* shifts = nullptr;              ///< [chunk_rows] what makes a term the logarithm of w r; ∞: far or weightless
  float* log_sums = nullptr;            ///< [chunk_rows] log₂ of what a row's terms sum to beside its shift, which is
                                        ///< then the greatest of them; null: the two are one shift
  double* log_densities = nullptr;      ///< [chunk_rows] ln p(x); null where it is not asked for
  float* densities = nullptr;           ///< [chunk_rows] log₂ p(x) but for log_shift, beside left_out
  float* norms = nullptr;               ///< [chunk_rows] ‖z‖², spherical
  int* exponents = nullptr;             ///< [chunk_rows / tile_rows] of a tile's greatest weight
  std::uint16_t* columns_by_rows = nullptr;  ///< [features][chunk_rows / 16][terms][width × 16]: the rows, transposed
  unsigned* far_masks = nullptr;             ///< [chunk_rows / 32]
  double2* tile_sums = nullptr;              ///< [chunk_rows / tile_rows] Σ w ln p, Σ w
  double* scratch = nullptr;                 ///< [far_warps][K]
  unsigned* candidates = nullptr;            ///< [chunk_rows][tiles][4] in a wide frame: which terms there are
  unsigned char* crowded = nullptr;  ///< [chunk_rows / tile_rows] in a wide frame: not zero where a tile's rows are
                                     ///< near so many components that all terms are found again
  unsigned* kept = nullptr;          ///< by kept_place(), without a common frame and of components that it leaves out:
                                     ///< which terms count
  double* sums = nullptr;            ///< [lanes][tiles · 128][sums_size] in the frame
  double* own_sums = nullptr;  ///< [own_lanes][K][1 + 2 · columns] Σ r, Σ r (x − c), Σ r (x − c)² of rows that are
                               ///< summed one by one: far ones, and all without a common frame
  int dense_threads =
      1;  ///< threads of a block of dense_moments() that share a column, and components of a tile by four
  int dense_lanes = 0;
  int dense_section_rows = 0;
  unsigned char* dense =
      nullptr;  ///< by dense_place(): not zero where dense_moments() has taken the rows; null: it takes none
  double* dense_sums = nullptr;  ///< [dense_lanes] of the same as own_sums, of these rows
  int* any_far = nullptr;        ///< not zero: own_sums are not all zero
  double* likelihood = nullptr;  ///< [likelihood_lanes][likelihood_sums]
  std::size_t chunk_rows = 0;
};

/// Where the term of component k and row `row` of a chunk lies. Terms of 64 rows and a tile of components are together,
/// so that one copy fetches them, and odd components have their rows elsewhere than even ones: so eight threads of the
/// moments that read two components at once hit different banks.
constexpr std::size_t term_place(int tiles, int k, int row) {
  const std::size_t block = static_cast<std::size_t>(row / block_rows) * tiles + k / tile_components;
  return block * (tile_components * block_rows) + k % tile_components * block_rows +
         (row % block_rows / 4 ^ k % 2 * 4) * 4 + row % 4;
}

/// With one product there is no use for float32's digits: then terms of a common frame are half_terms, powers of two of
/// what they are beside the greatest of their row so far, times 2 to the half_term_exponent, as float16 numbers. The
/// sixteens of a component's rows change places with its number, so that threads of the moments that read four
/// components at once hit different banks.
constexpr std::size_t half_term_place(int tiles, int k, int row) {
  const std::size_t block = static_cast<std::size_t>(row / block_rows) * tiles + k / tile_components;
  return block * (tile_components * block_rows) + k % tile_components * block_rows +
         (row % block_rows / step_size ^ k % 4) * step_size + row % step_size;
}
inline constexpr int half_term_exponent = 15;

/// In a wide frame a row has four words of candidates for each tile of components: which bit of which is component k.
constexpr int candidate_word(int k) { return k / tile_components * 4 + k % 8 / 2; }
constexpr int candidate_bit(int k) { return k % tile_components / 8 * 2 + k % 2; }
constexpr int candidate_component(int word, int bit) {
  return word / 4 * tile_components + bit / 2 * 8 + word % 4 * 2 + bit % 2;
}

/// Where the word of component k lies that has a bit for each of 32 rows: row `row` of a chunk and its neighbours.
constexpr std::size_t kept_place(int components, int k, int row) {
  return (static_cast<std::size_t>(row / tile_rows) * components + k) * (tile_rows / 32) + row % tile_rows / 32;
}

/// dense_moments() decides for so many rows and a tile of components whether to take them.
inline constexpr int dense_rows = 512;
constexpr int dense_components(const problem& mixture) { return 4 * mixture.dense_threads; }
constexpr int dense_tiles(const problem& mixture) {
  return (mixture.components + dense_components(mixture) - 1) / dense_components(mixture);
}
constexpr std::size_t dense_place(const problem& mixture, int k, int row) {
  return static_cast<std::size_t>(row / dense_rows) * dense_tiles(mixture) + k / dense_components(mixture);
}
/// Threads that share a component: four columns each.
constexpr int dense_columns(int columns) {
  int threads = 1;
  while (4 * threads < columns) threads *= 2;
  return threads;
}

/// Sums of one component in the frame: Σ r z, Σ r z² by column (none when spherical), then Σ r and Σ r‖z‖².
constexpr int sums_size(int features, int width) { return features * width + 2; }

}  // namespace shoal::gmm::tensor_diagonal
