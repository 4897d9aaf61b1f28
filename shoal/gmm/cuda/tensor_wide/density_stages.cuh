// What densities are made of, stage by stage, and where it lies in a block's shared memory.
#pragma once

#include <shoal/gmm/cuda/tensor_wide/layout.hpp>

namespace shoal::gmm::tensor_wide {

/// A stage is 64 columns of rows and scales, and of the factor's tiles that are taken at once: rows are read from
/// shared memory and split once for all of them.
template <int Products, int Width>
struct density_stage {
  static constexpr unsigned tiles = Products == 3 ? 1 : 2;
  static constexpr unsigned term_bytes = Width * 16 * 2;
  static constexpr unsigned step_bytes = (Products == 3 ? 2 : 1) * term_bytes;
  static constexpr unsigned tile_bytes = stage_steps * step_bytes;
  static constexpr unsigned scales_at = tiles * tile_bytes;
  static constexpr unsigned scale_bytes = stage_depth * 8;
  static constexpr unsigned rows_at = scales_at + scale_bytes;
  static constexpr unsigned row_bytes = tile * stage_depth * 4;
};

inline constexpr unsigned most_density_stages = 6;

/// A tile of rows lies in shared memory as long as a block takes its components, or comes with each stage anew.
struct density_plan {
  bool held;
  unsigned stages;
  unsigned row_stride;  // bytes
  unsigned rows_bytes;  // of held rows, behind which stages lie
  unsigned stage_bytes;

  __host__ __device__ unsigned barriers_at() const { return rows_bytes + stages * stage_bytes; }
};

/// Neighbouring rows are an odd number of half lines of shared memory apart, or steps are exchanged in every other row,
/// so that threads which read two rows at once read both halves.
__device__ inline unsigned step_exchange(unsigned row, unsigned row_stride) {
  return row_stride / 64 % 2 == 0 ? row % 2 : 0;
}

/// Stage after stage of the tiles of rows and components that a block takes, which are neighbours.
template <int Products, int Width>
struct density_work {
  using stage = density_stage<Products, Width>;
  unsigned columns, components;
  unsigned item, past;  // a tile of rows and a component
  unsigned k = 0, first_row = 0;
  unsigned t = 0, s = 0;  // first tile of columns of those taken at once, their stage
  unsigned stages = 0;    // of them
  unsigned before = 0;    // stages of a component before tile t

  __device__ density_work(const problem& mixture, const row_chunk& chunk)
      : columns(mixture.layout.columns), components(mixture.layout.components) {
    const unsigned items = static_cast<unsigned>((chunk.count + tile - 1) / tile) * components;
    const auto until = [&](unsigned block) {
      return static_cast<unsigned>(static_cast<unsigned long long>(items) * block / gridDim.x);
    };
    item = until(blockIdx.x);
    past = until(blockIdx.x + 1);
    find_item();
  }
  __device__ bool valid() const { return item < past; }
  /// Rows of the factor that reach tile t + i.
  __device__ unsigned reach(unsigned i) const {
    return (t + i) * Width < columns ? min((t + i + 1) * Width, columns) : 0;
  }
  /// Of tile t + i in this stage.
  __device__ unsigned steps(unsigned i) const {
    const unsigned rows = reach(i), begin = s * stage_depth;
    return rows > begin ? min(ceiling(rows - begin, 16U), unsigned{stage_steps}) : 0;
  }
  /// The place of tile t + i in this stage of a component.
  __device__ unsigned place(unsigned i) const {
    return before + s + (i > 0 ? ceiling<unsigned>(reach(0), stage_depth) : 0);
  }
  /// Whether there are more tiles of columns.
  __device__ bool next_tiles() {
    for (unsigned i = 0; i < stage::tiles; ++i) before += ceiling<unsigned>(reach(i), stage_depth);
    t += stage::tiles;
    find_stages();
    return stages > 0;
  }
  __device__ void next_item() {
    ++item;
    find_item();
  }
  __device__ void next() {
    if (++s < stages || next_tiles()) return;
    next_item();
  }

 private:
  __device__ void find_item() {
    k = item % components;
    first_row = item / components * tile;
    t = before = 0;
    find_stages();
  }
  __device__ void find_stages() {
    s = 0;
    unsigned rows = 0;
    for (unsigned i = 0; i < stage::tiles; ++i) rows = max(rows, reach(i));
    stages = ceiling<unsigned>(rows, stage_depth);
  }
};

}  // namespace shoal::gmm::tensor_wide
