#include <algorithm>
#include <cmath>

#include <shoal/nearest/cuda/byte_operands.hpp>

namespace shoal {

void byte_memory::grow(std::size_t rows_at_once, std::size_t centroids, std::size_t columns, const rows_extent& extent,
                       const cuda::stream& stream) {
  const auto padded = static_cast<std::size_t>(byte_steps(static_cast<int>(columns)) * byte_step_columns);
  rows_.grow(rows_at_once * padded);
  rows_.fill_with_zeros(stream);
  facts_.grow(rows_at_once);
  facts_.fill_with_zeros(stream);
  centroids_.grow(centroids * padded);
  starts_.grow(centroids);
  largest_values_.grow(byte_value_blocks);
  largest_pairs_.grow(centroids / byte_pair_tile * centroids);
  pair_bounds_.grow(centroids);
  best_.grow(rows_at_once);
  left_.grow(rows_at_once / float16_block_rows);
  left_.fill_with_zeros(stream);
  all_left_.grow(1);
  all_left_.fill_with_zeros(stream);
  operands_.rows = rows_.data();
  operands_.facts = facts_.data();
  operands_.centroids = centroids_.data();
  operands_.starts = starts_.data();
  operands_.largest_values = largest_values_.data();
  operands_.largest_pairs = largest_pairs_.data();
  operands_.pair_bounds = pair_bounds_.data();
  operands_.best = best_.data();
  operands_.left = left_.data();
  operands_.all_left = all_left_.data();
  // A row of entries up to four deviations, more than most have, tells whether bytes will do for nearly all.
  const double count = static_cast<double>(columns), unit = extent.largest / (127.0 * most_byte_multiplier);
  const double largest = std::min(extent.largest, 4 * extent.norm / std::sqrt(count));
  const double multiplier = std::max(1.0, std::ceil(most_byte_multiplier * largest / extent.largest));
  operands_.unit = static_cast<float>(unit);
  operands_.usual_norm = static_cast<float>(extent.norm);
  operands_.usual_lost = static_cast<float>(multiplier * unit * std::sqrt(count / 12));
}

double byte_memory::share_left(std::size_t count, const cuda::stream& stream) const {
  if (all_left_.download(1, stream)[0] != 0) return 1;
  std::size_t left = 0;
  for (unsigned long long eight : left_.download((count + float16_block_rows - 1) / float16_block_rows, stream)) {
    for (; eight != 0; eight >>= 8) left += (eight & 255) != 0;
  }
  return 16 * static_cast<double>(left) / static_cast<double>(count);
}

}  // namespace shoal
