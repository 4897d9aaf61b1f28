// What the kernels of float64_product_kernel.cuh know when they are compiled, and a row's features.
#pragma once

#include <cuda_runtime.h>

#include <shoal/gmm/cuda/few_columns/float64_products.hpp>

namespace shoal::gmm::few_columns {

template <covariance_type Type, int Columns, int Tiles>
struct float64_shape {
  static constexpr covariance_type type = Type;
  static constexpr int columns = Columns, tiles = Tiles;
  static constexpr float64_sizes sizes{Type, Columns, Tiles};
  static constexpr bool matrix = Type == covariance_type::full, apart = sizes.constants_apart();
  static constexpr int features = sizes.features(), quads = sizes.quads(), eights = sizes.eights();
  static constexpr int stride = sizes.stride(), row_eights = sizes.row_eights(), batch = 8 * row_eights;
  static constexpr int values = 2 * row_eights;  ///< rows of a batch that a thread has terms of
  static constexpr int warps = sizes.warps(), threads = sizes.threads(), kept = sizes.kept();
  static constexpr bool holds_coefficients = sizes.holds_coefficients();
  static constexpr unsigned table_bits = sizes.table_bits();
  static constexpr bool fetches = sizes.fetches_rows();
  static constexpr int fetched_stride = sizes.fetched_stride();
};

/// Calls write(feature, value) for all features of row z.
template <class Shape, class Write>
__device__ void make_float64_features(const double (&z)[Shape::columns], const Write& write) {
  constexpr int d = Shape::columns;
  int next = d;
#pragma unroll
  for (int i = 0; i < d; ++i) {
    write(i, z[i]);
    if constexpr (Shape::matrix) {
#pragma unroll
      for (int j = i; j < d; ++j) write(next++, z[i] * z[j]);
    } else {
      write(next++, z[i] * z[i]);
    }
  }
  write(Shape::features - 1, 1.0);
}

/// Which feature stands for z(i) z(j), i <= j, of d columns; z(d) is 1.
template <class Shape>
__device__ unsigned feature_of_pair(unsigned i, unsigned j, unsigned d) {
  if (i == d) return Shape::features - 1;
  if (j == d) return i;
  if constexpr (Shape::matrix) return d + i * d - i * (i - 1) / 2 + (j - i);
  return Shape::columns + i;
}

}  // namespace shoal::gmm::few_columns
