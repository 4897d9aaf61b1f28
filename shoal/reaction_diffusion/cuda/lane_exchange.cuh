// Consecutive values for each lane of a warp, by whole lines of memory.
#pragma once

#include <cuda_runtime.h>

#include <shoal/reaction_diffusion/cuda/fused.cuh>

namespace shoal::reaction_diffusion {

inline constexpr int lanes = 32;
inline constexpr unsigned every_lane = 0xffffffffu;

/// A warp's way through shared memory. A lane's values lie one vector further apart than they are many, so that all
/// banks are used.
template <class Scalar, int own>
struct lane_exchange {
  using vector = node_vector<Scalar>;
  static constexpr int vectors = own / vector::size, stride = vectors + 1;
  vector* room;  // [lanes][stride]

  // Reads the values [first, first + lanes · own) of an array of `count`; zeros stand for others. Nothing waits for
  // them before arrange(). Where all of them exist, no branch lies between the loads. `aligned`: the array begins at a
  // multiple of 16 bytes.
  __device__ static void fetch(const Scalar* from, long long first, long long count, int lane, vector (&read)[vectors],
                               bool aligned = true) {
    if (aligned && first >= 0 && first + lanes * own <= count) {
#pragma unroll
      for (int i = 0; i < vectors; ++i) {
        read[i] = *reinterpret_cast<const vector*>(from + first + (i * lanes + lane) * vector::size);
      }
      return;
    }
#pragma unroll
    for (int i = 0; i < vectors; ++i) {
      const long long at = first + (i * lanes + lane) * vector::size;
#pragma unroll
      for (int k = 0; k < vector::size; ++k)
        read[i].values[k] = at + k >= 0 && at + k < count ? from[at + k] : Scalar(0);
    }
  }

  __device__ void arrange(const vector (&read)[vectors], int lane, Scalar (&to)[own]) const {
#pragma unroll
    for (int i = 0; i < vectors; ++i) {
      const int place = i * lanes + lane;
      room[place / vectors * stride + place % vectors] = read[i];
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < vectors; ++i) {
      const vector mine = room[lane * stride + i];
#pragma unroll
      for (int k = 0; k < vector::size; ++k) to[i * vector::size + k] = mine.values[k];
    }
    __syncwarp();
  }

  __device__ void load(const Scalar* from, long long first, long long count, int lane, Scalar (&to)[own]) const {
    vector read[vectors];
    fetch(from, first, count, lane, read);
    arrange(read, lane, to);
  }

  // Writes the nodes [first + halo, first + size − halo) that exist.
  __device__ void store(const Scalar (&from)[own], int halo, long long first, long long nodes, int lane, Scalar* to,
                        bool aligned = true) const {
#pragma unroll
    for (int i = 0; i < vectors; ++i) {
      vector mine;
#pragma unroll
      for (int k = 0; k < vector::size; ++k) mine.values[k] = from[i * vector::size + k];
      room[lane * stride + i] = mine;
    }
    __syncwarp();
    const bool inside = aligned && first >= 0 && first + lanes * own <= nodes;
#pragma unroll
    for (int i = 0; i < vectors; ++i) {
      const int place = i * lanes + lane;
      const int local = place * vector::size;
      const long long at = first + local;
      if (local < halo || local >= lanes * own - halo) continue;
      const vector mine = room[place / vectors * stride + place % vectors];
      if (inside || (aligned && at + vector::size <= nodes)) {
        *reinterpret_cast<vector*>(to + at) = mine;
      } else {
#pragma unroll
        for (int k = 0; k < vector::size; ++k) {
          if (at + k < nodes) to[at + k] = mine.values[k];
        }
      }
    }
    __syncwarp();
  }
};

}  // namespace shoal::reaction_diffusion
