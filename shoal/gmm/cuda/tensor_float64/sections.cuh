// How lanes go through a chunk: section after section of those that are theirs.
#pragma once

#include <cuda_runtime.h>

#include <shoal/gmm/cuda/score_lanes.hpp>
#include <shoal/gmm/cuda/tensor_float64/frame.hpp>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/products.cuh>
#include <shoal/gmm/cuda/tensor_float64/tuning.hpp>

namespace shoal::gmm::tensor_float64 {

/// The rows begin … end − 1 of a chunk are one section of a lane.
struct lane_sections {
  std::size_t begin;
  std::size_t end;

  template <class Scalar>
  __device__ lane_sections(const lane_plan& plan, const row_chunk<Scalar>& chunk, unsigned lane)
      : count_(chunk.count), rows_(plan.section_rows), stride_(plan.section_rows * plan.lanes) {
    const std::size_t before = chunk.share_first / plan.section_rows;
    begin = (lane + plan.lanes - before % plan.lanes) % plan.lanes * rows_;
    end = min(begin + rows_, count_);
  }
  __device__ bool valid() const { return begin < count_; }
  __device__ void next() {
    begin += stride_;
    end = min(begin + rows_, count_);
  }

 private:
  std::size_t count_;
  std::size_t rows_;
  std::size_t stride_;
};

/// Whether the score tile of a row is done in float64: it is far, or there are no products of float16 terms.
__device__ inline bool is_far(const component_frame& frame, std::size_t row) {
  return frame.near == nullptr || *frame.near == 0 || frame.far[row / score_tile_rows] != 0;
}
/// Whether any of the rows begin … end − 1, of one section at most, is in such a tile. All threads of a block ask
/// together.
__device__ inline bool any_far(const component_frame& frame, std::size_t begin, std::size_t end) {
  const std::size_t row = begin + threadIdx.x * score_tile_rows;
  return __syncthreads_or(row < end && is_far(frame, row)) != 0;
}

/// Whether any of some pieces of `rows` rows of a chunk, each `stride` rows after the one before, is in such a tile.
/// All threads of a block ask together, at once: piece after piece took 1 µs for each.
__device__ inline bool any_far(const component_frame& frame, std::size_t first, std::size_t rows, std::size_t stride,
                               std::size_t count) {
  const std::size_t tiles = rows / score_tile_rows;
  bool far = false;
  for (std::size_t i = threadIdx.x; first + i / tiles * stride < count && !far; i += threads) {
    const std::size_t row = first + i / tiles * stride + i % tiles * score_tile_rows;
    far = row < count && is_far(frame, row);
  }
  return __syncthreads_or(far) != 0;
}

static_assert(most_section_rows / score_tile_rows <= threads);

/// Adds the score of a section's rows to the head of its lane, by the first warp of the block: tile after tile, but a
/// thread reads every 32nd of them. One thread that read them all took 13 µs, more than a kernel with nothing else to
/// do.
__device__ inline void add_score(const row_terms& terms, const lane_sections& section, double* lane) {
  if (threadIdx.x >= 32) return;
  const std::size_t past = (section.end + score_tile_rows - 1) / score_tile_rows;
  const auto sum_of = [&](std::size_t tile, int which) { return tile < past ? terms.sums[2 * tile + which] : 0.0; };
  double log_likelihood = 0, weight = 0;
  std::size_t tile = section.begin / score_tile_rows + threadIdx.x;
  double own_log_likelihood = sum_of(tile, 0), own_weight = sum_of(tile, 1);
  for (std::size_t first = tile - threadIdx.x; first < past; first += 32) {
    tile += 32;
    const double next_log_likelihood = sum_of(tile, 0), next_weight = sum_of(tile, 1);
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      log_likelihood += __shfl_sync(~0U, own_log_likelihood, i);
      weight += __shfl_sync(~0U, own_weight, i);
    }
    own_log_likelihood = next_log_likelihood, own_weight = next_weight;
  }
  if (threadIdx.x != 0) return;
  lane[log_likelihood_at] += log_likelihood;
  lane[total_weight_at] += weight;
}

/// The same of all sections of a lane from `section` on, with the same bits: what comes next is read beside the sums.
__device__ inline void add_scores(const row_terms& terms, lane_sections section, double* lane) {
  if (threadIdx.x >= 32 || !section.valid()) return;
  struct scores {
    double log_likelihood = 0, weight = 0;
  };
  const auto past_of = [](const lane_sections& of) { return (of.end + score_tile_rows - 1) / score_tile_rows; };
  const auto read = [&](const lane_sections& of, std::size_t first) {
    const std::size_t tile = first + threadIdx.x;
    return of.valid() && tile < past_of(of) ? scores{terms.sums[2 * tile], terms.sums[2 * tile + 1]} : scores();
  };
  scores all = {lane[log_likelihood_at], lane[total_weight_at]}, of_section;
  std::size_t first = section.begin / score_tile_rows;
  scores own = read(section, first);
  while (section.valid()) {
    lane_sections next_section = section;
    first += 32;
    if (first >= past_of(section)) {
      next_section.next();
      first = next_section.begin / score_tile_rows;
    }
    const scores next = read(next_section, first);
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      of_section.log_likelihood += __shfl_sync(~0U, own.log_likelihood, i);
      of_section.weight += __shfl_sync(~0U, own.weight, i);
    }
    if (next_section.begin != section.begin) {
      all.log_likelihood += of_section.log_likelihood;
      all.weight += of_section.weight;
      of_section = {};
    }
    own = next;
    section = next_section;
  }
  if (threadIdx.x != 0) return;
  lane[log_likelihood_at] = all.log_likelihood;
  lane[total_weight_at] = all.weight;
}

}  // namespace shoal::gmm::tensor_float64
