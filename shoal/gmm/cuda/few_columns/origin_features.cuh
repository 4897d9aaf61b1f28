// Full covariances' moments about one origin that all components share: a product of responsibilities with features of
// a row z, its columns and their products. Where each lies in the operands, and sums on their way from the origin to a
// component's own centre.
#pragma once

#include <cuda_runtime.h>

#include <shoal/gmm/cuda/few_columns/origin_places.hpp>
#include <shoal/gmm/cuda/few_columns/parts.cuh>

namespace shoal::gmm::few_columns {

/// 16 features each. Thread g of eight makes six: z(g) z(g), z(g) z(g+1), z(g+1) z(g+3), z(g) z(g+3), z(g) z(g+4) and
/// z(g), places modulo eight. The fifth comes twice; once that stands for 1.
inline constexpr unsigned feature_tiles = 3, weight_thread = 4;

/// `columns` are g, g + 1, g + 3 and g + 4 of a row.
template <class T>
__device__ void make_features(const T (&columns)[4], unsigned g, T (&features)[2 * feature_tiles]) {
  features[0] = columns[0] * columns[0];
  features[1] = columns[0] * columns[1];
  features[2] = columns[1] * columns[2];
  features[3] = columns[0] * columns[2];
  features[4] = g == weight_thread ? T{1} : columns[0] * columns[3];
  features[5] = columns[0];
}

/// Which of a thread's six features, and the thread.
struct feature_place {
  unsigned feature, thread;
};

/// Of z(i) z(j), i <= j; z(columns) is 1.
__device__ inline feature_place place_of_feature(unsigned columns, unsigned i, unsigned j) {
  if (i == columns) return {4, weight_thread};
  if (j == columns) return {5, i};
  switch (j - i) {
    case 0:
      return {0, i};
    case 1:
      return {1, i};
    case 7:
      return {1, j};
    case 2:
      return {2, (i + 7) % 8};
    case 6:
      return {2, j - 1};
    case 3:
      return {3, i};
    case 5:
      return {3, j};
    default:
      return {4, i};
  }
}

/// Sums of all rows of a warp's product, as its threads 4 g + q hold them: [feature tile][tile of components][2 half +
/// e] is that of feature 2 tile + half of thread g and component 2 q + e.
template <class T, int Tiles>
using origin_sums = T[feature_tiles][Tiles][4];
template <int Tiles>
inline constexpr unsigned origin_sum_count = feature_tiles* Tiles * 4 * 32;

/// Writes a warp's sums to `buffer` [origin_sum_count].
template <class T, int Tiles>
__device__ void write_origin_sums(const origin_sums<T, Tiles>& sums, T* buffer) {
  buffer += threadIdx.x % 32;
#pragma unroll
  for (unsigned t = 0; t < feature_tiles; ++t) {
#pragma unroll
    for (int tile = 0; tile < Tiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i) buffer[((t * Tiles + tile) * 4 + i) * 32] = sums[t][tile][i];
    }
  }
}

/// Where the sum of z(i) z(j) of component k lies there.
template <int Tiles>
__device__ unsigned place_of_sum(unsigned columns, unsigned k, unsigned i, unsigned j) {
  const feature_place place = place_of_feature(columns, i, j);
  const unsigned tile = place.feature / 2 * Tiles + k / origin_components;
  return (tile * 4 + place.feature % 2 * 2 + k % 2) * 32 + place.thread * 4 + k % origin_components / 2;
}

/// Element (i, j) of the triangle of Columns + 1 columns, i <= j, from its place in it, and the other way around.
template <int Columns>
__device__ constexpr unsigned triangle_start(unsigned i) {
  return i * (Columns + 1) - i * (i - 1) / 2;
}
template <int Columns>
__device__ void find_element(unsigned place, unsigned& i, unsigned& j) {
  i = 0;
#pragma unroll
  for (unsigned next = 1; next <= Columns; ++next) i += place >= triangle_start<Columns>(next) ? 1 : 0;
  j = i + place - triangle_start<Columns>(i);
}

/// Sum (i, j) of a component about its centre, which `shift` [Columns] beyond the origin is. `totals` [sums] are about
/// the origin.
template <int Columns>
__device__ double sum_about_centre(const double* totals, unsigned i, unsigned j, const double* shift) {
  constexpr unsigned one = Columns;
  const auto total = [&](unsigned first, unsigned second) {
    return totals[triangle_start<Columns>(first) + (second - first)];
  };
  const double own = total(i, j);
  if (i == one) return own;
  const double weight = total(one, one);
  if (j == one) return own - weight * shift[i];
  return own + (shift[i] * (weight * shift[j] - total(j, one)) - shift[j] * total(i, one));
}

}  // namespace shoal::gmm::few_columns
