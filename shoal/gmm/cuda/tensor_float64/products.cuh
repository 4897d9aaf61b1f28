// Products of small float64 tiles by tensor cores, a warp at a time.
#pragma once

#include <cuda_runtime.h>

namespace shoal::gmm::tensor_float64 {

/// Threads of a block. Tiles of 128 columns by 512 threads took 7 % (densities) and 50 % (moments) longer, for want of
/// registers.
inline constexpr int threads = 256;

/// Columns or rows that are multiplied at a time, through two stages in shared memory.
inline constexpr int step = 16;

/// Blocks of a multiprocessor for tiles of so many columns: while one waits for its rows another multiplies.
constexpr int resident_blocks(int tile) { return tile == 128 ? 1 : 2; }

/// Elements between two rows of `width` elements in shared memory: fragments are read from all banks.
constexpr int padded(int width) { return width + 4; }

/// c += a · b with a 16 × 8, b 8 × 8, c 16 × 8. Thread 4 g + t of the warp holds a(g, t), a(g + 8, t), a(g, t + 4),
/// a(g + 8, t + 4); b(t, g), b(t + 4, g); c(g, 2t), c(g, 2t + 1), c(g + 8, 2t), c(g + 8, 2t + 1).
__device__ inline void multiply_add(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                   : "+d"(c[2 * half]), "+d"(c[2 * half + 1])
                   : "d"(a[2 * part + half]), "d"(b[part]));
    }
  }
#endif
}

/// How the warps of a block divide a tile of 16-row and 8-column parts: part i of a warp is number
/// warp + i · warps in each direction, so that a triangle's parts are spread evenly.
template <int Rows, int Columns, int WarpsDown>
struct warp_tiles {
  static constexpr int warps_down = WarpsDown;
  static constexpr int warps_across = threads / 32 / WarpsDown;
  static constexpr int down = Rows / 16 / warps_down;
  static constexpr int across = Columns / 8 / warps_across;
  static_assert(down * 16 * warps_down == Rows && across * 8 * warps_across == Columns);

  int warp_down = static_cast<int>(threadIdx.x) / 32 / warps_across;
  int warp_across = static_cast<int>(threadIdx.x) / 32 % warps_across;
  int group = static_cast<int>(threadIdx.x) % 32 / 4;
  int place = static_cast<int>(threadIdx.x) % 4;

  /// First row and first column of part i.
  __device__ int row(int i) const { return 16 * (warp_down + i * warps_down); }
  __device__ int column(int i) const { return 8 * (warp_across + i * warps_across); }
};

}  // namespace shoal::gmm::tensor_float64
