// float32 rows that a warp sums, on their way from memory into shared memory some stages ahead of their turn.
#pragma once

#include <cstddef>

#include <shoal/execution/cuda/warpgroup.cuh>

namespace shoal::som {

/// Rows of a stage, and stages of a ring.
inline constexpr int ring_rows = 4, ring_stages = 4;

/// A warp's part of the rows' chunks of columns, four rows after four. Rows begin at multiples of 16 bytes.
template <int Slots>
class row_ring {
 public:
  static constexpr int stages = ring_stages;
  static constexpr int stage_numbers = ring_rows * 32 * Slots;
  static constexpr std::size_t bytes = sizeof(float) * stage_numbers * stages;

  __device__ row_ring(unsigned char* memory, int warp)
      : memory_(reinterpret_cast<float*>(memory + static_cast<std::size_t>(warp) * bytes)) {}

  // The chunk [first, last) of the rows that row_of(b) says, into the stage after the last one. All lanes come here,
  // `wanted` or not.
  template <class Row>
  __device__ void fetch(bool wanted, const float* rows, int columns, int first, int last, const Row& row_of) {
    constexpr int numbers = 4, words = 32 * Slots / numbers;
    if (wanted) {
#pragma unroll
      for (int turn = 0; turn < ring_rows * words; turn += 32) {
        const int number = turn + static_cast<int>(threadIdx.x) % 32, b = number / words, at = number % words * numbers;
        const bool there = first + at < last;
        const float* const from = rows + static_cast<std::size_t>(row_of(b)) * columns + (there ? first + at : 0);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                         cuda::shared_address(memory_ + filled_ * stage_numbers + b * 32 * Slots + at)),
                     "l"(from), "r"(there ? 16 : 0)
                     : "memory");
      }
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    filled_ = filled_ + 1 == stages ? 0 : filled_ + 1;
  }

  // The oldest stage, of which stages - 1 have been asked for since.
  __device__ const float* take() {
    asm volatile("cp.async.wait_group %0;" ::"n"(stages - 1) : "memory");
    __syncwarp();
    const float* const found = memory_ + taken_ * stage_numbers;
    taken_ = taken_ + 1 == stages ? 0 : taken_ + 1;
    return found;
  }

  // Nothing is on its way.
  __device__ void restart() {
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    filled_ = taken_ = 0;
  }

 private:
  float* memory_;
  int filled_ = 0, taken_ = 0;
};

}  // namespace shoal::som
