// The memory of one GPU that searches by float16 products take.
#pragma once

#include <cstddef>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/stream.hpp>
#include <shoal/nearest/cuda/float16_operands.hpp>

namespace shoal {

class float16_memory {
 public:
  /// Whether operands of so many rows take at most half of what is free on the current device.
  static bool has_room_for(std::size_t rows, std::size_t columns, float16_digits digits);

  /// For so many rows at a time, of blocks of float16_block_rows, and centroids, a multiple of float16_cluster_tile.
  void grow(std::size_t rows_at_once, std::size_t centroids, std::size_t columns, float16_digits digits,
            const cuda::stream& stream);
  const float16_operands& operands() const { return operands_; }

 private:
  float16_operands operands_;
  cuda::device_buffer<unsigned char> rows_, centroids_;
  cuda::device_buffer<float16_row> facts_;
  cuda::device_buffer<float16_centroid> starts_;
};

}  // namespace shoal
