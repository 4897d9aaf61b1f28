// What a warp finds of its components for the rows of a stage: their densities, what they sum to over the components
// of all warps of the team, and moments.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <utility>

#include <shoal/gmm/cuda/few_columns/circle_rows.cuh>
#include <shoal/gmm/cuda/few_columns/products_tuning.hpp>

namespace shoal::gmm::few_columns {

/// [eight of rows][2 half + e] is of component 8 half + g of a tile and row 2 t + e.
template <class Shape>
using circle_terms = float[Shape::tiles][Shape::eights][4];

/// A warp's sums: [feature / 8][2 half + e] is of component 8 half + g of a tile and feature 2 t + e.
template <class Shape>
using circle_moments = float[Shape::tiles][2 * Shape::steps][4];

/// What of a warp's components lies in shared memory, with the thread's place.
template <class Shape>
struct circle_components {
  const uint4* coefficients;  ///< [tiles][steps][terms][32]
  const float* constants;     ///< [tiles][16]

  __device__ circle_components(unsigned char* memory, const circle_places& places, unsigned part)
      : coefficients(reinterpret_cast<const uint4*>(memory + places.coefficients +
                                                    part * Shape::tiles * Shape::sizes.sixteen_bytes()) +
                     threadIdx.x % 32),
        constants(reinterpret_cast<const float*>(memory + places.constants) + part * Shape::sizes.components() +
                  threadIdx.x % 32 / 4) {}

  __device__ void load(std::uint32_t (&to)[4], unsigned tile, unsigned step, unsigned term) const {
    const uint4 four = coefficients[((tile * Shape::steps + step) * Shape::terms + term) * 32];
    to[0] = four.x;
    to[1] = four.y;
    to[2] = four.z;
    to[3] = four.w;
  }
};

/// Log₂ densities. Products of low terms are added up by themselves, so that tensor cores cut nothing off but of the
/// sum of the high ones, once a step; and those of either factor's low terms apart, for no product waits for fewer.
template <class Shape>
__device__ void find_circle_scores(circle_terms<Shape>& scores, const circle_components<Shape>& c,
                                   const unsigned char* stage) {
  constexpr unsigned blocks = Shape::eights / 2, low_sums = Shape::eights == 2 && Shape::tiles == 1 ? 2 : 1;
  const unsigned char* const from = stage + threadIdx.x % 32 * 16;
  float low[low_sums][Shape::tiles][Shape::eights][4] = {};
#pragma unroll
  for (int tile = 0; tile < Shape::tiles; ++tile) {
#pragma unroll
    for (unsigned eight = 0; eight < Shape::eights; ++eight) {
#pragma unroll
      for (int i = 0; i < 4; ++i) scores[tile][eight][i] = 0;
    }
  }
#pragma unroll
  for (unsigned step = 0; step < Shape::steps; ++step) {
    std::uint32_t high_rows[blocks][4], low_rows[blocks][4];
#pragma unroll
    for (unsigned block = 0; block < blocks; ++block) {
      const unsigned char* const place = from + block * Shape::sizes.sixteen_bytes() + step * Shape::terms * 512;
      load_matrices(high_rows[block], place);
      if constexpr (Shape::terms == 2) load_matrices(low_rows[block], place + 512);
    }
#pragma unroll
    for (int tile = 0; tile < Shape::tiles; ++tile) {
      std::uint32_t own[4], rest[4];
      c.load(own, tile, step, 0);
      if constexpr (Shape::terms == 2) c.load(rest, tile, step, 1);
#pragma unroll
      for (unsigned eight = 0; eight < Shape::eights; ++eight) {
        const std::uint32_t(&high)[4] = high_rows[eight / 2], (&rest_of_rows)[4] = low_rows[eight / 2];
        const unsigned e = eight % 2;
        tensor::multiply_add(scores[tile][eight], own, high[e], high[2 + e]);
        if constexpr (Shape::terms == 2) {
          tensor::multiply_add(low[0][tile][eight], own, rest_of_rows[e], rest_of_rows[2 + e]);
          tensor::multiply_add(low[low_sums - 1][tile][eight], rest, high[e], high[2 + e]);
        }
      }
    }
  }
#pragma unroll
  for (int tile = 0; tile < Shape::tiles; ++tile) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float constant = c.constants[tile * product_components + 8 * half];
#pragma unroll
      for (unsigned eight = 0; eight < Shape::eights; ++eight) {
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i) {
          float& score = scores[tile][eight][i];
          score = constant + score;
          if constexpr (Shape::terms == 2) {
            score +=
                low_sums == 2 ? low[0][tile][eight][i] + low[low_sums - 1][tile][eight][i] : low[0][tile][eight][i];
          }
        }
      }
    }
  }
}

