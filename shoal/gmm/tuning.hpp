// Tile sizes and thresholds of the mixture kernels, with what was measured for each: milliseconds of one iteration in
// float32 on one core of a Zen 3 at 51 GFMA/s (AVX2), by bench/gmm_iteration, for (rows, columns, components).
#pragma once

#include <cstddef>

#include <shoal/execution/plan.hpp>

namespace shoal::gmm {

/// Rows of a panel column: a block and a pad, so that columns do not share cache sets and every group of row vectors
/// (3 vectors of 4, 8 or 16 lanes) fits.
inline constexpr std::size_t panel_stride = block_rows + 16;

/// Columns of a packed tile of the factor U.
inline constexpr std::size_t factor_tile = 4;

/// Where the tile that starts at column `column` (a multiple of factor_tile) begins in a packed factor.
constexpr std::size_t packed_tile_start(std::size_t column) { return column * (column + factor_tile) / 2; }

/// Row vectors of one register tile of the expectation step: 4 columns × 3 vectors fill the 16 registers of AVX2, with
/// 7 loads for 12 multiply-adds; the 3 × 4 tiles of the moments load as much. Sums must be named variables: GCC 12
/// stores those in arrays or structures in every step. (65,536, 54, 7) takes 32 ms with means N(0, 1) and (32,768, 32,
/// 64) 75 ms: 82 % and 57 % of the peak if N·K·d² multiply-adds are counted, less in truth, because part of the moments
/// is negligible even there and not computed.
inline constexpr std::size_t expectation_vectors = 3;

/// Up to so many columns x − c is subtracted in each tile rather than stored once.
inline constexpr std::size_t most_subtracted_columns = 4 * factor_tile;

/// Up to so many columns (one for Σ r among them) a component's triangle of second moments is summed over the lanes all
/// at once; tile by tile that takes as long as the products of 512 rows.
inline constexpr std::size_t most_small_order = 12;

/// Sums of at most so many rows stay in one SIMD lane of the data's scalar; then they go on in float64.
inline constexpr std::size_t most_lane_rows = 128;

/// A float32 row whose best component is farther than this (‖y‖²) is done again in float64.
inline constexpr float far_norm = 1024;

/// Responsibilities below exp(−this) count as zero: 2⁻⁵⁰ for float32 and 2⁻⁸⁰ for float64. A billion of them sum to
/// less than the 10·eps of that scalar which scikit-learn adds to every component's weight, and to less than the
/// rounding of any component that has rows. On separated data most responsibilities are such zeros, and cost nothing.
template <class Scalar>
inline constexpr double negligible_log_ratio = sizeof(Scalar) == 4 ? 34.657359027997264 : 55.451774444795625;

/// A component that holds at most this share of a block's rows gets a panel of only those rows. With matrices the
/// gathering costs little next to the products: (2¹⁸, 8, 10) takes 15.5 ms with means N(0, 1), where nothing is
/// gathered, and 13.4 ms with N(0, 3²). Without matrices it costs as much as it saves until the rows are very few: with
/// N(0, 3²) 8.7 ms where half is allowed, 7.5 ms where a sixteenth is.
inline constexpr double compact_share = 0.5;
inline constexpr double compact_share_diagonal = 1.0 / 16;

/// From so many columns on rows without matrices are taken as they lie, with vectors along their columns. On one core
/// of a Zen 4, old and new by turns, (40,000, d, 16): 6.1 and 5.7 ms at d = 80 by AVX-512, 6.7 and 5.7 by AVX2; 5.1
/// and 5.8, 5.7 and 5.4 at 65, where the last of five vectors of AVX-512 has one column; 8.6 and 7.1, 11.2 and 9.6
/// at 96.
inline constexpr std::size_t least_wide_columns = 80;

/// Components up to which they are. Beyond, panels are turned for so many that it no longer matters, and parameters and
/// sums of all components no longer stay in the second cache with some rows. By AVX-512, old and new: (10,000, 80,
/// 26) 2.0 and 2.2 ms, (10,000, 80, 64) 4.9 and 5.3; (2,000, 300, 100) 5.4 and 5.2, (1,000, 300, 500) 13.3 and 15.5;
/// (4,000, 768, 64) 19.0 and 16.7; (512, 2048, 32) 12.2 and 10.4, (512, 2048, 64) 19.8 and 22.4.
constexpr std::size_t most_wide_components(std::size_t columns) {
  const std::size_t most = columns > 1536 ? 32 : 64;
  return columns / 3 < most ? columns / 3 : most;
}

/// A component that holds at most this share of some wide rows names them in a list. It costs nothing to gather rows
/// that stay where they lie, but rows that components share are packed once for all of them.
inline constexpr double compact_share_wide = 0.5;

/// Bytes of wide rows that are taken at once, so that they, those that come next, the parameters and the sums of 16
/// components come near to sharing a second cache of 1 MiB, and how few rows that may be. (512, 2048, 32) takes 10.4 ms
/// with 64 rows at once, 10.7 with 32 and 12.5 with 16; (20,000, 768, 16) as long with 64 as with 128.
inline constexpr std::size_t most_wide_bytes = std::size_t{1} << 19;
inline constexpr std::size_t least_wide_rows = 16;

/// Deviations of its own that a component's centre may lie in any column from the mean of all centres, for its sums of
/// wide rows to be about that mean: Q loses at most 1 + the square of it in rounding errors.
inline constexpr double most_origin_deviations = 3;

/// With at least so many columns the expectation step first looks at some columns of every component and then only
/// where these leave a responsibility that is not negligible.
inline constexpr std::size_t least_prune_columns = 16;

/// Columns that it looks at first. For means N(0, 3²) of unit components the normal approximation leaves 4 % of the
/// pairs at 12 of 32 columns and 2 % at 16 of 54, for 15 % and 9 % of the work. There (65,536, 54, 7) takes 17 ms and
/// (32,768, 32, 64) 22 ms; without this step, and with slower tiles, they took 30 and 52 ms.
constexpr std::size_t probe_columns(std::size_t columns) {
  const std::size_t some = 10 + columns / 8;
  const std::size_t half = columns / 2;
  return (some < half ? some : half) / factor_tile * factor_tile;
}

/// Factorising and maximising wake the workers from so many multiply-adds (K·d³; K·d² when tied) and elements
/// (K·d²) on; a component without a matrix of its own counts d: about 100 µs of one thread, where waking and waiting
/// take some 50. On a Zen 4 two threads maximise (2¹⁸, 8, 10) in 30 to 60 µs and one in 4; they factorise (65,536, 54,
/// 7) in 134 µs and one in 206.
inline constexpr std::size_t least_shared_factor_work = std::size_t{1} << 19;
inline constexpr std::size_t least_shared_elements = std::size_t{1} << 17;

/// Superchunks of a pass, where the rows suffice. With S of them a chunk's statistics are (1 + 1/S)/2 passes old on the
/// average, and where batch converges slowly that is what passes are saved by: S = 2, 4, 16, 32 save 1.33, 1.6, 1.88,
/// 1.94 times in theory. The maximisations that a pass costs grow with S.
inline constexpr std::size_t usual_superchunks = 32;

/// Chunks of a superchunk at most, which its threads share, and what one is worth in rows times elements of a
/// statistic: about what it takes to wake a thread.
inline constexpr std::size_t most_superchunk_chunks = 32;
inline constexpr std::size_t least_chunk_work = std::size_t{1} << 19;

/// Rows of a superchunk: as many as make its expectation (K·d² a row) outweigh one maximisation and factorisation
/// (K·d³) several times over, and not so few that a model moves by the noise of its rows.
inline constexpr std::size_t least_superchunk_rows = 256;
inline constexpr std::size_t least_superchunk_rows_a_column = 32;

/// Above this share of pairs of row and component that stay possible, the rest is computed for all of them.
inline constexpr double prune_share = 0.4;

}  // namespace shoal::gmm
