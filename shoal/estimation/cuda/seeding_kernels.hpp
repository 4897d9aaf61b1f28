// The kernels of seeding: least distances from rows to chosen points, and sums over them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include <shoal/execution/cuda/device_rows.hpp>

namespace shoal {

/// Most trial points of one sum_trials().
inline constexpr std::size_t most_trials = 16;

/// least[i] = min(least[i], ‖x_i − p‖²) over the `points` [count][columns], as sums of squared differences in Work, and
/// owner[i] = first + the lowest index of the nearest where that lowered it. `owner` may be null.
template <class Scalar, class Work>
void apply_points(const cuda::device_piece<Scalar>& piece, std::size_t columns, const Work* points, std::size_t count,
                  std::int32_t first, Work* least, std::int32_t* owner, cudaStream_t stream);

/// sums[block] = Σ w · least over each block of block_rows rows, in float64.
template <class Scalar, class Work>
void sum_masses(const cuda::device_piece<Scalar>& piece, const Work* least, double* sums, cudaStream_t stream);

/// sums[block · trials + t] = Σ w · min(least, ‖x − trial t‖²) over each block of block_rows rows, in float64. At most
/// most_trials trials.
template <class Scalar, class Work>
void sum_trials(const cuda::device_piece<Scalar>& piece, std::size_t columns, const Work* points, std::size_t trials,
                const Work* least, double* sums, cudaStream_t stream);

/// Appends the index in the whole data of each row with uniform(row) < rate · w · least to `kept`, in any order, and
/// counts them in *count, which may pass `capacity` (the rows beyond are not written). The uniforms are those of
/// random::philox4x32 with (seed, stream), four rows to a block.
template <class Scalar, class Work>
void sample_rows(const cuda::device_piece<Scalar>& piece, const Work* least, double rate, std::uint64_t seed,
                 std::uint64_t random_stream, unsigned long long* kept, std::size_t capacity, unsigned long long* count,
                 cudaStream_t stream);

/// totals[owner] += w · 2^exponent, rounded to an integer, so that no order of the additions shows.
template <class Scalar>
void add_owner_weights(const cuda::device_piece<Scalar>& piece, const std::int32_t* owner, int exponent,
                       unsigned long long* totals, cudaStream_t stream);

}  // namespace shoal
