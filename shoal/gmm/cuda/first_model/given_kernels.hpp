// The kernels of given_moments.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include <shoal/execution/cuda/device_piece.hpp>
#include <shoal/gmm/cuda/mixture.hpp>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>

namespace shoal::gmm {

/// Sums of one component's rows, in each lane: the weight, d first moments, then second moments, all pairs (i, j) with
/// i <= j row by row, or the squares alone.
struct given_shape {
  std::size_t components = 0;
  std::size_t columns = 0;
  bool pairs = false;  ///< all pairs of columns rather than the squares
  std::size_t lanes = 0;

  constexpr std::size_t second_size() const { return pairs ? columns * (columns + 1) / 2 : columns; }
  constexpr std::size_t component_size() const { return 1 + columns + second_size(); }
  constexpr std::size_t lane_size() const { return components * component_size(); }
};

/// Lanes for sums of at most `rows` rows, `spread` for add_random_together(). They depend on the shape alone, for the
/// bits do.
std::size_t lanes_of(const given_shape& shape, std::size_t rows, bool spread);

/// The random stream of responsibilities: row i has the uniforms of random::stream(seed, id, i · ⌈K / 2⌉), in the order
/// of the components.
struct random_responsibilities {
  std::uint64_t seed = 0;
  std::uint64_t id = 0;
};

/// Adds a piece, whose rows each belong to the component labels[i] alone, to `lanes` [lanes][K][component_size]: unit u
/// of cuda::piece_unit rows of the share to lane u mod lanes.
template <class Scalar>
void add_labelled(const cuda::device_piece<Scalar>& piece, const std::int32_t* labels, const double* centres,
                  const given_shape& shape, double* lanes, cudaStream_t stream);
extern template void add_labelled(const cuda::device_piece<float>&, const std::int32_t*, const double*,
                                  const given_shape&, double*, cudaStream_t);
extern template void add_labelled(const cuda::device_piece<double>&, const std::int32_t*, const double*,
                                  const given_shape&, double*, cudaStream_t);

/// The same with a row's uniforms over their sum as its responsibilities, rounded to Scalar as on the host.
/// `uniform_sums` is [piece.count] of scratch.
template <class Scalar>
void add_random(const cuda::device_piece<Scalar>& piece, const random_responsibilities& draw, const double* centres,
                const given_shape& shape, Scalar* uniform_sums, double* lanes, cudaStream_t stream);
extern template void add_random(const cuda::device_piece<float>&, const random_responsibilities&, const double*,
                                const given_shape&, float*, double*, cudaStream_t);
extern template void add_random(const cuda::device_piece<double>&, const random_responsibilities&, const double*,
                                const given_shape&, double*, double*, cudaStream_t);

/// The same of at most most_spread_columns columns, about one centre [d] that all components share.
inline constexpr std::size_t most_spread_columns = 16;
template <class Scalar>
void add_random_together(const cuda::device_piece<Scalar>& piece, const random_responsibilities& draw,
                         const double* centre, const given_shape& shape, Scalar* uniform_sums, double* lanes,
                         cudaStream_t stream);
extern template void add_random_together(const cuda::device_piece<float>&, const random_responsibilities&,
                                         const double*, const given_shape&, float*, double*, cudaStream_t);
extern template void add_random_together(const cuda::device_piece<double>&, const random_responsibilities&,
                                         const double*, const given_shape&, double*, double*, cudaStream_t);

/// The same with the responsibilities [piece.count][K].
template <class Scalar>
void add_known(const cuda::device_piece<Scalar>& piece, const Scalar* responsibilities, const double* centres,
               const given_shape& shape, double* lanes, cudaStream_t stream);
extern template void add_known(const cuda::device_piece<float>&, const float*, const double*, const given_shape&,
                               double*, cudaStream_t);
extern template void add_known(const cuda::device_piece<double>&, const double*, const double*, const given_shape&,
                               double*, cudaStream_t);

/// Sets `statistics` to the sums of the lanes, in their order; all but the header.
void merge_given(const double* lanes, const given_shape& shape, const kernel_layout& layout, double* statistics,
                 cudaStream_t stream);

/// A chunk's responsibilities times its rows' weights, as the kernels for moments by tensor cores read them. `first` is
/// the index of the chunk's first row in the whole data.
template <class Scalar>
void write_random(const tensor_float64::row_chunk<Scalar>& chunk, std::size_t first, std::size_t components,
                  const random_responsibilities& draw, Scalar* uniform_sums, double* values, std::size_t stride,
                  cudaStream_t stream);
extern template void write_random(const tensor_float64::row_chunk<float>&, std::size_t, std::size_t,
                                  const random_responsibilities&, float*, double*, std::size_t, cudaStream_t);
extern template void write_random(const tensor_float64::row_chunk<double>&, std::size_t, std::size_t,
                                  const random_responsibilities&, double*, double*, std::size_t, cudaStream_t);
template <class Scalar>
void write_known(const tensor_float64::row_chunk<Scalar>& chunk, std::size_t components, const Scalar* responsibilities,
                 double* values, std::size_t stride, cudaStream_t stream);
extern template void write_known(const tensor_float64::row_chunk<float>&, std::size_t, const float*, double*,
                                 std::size_t, cudaStream_t);
extern template void write_known(const tensor_float64::row_chunk<double>&, std::size_t, const double*, double*,
                                 std::size_t, cudaStream_t);

}  // namespace shoal::gmm
