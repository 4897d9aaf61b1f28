// The kernels of sample().
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include <shoal/random/normal_method.hpp>

namespace shoal::gmm {

/// What rows are drawn with, in the memory of one GPU; see sample_factors and random::categorical.
struct sample_source {
  std::size_t components = 0;
  std::size_t columns = 0;
  bool triangular = false;
  std::size_t factor_stride = 0;
  const double* means = nullptr;  ///< [K][d]
  const double* factors = nullptr;
  const double* cumulative = nullptr;  ///< [K]
  const unsigned* guide = nullptr;     ///< [K]
  unsigned last = 0;
  const double* edges = nullptr;    ///< of the ziggurat
  const double* heights = nullptr;  ///< of the ziggurat
  std::uint64_t key = 0;            ///< row i has the stream (key, i)
  random::normal_method method = random::normal_method::ziggurat;
};

/// Draws rows [first, first + count) into `rows` [count][d] and their components into `labels` [count]. `normals`
/// [count][d] is scratch.
template <class Scalar>
void sample_rows(const sample_source& source, std::size_t first, std::size_t count, double* normals, Scalar* rows,
                 std::int32_t* labels, cudaStream_t stream);
extern template void sample_rows(const sample_source&, std::size_t, std::size_t, double*, float*, std::int32_t*,
                                 cudaStream_t);
extern template void sample_rows(const sample_source&, std::size_t, std::size_t, double*, double*, std::int32_t*,
                                 cudaStream_t);

}  // namespace shoal::gmm
