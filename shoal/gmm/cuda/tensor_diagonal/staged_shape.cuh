// What the kernels that have rows in shared memory once are compiled for, and what a block has there.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include <shoal/execution/cuda/device_piece.hpp>
#include <shoal/execution/cuda/shard_plan.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/layout.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/staged.hpp>

namespace shoal::gmm::tensor_diagonal {

/// Tiles of rows take turns in so many places of shared memory: one is converted while products read the one before.
inline constexpr int staged_buffers = 2;

/// What is known when a kernel is compiled: eights of columns, a team's components, products of float16 terms for one,
/// blocks of a multiprocessor, teams.
template <int Octets, int Components, int Products, int Blocks, int Teams>
struct staged_shape {
  static constexpr int octets = Octets;
  static constexpr int components = Components;
  static constexpr int products = Products;
  static constexpr int blocks = Blocks;  // of a multiprocessor
  // Of four warps, each with components of its own; all have the same rows.
  static constexpr int teams = Teams;
  static constexpr int threads = Teams * staged_team_threads;
  static constexpr int terms = split_terms(Products);
  static constexpr int size = Components / 2;  // of a thread's sums
  static constexpr int eights = Components / 8;
  static constexpr int features = 2 * Octets;  // eights of them
  // The moments' products have 64 features each.
  static constexpr int sets = (features + 7) / 8;
  // Where these have room for more than there are, a one is a feature, whose moment is the weight.
  static constexpr bool has_one = features % 8 != 0;
  static constexpr int places = features + (has_one ? 1 : 0);
  // Between eights of features: so that threads with neighbouring columns and rows write to different banks.
  static constexpr unsigned across = 1024 + (Octets == 4 ? 32 : (Octets == 3 ? 48 : 16));
  static constexpr unsigned term_bytes = places * across;
  static constexpr unsigned rows_bytes = terms * term_bytes;
  static constexpr unsigned shares_bytes = terms * eights * 1024;  // responsibilities
  static constexpr unsigned coefficient_bytes = terms * features * Components * 16;
  static constexpr int common_stride = staged_rows + 8;
  // Threads that convert rows: each has the same eight columns of every row it has.
  static constexpr int rows_at_once = threads / Octets < staged_rows ? threads / Octets : staged_rows;
  static constexpr int passes = (staged_rows + rows_at_once - 1) / rows_at_once;
  // One product sums for a whole group of rows; three for a tile, which goes on in float32.
  static constexpr bool has_totals = Products == 3;
  // Without a one, weights are sums of a thread's own responsibilities, or of those that lie in shared memory.
  static constexpr bool sums_own_weights = !has_one && Products == 3;
  static constexpr bool reads_weights = !has_one && Products == 1;
  static constexpr int weight_sums = sums_own_weights ? staged_team_threads / 32 : 1;
  static constexpr int component_size = 8 * features + weight_sums;
  static constexpr unsigned buffer_bytes = rows_bytes + Teams * shares_bytes;
  static constexpr unsigned bytes = Teams * coefficient_bytes + staged_buffers * buffer_bytes;
};

/// What a block has in shared memory beside operands.
template <class Shape>
struct staged_notes {
  float constants[Shape::teams * Shape::components];
  float2 found[Shape::teams][staged_rows];  // by each team, the greatest term of a row and the sum beside it
  float common[Shape::octets][Shape::common_stride];
  unsigned far[cuda::piece_unit / 32];
  double likelihoods[Shape::threads / 32];
  double weights[Shape::threads / 32];
  double best[Shape::threads / 32];
  int any_far;
  unsigned long long arrived;  // a barrier of copied rows
  alignas(16) float rows[staged_rows * 8 * Shape::octets];
};

template <class Shape>
constexpr std::size_t staged_bytes() {
  return Shape::bytes + sizeof(staged_notes<Shape>);
}

/// Responsibilities are multiplied by this, so that float16 holds those of 2⁻³⁹ and more.
inline constexpr float staged_scale = 32768;

/// Adds to a number of the block's lane, which one thread at a time adds to, without waiting for it: so sums are as if
/// it did. Until a pass has added to them, they are anything.
__device__ inline void add_to_lane(double* to, double value, bool fresh) {
  if (fresh) {
    *to = value;
  } else {
    atomicAdd(to, value);
  }
}

/// A thread's place among the teams of a block.
template <class Shape>
struct staged_team {
  __device__ static int team() { return Shape::teams == 1 ? 0 : static_cast<int>(threadIdx.x) / staged_team_threads; }
  // In its team.
  __device__ static int thread() {
    return static_cast<int>(threadIdx.x) % (Shape::teams == 1 ? Shape::threads : staged_team_threads);
  }
  __device__ static int first_component() { return team() * Shape::components; }
  __device__ static void meet_team() {
    if constexpr (Shape::teams == 1) {
      __syncthreads();
    } else {
      asm volatile("bar.sync %0, %1;" ::"r"(team() + 1), "n"(staged_team_threads) : "memory");
    }
  }
};

}  // namespace shoal::gmm::tensor_diagonal
