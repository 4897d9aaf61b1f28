#include <shoal/nearest/cuda/float16_memory.hpp>

#include <shoal/execution/cuda/check.hpp>

namespace shoal {

bool float16_memory::has_room_for(std::size_t rows, std::size_t columns, float16_digits digits) {
  std::size_t free = 0, all = 0;
  cuda::check(cudaMemGetInfo(&free, &all), "ask for its free memory");
  const float16_layout layout(static_cast<int>(columns), digits);
  return layout.unit_bytes() / layout.unit_rows * rows <= free / 2;
}

void float16_memory::grow(std::size_t rows_at_once, std::size_t centroids, std::size_t columns, float16_digits digits,
                          const cuda::stream& stream) {
  const float16_layout layout(static_cast<int>(columns), digits);
  const std::size_t unit_bytes = layout.unit_bytes(), unit_rows = layout.unit_rows;
  rows_.grow(rows_at_once / unit_rows * unit_bytes);
  rows_.fill_with_zeros(stream);
  facts_.grow(rows_at_once);
  centroids_.grow(centroids / unit_rows * unit_bytes);
  starts_.grow(centroids);
  operands_.rows = rows_.data();
  operands_.facts = facts_.data();
  operands_.rows_at_once = rows_at_once;
  operands_.digits = digits;
  operands_.centroids = centroids_.data();
  operands_.starts = starts_.data();
}

}  // namespace shoal