/// Combines what a warp's threads have of each of a stage's rows over the warp's components, and leaves it to the team.
template <class Shape, class Combine>
__device__ void leave_of_rows(const circle_terms<Shape>& terms, float* to, const Combine& combine) {
  constexpr int size = 2 * static_cast<int>(Shape::eights);
  float values[size];
#pragma unroll
  for (unsigned eight = 0; eight < Shape::eights; ++eight) {
#pragma unroll
    for (unsigned e = 0; e < 2; ++e) {
      float value = combine(terms[0][eight][e], terms[0][eight][2 + e]);
#pragma unroll
      for (int tile = 1; tile < Shape::tiles; ++tile) {
        value = combine(value, combine(terms[tile][eight][e], terms[tile][eight][2 + e]));
      }
      values[2 * eight + e] = value;
    }
  }
  // Of eight threads with the same rows each keeps one of them, or two keep the same.
  constexpr int sharing = size >= 8 ? 1 : 8 / size;
#pragma unroll
  for (int step = 16, left = size / 2; step >= 4 * sharing; step /= 2, left /= 2) {
    const bool upper = (threadIdx.x & static_cast<unsigned>(step)) != 0;
#pragma unroll
    for (int i = 0; i < left; ++i) {
      const float mine = upper ? values[left + i] : values[i], theirs = upper ? values[i] : values[left + i];
      values[i] = combine(mine, __shfl_xor_sync(~0U, theirs, step));
    }
  }
  if constexpr (sharing == 2) values[0] = combine(values[0], __shfl_xor_sync(~0U, values[0], 4));
  static_assert(size == 8 || size == 4);
  const unsigned g = threadIdx.x % 32 / 4, value = g / sharing;
  if (g % sharing == 0) to[value / 2 * 8 + 2 * (threadIdx.x % 4) + value % 2] = values[0];
}

/// Of one row what all warps have left: of row lane mod stage_rows.
template <class Shape, class Combine>
__device__ float combine_of_row(const float* from, unsigned parts, const Combine& combine) {
  from += threadIdx.x % Shape::stage_rows;
  float all = from[0];
#pragma unroll 4
  for (unsigned part = 1; part < parts; ++part) all = combine(all, from[part * Shape::stage_rows]);
  return all;
}

struct add_floats {
  __device__ float operator()(float x, float y) const { return x + y; }
};
struct greater_float {
  __device__ float operator()(float x, float y) const { return fmaxf(x, y); }
};

/// Calls each(term, value of the term's row) for all terms; the thread has the value of row lane mod stage_rows.
template <class Shape, class Each>
__device__ void with_row_values(circle_terms<Shape>& terms, float value, const Each& each) {
#pragma unroll
  for (unsigned eight = 0; eight < Shape::eights; ++eight) {
#pragma unroll
    for (unsigned e = 0; e < 2; ++e) {
      const float of_row = __shfl_sync(~0U, value, static_cast<int>(8 * eight + 2 * (threadIdx.x % 4) + e));
#pragma unroll
      for (int tile = 0; tile < Shape::tiles; ++tile) {
        each(terms[tile][eight][e], of_row);
        each(terms[tile][eight][2 + e], of_row);
      }
    }
  }
}

/// Log₂ densities to powers of two.
template <class Shape>
__device__ void exponentiate_terms(circle_terms<Shape>& terms) {
#pragma unroll
  for (int tile = 0; tile < Shape::tiles; ++tile) {
#pragma unroll
    for (unsigned eight = 0; eight < Shape::eights; ++eight) {
#pragma unroll
      for (int i = 0; i < 4; ++i) terms[tile][eight][i] = exponential_of_two(terms[tile][eight][i]);
    }
  }
}

/// What is known of row lane mod stage_rows.
struct circle_row {
  float sum;       ///< of its terms
  float best = 0;  ///< what log₂ densities have been lessened by
  bool far = false;
};

/// Terms of a stage's rows in memory.
template <class Shape>
struct circle_row_terms {
  circle_terms<Shape> values;
  __device__ void copy_to(circle_terms<Shape>& to) const {
#pragma unroll
    for (int tile = 0; tile < Shape::tiles; ++tile) {
#pragma unroll
      for (unsigned eight = 0; eight < Shape::eights; ++eight) {
#pragma unroll
        for (int i = 0; i < 4; ++i) to[tile][eight][i] = values[tile][eight][i];
      }
    }
  }
};

