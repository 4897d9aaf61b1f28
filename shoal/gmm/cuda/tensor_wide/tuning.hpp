// When the moments of wide rows are products of float16 terms, and when of float64.
#pragma once

#include <cstddef>

namespace shoal::gmm::tensor_wide {

/// Fewer rows are not listed: lists cost two launches, and float64 takes few rows as fast.
inline constexpr std::size_t least_share_rows = 8192;

/// A component of so many rows for each column, as their weights count, has a least variance far above the errors of
/// float16 products. Those of its sections before it has as many are summed in float64.
inline constexpr double least_rows_a_column = 2;

/// Mean of a column's variance over that given all others: a log-determinant loses its digits by as much. Sums of 32
/// rows on tensor cores, which truncate, are right to 1.5e-7 on the diagonal, so a log-density is to 1.2e-6 a column.
inline constexpr double most_spread = 16;

/// Rows of a section and component that say how far columns are correlated.
inline constexpr int sampled_rows = 16;

/// Blocks of moments for each multiprocessor, at least: components hold rows in unequal parts.
inline constexpr std::size_t turns_of_blocks = 8;
inline constexpr std::size_t turns_of_listed_blocks = 4;

/// The same of groups of tied components. A block that goes through all of them waits for each one's rows: 33 µs of
/// 256 rows of 256 columns, and 1.1 ms of 33 such components.
inline constexpr std::size_t turns_of_groups = 4;

/// Tied components that are summed about one origin: products of float64 of all rows take as long as those of float16
/// terms of so many components. Beyond so many deviations (of a column, given all others) from the origin to a centre
/// float64 sums would keep fewer than eight digits.
inline constexpr std::size_t least_origin_components = 4;
/// And rows times all components but one, below which launches and sums of all rows cost more than they save: at (2000,
/// 256, 4) .29 ms for .23, at (1000, 256, 33) .31 for .50.
inline constexpr std::size_t least_origin_pairs = 16384;
inline constexpr double most_origin_distance = 8192;

/// Rows of a section whose products take as long as to add its sums to their lane. A component of clusters holds a few
/// of them alone, so that few rows share that cost: so many for each component, at most section_cost. Products of full
/// float32 (100,000, 192, 1) take 168 µs with 1024 rows and 227 with 4096, of (100,000, 384, 1) 552 and 769.
inline constexpr std::size_t section_cost = 2048, component_section_cost = 256;

/// Components for which a tile of rows stays in shared memory while densities go through them, and stages of factors
/// that must have room beside it.
inline constexpr unsigned least_holding_components = 3;
inline constexpr unsigned least_holding_stages = 2;

/// Rows are moved into one frame for all components, where one product is enough, while the components' centres are so
/// near its origin: in deviations of a column given the others, root mean square over the columns. The errors of a
/// row's log-density grow by as much.
inline constexpr double most_frame_distance = 4;
/// Powers of two between a column's units under two components, beyond which factors might leave float16's range.
inline constexpr int most_frame_exponents = 6;
/// Fewer rows do not make up for what it takes to find the frame.
inline constexpr std::size_t least_framed_rows = 50000;
/// Fewer components do not make up for rows that are not in shared memory: 200,000 x 200 takes .67 ms for .63 at two.
inline constexpr std::size_t least_framed_components = 5;
inline constexpr std::size_t most_framed_components = 32;
/// Components whose moments are summed in that frame, by the same measures: at most so far from its origin, and with
/// units so much smaller, with one product and with three, whose second terms would be out of float16's range.
inline constexpr double most_moment_distance = 2, most_split_moment_distance = 1;
inline constexpr int most_split_moment_exponents = 2;
/// Memory of rows in that frame, at most.
inline constexpr std::size_t most_framed_bytes = std::size_t{512} << 20;
/// Blocks of moments in that frame for each multiprocessor, at least.
inline constexpr std::size_t turns_of_framed_blocks = 1;
/// Columns of a row that a thread can keep in registers beside the sums of two tiles.
inline constexpr unsigned most_framed_columns = 208;

}  // namespace shoal::gmm::tensor_wide
