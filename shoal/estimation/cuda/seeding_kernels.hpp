// The kernels of seeding: least distances from rows to chosen points, and sums over them.
#pragma once

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include <shoal/execution/cuda/device_piece.hpp>

namespace shoal {

/// Most trial points of one sum_trials().
inline constexpr std::size_t most_trials = 16;

/// least[i] = min(least[i], ‖x_i − p‖²) over the `points` [count][columns], as sums of squared differences in Work, and
/// owner[i] = first + the lowest index of the nearest where that lowered it. `owner` may be null.
template <class Scalar, class Work>
void apply_points(const cuda::device_piece<Scalar>& piece, std::size_t columns, const Work* points, std::size_t count,
                  std::int32_t first, Work* least, std::int32_t* owner, cudaStream_t stream);

/// Some of the points of an array, which the device alone may know.
struct point_range {
  unsigned first, count;
};

/// apply_points() of those of `points` that `range` names, memory of the device, about `expected` of them; owner[i] is
/// the nearest's place there.
template <class Scalar, class Work>
void apply_range(const cuda::device_piece<Scalar>& piece, std::size_t columns, const Work* points,
                 const point_range* range, std::size_t expected, Work* least, std::int32_t* owner, cudaStream_t stream);

/// sums[block] = Σ w · least over each block of block_rows rows, in float64.
template <class Scalar, class Work>
void sum_masses(const cuda::device_piece<Scalar>& piece, const Work* least, double* sums, cudaStream_t stream);

/// Applies the first `added` points as apply_points() does, then sums[block · trials + t] = Σ w · min(least, ‖x − trial
/// t‖²) over each block of block_rows rows, in float64, of the `trials` points after them. At most most_trials points
/// in all.
template <class Scalar, class Work>
void sum_trials(const cuda::device_piece<Scalar>& piece, std::size_t columns, const Work* points, std::size_t added,
                std::size_t trials, std::int32_t first, Work* least, std::int32_t* owner, double* sums,
                cudaStream_t stream);

/// Consecutive rows of one block, wherever they are in the memory of a device.
template <class Scalar, class Work>
struct row_masses {
  const Scalar* rows;
  const Scalar* weights;  ///< null: all one
  const Work* least;
  std::size_t count;  ///< at most block_rows
};

/// masses[b][i] = w · min(least, ‖x − p‖²) over the `points` [point_count][columns] for the rows of each block b;
/// [blocks][block_rows], zero beyond a block's last row. `of` is memory of the device.
template <class Scalar, class Work>
void measure_masses(const row_masses<Scalar, Work>* of, std::size_t blocks, std::size_t columns, const Work* points,
                    std::size_t point_count, double* masses, cudaStream_t stream);

/// No points yet: least[i] is infinite and owner[i] zero for i < rows. `owner` may be null.
template <class Work>
void begin_least(Work* least, std::int32_t* owner, std::size_t rows, cudaStream_t stream);

/// points[i] = row `wanted[i]` of the piece, in float64, for i < count.
template <class Scalar>
void gather_points(const cuda::device_piece<Scalar>& piece, std::size_t columns, const std::size_t* wanted,
                   std::size_t count, double* points, cudaStream_t stream);

/// Appends the index in the whole data of each row with uniform(row) < rate · w · least to `kept`, in any order, and
/// counts them in *count, which may pass `capacity` (the rows beyond are not written). The uniforms are those of
/// random::philox4x32 with (seed, stream), four rows to a block.
template <class Scalar, class Work>
void sample_rows(const cuda::device_piece<Scalar>& piece, const Work* least, double rate, std::uint64_t seed,
                 std::uint64_t random_stream, unsigned long long* kept, std::size_t capacity, unsigned long long* count,
                 cudaStream_t stream);

/// Appends the index in the whole data and the weight of each row of positive weight with −ln u <= latest · w, where u
/// = random::uniform_at(seed, stream, row), as sample_rows() does.
template <class Scalar>
void keep_arrivals(const cuda::device_piece<Scalar>& piece, double latest, std::uint64_t seed,
                   std::uint64_t random_stream, unsigned long long* kept, double* kept_weights, std::size_t capacity,
                   unsigned long long* count, cudaStream_t stream);

/// The exponent of the largest power of two by which no sum of weights can pass 2⁶³, where all together are `total`.
inline int exponent_of_weights(double total) { return 62 - std::ilogb(total + 1); }

/// totals[owner] of [points] += w · 2^exponent, rounded to an integer, so that no order of the additions shows.
template <class Scalar>
void add_owner_weights(const cuda::device_piece<Scalar>& piece, const std::int32_t* owner, int exponent,
                       std::size_t points, unsigned long long* totals, cudaStream_t stream);

}  // namespace shoal