/// For rows whose densities are all so small that their sum vanishes, or which are far: terms relative to the greatest,
/// and far rows out of the products. All warps of a team come here together.
template <class Shape>
__device__ __noinline__ circle_row scale_terms_by_best(circle_row_terms<Shape>& to, const circle_team<Shape>& team,
                                                       const circle_components<Shape>& c, unsigned char* stage,
                                                       float* sums, unsigned components) {
  circle_terms<Shape>& terms = to.values;
  float* const own_sums = sums + team.part * Shape::stage_rows;
  find_circle_scores<Shape>(terms, c, stage);
  team.sync();  // all have read the sums
  leave_of_rows<Shape>(terms, own_sums, greater_float());
  team.sync();
  circle_row row;
  row.best = combine_of_row<Shape>(sums, team.parts, greater_float());
  row.far = may_be_far(row.best);
  with_row_values<Shape>(terms, row.best, [](float& term, float best) { term = exponential_of_two(term - best); });
  team.sync();
  leave_of_rows<Shape>(terms, own_sums, add_floats());
  team.sync();
  row.sum = combine_of_row<Shape>(sums, team.parts, add_floats());
  // A sum that is no number is that of a row whose features are beyond float16's range.
  row.far = row.far || !(row.sum <= static_cast<float>(components));
  with_row_values<Shape>(terms, row.far ? 1.0F : 0.0F, [](float& term, float far) { term = far != 0 ? 0 : term; });
  if (row.far) {
    row.sum = 1;
    row.best = 0;
    const unsigned lane = threadIdx.x % 32;
    if (team.part == 0 && lane < Shape::stage_rows) {
      // A quarter each of its features lies in row lane mod 8 of every second matrix.
      unsigned char* const matrices = stage + lane / 16 * Shape::sizes.sixteen_bytes() + lane % 16 / 8 * 128;
      for (unsigned matrix = 0; matrix < Shape::steps * Shape::terms * 4; matrix += 2) {
        *reinterpret_cast<uint4*>(matrices + matrix * 128 + lane % 8 * 16) = uint4{};
      }
    }
  }
  team.sync();
  return row;
}

/// sums += responsibilities · features of a stage.
template <class Shape>
__device__ void add_circle_moments(circle_moments<Shape>& sums, const circle_terms<Shape>& shares,
                                   const unsigned char* stage) {
  constexpr unsigned blocks = Shape::eights / 2;
  const unsigned char* const from = stage + threadIdx.x % 32 * 16;
  std::uint32_t high[blocks][Shape::tiles][4], low[blocks][Shape::tiles][4];
#pragma unroll
  for (unsigned block = 0; block < blocks; ++block) {
#pragma unroll
    for (int tile = 0; tile < Shape::tiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* const two = &shares[tile][2 * block + i / 2][i % 2 * 2];
        if constexpr (Shape::terms == 2) {
          tensor::split(two[0], two[1], high[block][tile][i], low[block][tile][i]);
        } else {
          high[block][tile][i] = tensor::bits_of(__floats2half2_rn(two[0], two[1]));
        }
      }
    }
  }
#pragma unroll
  for (unsigned step = 0; step < Shape::steps; ++step) {
    float product[Shape::tiles][2][4];
#pragma unroll
    for (unsigned block = 0; block < blocks; ++block) {
      const unsigned char* const place = from + block * Shape::sizes.sixteen_bytes() + step * Shape::terms * 512;
      std::uint32_t high_features[4], low_features[4];
      load_transposed(high_features, place);
      if constexpr (Shape::terms == 2) load_transposed(low_features, place + 512);
#pragma unroll
      for (int tile = 0; tile < Shape::tiles; ++tile) {
#pragma unroll
        for (unsigned of = 0; of < 2; ++of) {
          if constexpr (Shape::terms == 2) {
            float(&own)[4] = product[tile][of];
            if (block == 0) {
              multiply(own, low[block][tile], high_features[2 * of], high_features[2 * of + 1]);
            } else {
              tensor::multiply_add(own, low[block][tile], high_features[2 * of], high_features[2 * of + 1]);
            }
            tensor::multiply_add(own, high[block][tile], low_features[2 * of], low_features[2 * of + 1]);
            tensor::multiply_add(own, high[block][tile], high_features[2 * of], high_features[2 * of + 1]);
          } else {
            tensor::multiply_add(sums[tile][2 * step + of], high[block][tile], high_features[2 * of],
                                 high_features[2 * of + 1]);
          }
        }
      }
    }
    if constexpr (Shape::terms == 2) {
#pragma unroll
      for (int tile = 0; tile < Shape::tiles; ++tile) {
#pragma unroll
        for (unsigned of = 0; of < 2; ++of) {
#pragma unroll
          for (int i = 0; i < 4; ++i) sums[tile][2 * step + of][i] += product[tile][of][i];
        }
      }
    }
  }
}

}  // namespace shoal::gmm::few_columns
