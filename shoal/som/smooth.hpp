// Smoothing over the lattice: out of unit i is Σⱼ hᵢⱼ · in of unit j.
#pragma once

#include <cstddef>
#include <vector>

#include <shoal/core/aligned_buffer.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/som/lattice_geometry.hpp>
#include <shoal/som/neighborhood.hpp>

namespace shoal::som {

/// Values are [units][stride] in float64, stride a multiple of stride_unit.
inline constexpr std::size_t stride_unit = 8;

struct smoothing_options {
  bool magnitudes = false;  ///< |h| in the place of h
  bool dense = false;       ///< do not use that h is separable: for tests
};

/// Every order of summation is fixed by the shape, so that the executor leaves no trace in the result. A neighbourhood
/// that is a product takes units · (width + height) · stride multiply-adds, any other units² · stride, less where h is
/// zero; h is read from a line for each row offset, never from a matrix of units.
class smoother {
 public:
  explicit smoother(const lattice_shape& shape) : shape_(shape) {}

  /// `in` and `out` may not overlap.
  void operator()(executor& workers, const neighborhood_function& h, const double* in, double* out, std::size_t stride,
                  smoothing_options options = {});

 private:
  void smooth_separably(executor& workers, const neighborhood_function& h, const double* in, double* out,
                        std::size_t stride);
  void smooth_densely(executor& workers, const neighborhood_function& h, const double* in, double* out,
                      std::size_t stride, bool magnitudes);

  lattice_shape shape_;
  aligned_buffer<double> same_parity_;   // [units][stride], smoothed along the rows for rows of the same parity
  aligned_buffer<double> other_parity_;  // and of the other
};

/// A matrix whose element (i, k) depends on k − i alone: targets are its rows, sources its columns.
struct toeplitz {
  std::size_t targets = 0;
  std::size_t sources = 0;
  std::vector<double> line;  ///< [targets + sources − 1], element (i, k) at k − i + targets − 1
  std::size_t first = 0;     ///< of the line, nonzero elements are in [first, end)
  std::size_t end = 0;

  bool zero() const { return first == end; }
};

/// out[i][·] += Σₖ matrix(i, k) · in[k][·] for `count` values each, a multiple of stride_unit.
void add_product(const toeplitz& matrix, const double* in, std::size_t in_stride, double* out, std::size_t out_stride,
                 std::size_t count);

}  // namespace shoal::som
