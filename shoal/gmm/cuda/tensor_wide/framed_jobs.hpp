// How blocks share the moments of one component in the frame: parts of 64 columns by parts of 64 columns, those of a
// triangle. Up to four parts of a side make a square, whose sums a block has in registers.
#pragma once

#include <cuda_runtime_api.h>

#include <shoal/gmm/cuda/tensor_wide/layout.hpp>

namespace shoal::gmm::tensor_wide {

inline constexpr unsigned part_columns = 64;
inline constexpr unsigned most_side_parts = 4;

constexpr unsigned parts_of(unsigned columns) { return ceiling(columns, part_columns); }
/// Sides that the columns are cut into, and parts of each but the last.
constexpr unsigned sides_of(unsigned columns) { return ceiling(parts_of(columns), most_side_parts); }
constexpr unsigned parts_of_side(unsigned columns) { return ceiling(parts_of(columns), sides_of(columns)); }
/// A square of four parts a side off the diagonal is more than a block has registers for: its upper and lower halves.
constexpr unsigned jobs_of_square(unsigned columns) { return parts_of_side(columns) == most_side_parts ? 2 : 1; }
constexpr unsigned jobs_of(unsigned columns) {
  return sides_of(columns) + sides_of(columns) * (sides_of(columns) - 1) / 2 * jobs_of_square(columns);
}

/// Parts of columns that a block's sums have down and across; on the diagonal they are the same.
struct moment_job {
  unsigned first_down = 0, down = 0, first_across = 0, across = 0;
  bool diagonal = false;

  __host__ __device__ moment_job(unsigned index, unsigned columns) {
    const unsigned parts = parts_of(columns), side = parts_of_side(columns), halves = jobs_of_square(columns);
    unsigned row = 0, jobs = 1 + (sides_of(columns) - 1) * halves;
    for (; index >= jobs; jobs -= halves) {
      index -= jobs;
      ++row;
    }
    diagonal = index == 0;
    const unsigned column = diagonal ? row : row + 1 + (index - 1) / halves;
    first_down = row * side;
    down = parts - first_down < side ? parts - first_down : side;
    first_across = column * side;
    across = parts - first_across < side ? parts - first_across : side;
    if (!diagonal && halves == 2) {
      down = 2;
      first_down += (index - 1) % 2 * 2;
    }
  }
};

/// What four warps sum of a job: products of one part down with up to three parts across, and of another one (or the
/// same) with up to two.
struct job_share {
  static constexpr unsigned most = 5, of_first = 3;
  unsigned down[2];  ///< the part of the first three products, and of the last two
  unsigned across[most];
  bool there[most];

  __host__ __device__ job_share(const moment_job& job, unsigned group) {
    constexpr unsigned none = ~0U;
    down[0] = group;
    const unsigned first = job.diagonal ? group : 0;
    for (unsigned i = 0; i < of_first; ++i) across[i] = first + i;
    if (job.diagonal) {
      // Of the first and last part the four warps sum what lies below the diagonal: all of them have five products.
      down[1] = 3 - group;
      across[3] = group == 0 ? 0 : 2;
      across[4] = 3;
    } else if (job.down == 3) {
      down[1] = 2;
      across[3] = group == 0 ? 0 : 2;
      across[4] = group == 0 ? 1 : none;
    } else {
      down[1] = group;
      across[3] = 3;
      across[4] = none;
    }
    for (unsigned i = 0; i < most; ++i) there[i] = down[i < of_first ? 0 : 1] < job.down && across[i] < job.across;
  }
};

}  // namespace shoal::gmm::tensor_wide
