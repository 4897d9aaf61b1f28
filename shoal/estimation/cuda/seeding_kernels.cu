#include <cuda_runtime.h>

#include <shoal/estimation/cuda/seeding_kernels.hpp>
#include <shoal/estimation/cuda/squared_distance.cuh>
#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/execution/plan.hpp>
#include <shoal/random/stream.hpp>

namespace shoal {
namespace {

// One thread for each row of a block of rows.
constexpr unsigned threads = block_rows;

// Columns [from, from + column_tile) of a row; zero beyond the last. Neighbouring threads read rows far apart, so that
// fewer and longer reads are what counts.
template <int column_tile, class Scalar, class Work>
__device__ void load_columns(const Scalar* row, std::size_t columns, std::size_t from, bool inside,
                             Work (&own)[column_tile]) {
  constexpr int together = neighbours<Scalar>::count;
  if (column_tile >= together && columns % together == 0) {
#pragma unroll
    for (int j = 0; j < column_tile; j += together) {
      neighbours<Scalar> read{};
      if (inside && from + j < columns) read = *reinterpret_cast<const neighbours<Scalar>*>(row + from + j);
#pragma unroll
      for (int l = 0; l < together; ++l) own[j + l] = static_cast<Work>(read.values[l]);
    }
    return;
  }
#pragma unroll
  for (int j = 0; j < column_tile; ++j) {
    own[j] = inside && from + j < columns ? static_cast<Work>(row[from + j]) : Work{0};
  }
}

// Rows and points meet in tiles: so many columns of a row in registers against as many of so many points in shared
// memory, which all threads of a warp read at the same address. Points beyond the last are infinitely far.
template <class Work, int point_tile, int column_tile>
__device__ void measure_distances(const Work* points, std::size_t count, std::size_t columns, const auto* row,
                                  bool inside, Work (&distances)[point_tile], Work (&shared)[point_tile][column_tile]) {
#pragma unroll
  for (int p = 0; p < point_tile; ++p) distances[p] = 0;
  for (std::size_t from = 0; from < columns; from += column_tile) {
    __syncthreads();
    for (unsigned i = threadIdx.x; i < point_tile * column_tile; i += threads) {
      const unsigned p = i / column_tile, j = i % column_tile;
      Work value = p < count ? Work{0} : static_cast<Work>(__builtin_huge_val());
      if (p < count && from + j < columns) value = points[p * columns + from + j];
      shared[p][j] = value;
    }
    __syncthreads();
    Work own[column_tile];
    load_columns<column_tile>(row, columns, from, inside, own);
#pragma unroll
    for (int p = 0; p < point_tile; ++p) {
#pragma unroll
      for (int j = 0; j < column_tile; ++j) {
        const Work difference = own[j] - shared[p][j];
        distances[p] += difference * difference;
      }
    }
  }
}

template <int point_tile, int column_tile, class Scalar, class Work>
__global__ void apply_kernel(const Scalar* rows, std::size_t row_count, std::size_t columns, const Work* points,
                             std::size_t count, std::int32_t first, const point_range* range, Work* least,
                             std::int32_t* owner) {
  if (range != nullptr) {
    points += range->first * columns;
    count = range->count;
    first = static_cast<std::int32_t>(range->first);
  }
  __shared__ Work shared[point_tile][column_tile];
  const std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x;
  const bool inside = i < row_count;
  Work best = inside ? least[i] : Work{0};
  std::int32_t nearest = -1;
  for (std::size_t from = 0; from < count; from += point_tile) {
    Work distances[point_tile];
    measure_distances<Work, point_tile, column_tile>(points + from * columns, count - from, columns, rows + i * columns,
                                                     inside, distances, shared);
#pragma unroll
    for (int p = 0; p < point_tile; ++p) {
      if (distances[p] < best) {
        best = distances[p];
        nearest = first + static_cast<std::int32_t>(from) + p;
      }
    }
  }
  if (!inside || nearest < 0) return;
  least[i] = best;
  if (owner != nullptr) owner[i] = nearest;
}

// The same where a tile has all columns: many points at a time come to shared memory, and a thread keeps several rows,
// so that what it reads of a point serves all of them. Reading a point for one row takes as long as measuring it for
// two.
constexpr unsigned few_columns_threads = 128;
template <unsigned own_rows, int column_tile, class Scalar, class Work>
__global__ void __launch_bounds__(few_columns_threads)
    apply_few_columns_kernel(const Scalar* rows, std::size_t row_count, std::size_t columns, const Work* points,
                             std::size_t count, std::int32_t first, const point_range* range, Work* least,
                             std::int32_t* owner) {
  constexpr unsigned stage = (16u << 10) / (column_tile * sizeof(Work));
  __shared__ alignas(16) Work shared[stage][column_tile];
  if (range != nullptr) {
    points += range->first * columns;
    count = range->count;
    first = static_cast<std::int32_t>(range->first);
  }
  const std::size_t begin = std::size_t{blockIdx.x} * own_rows * few_columns_threads + threadIdx.x;
  Work own[own_rows][column_tile], best[own_rows];
  std::int32_t nearest[own_rows];
#pragma unroll
  for (unsigned r = 0; r < own_rows; ++r) {
    const std::size_t i = begin + r * few_columns_threads;
    load_columns<column_tile>(rows + i * columns, columns, 0, i < row_count, own[r]);
    best[r] = i < row_count ? least[i] : Work{0};
    nearest[r] = -1;
  }
  for (std::size_t from = 0; from < count; from += stage) {
    const auto some = static_cast<unsigned>(min(count - from, std::size_t{stage}));
    __syncthreads();
    for (unsigned i = threadIdx.x; i < some * column_tile; i += few_columns_threads) {
      const unsigned p = i / column_tile, j = i % column_tile;
      shared[p][j] = j < columns ? points[(from + p) * columns + j] : Work{0};
    }
    __syncthreads();
#pragma unroll 4
    for (unsigned p = 0; p < some; ++p) {
      Work at[column_tile];
#pragma unroll
      for (int j = 0; j < column_tile; ++j) at[j] = shared[p][j];
#pragma unroll
      for (unsigned r = 0; r < own_rows; ++r) {
        Work distance = 0;
#pragma unroll
        for (int j = 0; j < column_tile; ++j) {
          const Work difference = own[r][j] - at[j];
          distance = fma(difference, difference, distance);
        }
        if (distance < best[r]) {
          best[r] = distance;
          nearest[r] = first + static_cast<std::int32_t>(from + p);
        }
      }
    }
  }
#pragma unroll
  for (unsigned r = 0; r < own_rows; ++r) {
    if (nearest[r] < 0) continue;
    const std::size_t i = begin + r * few_columns_threads;
    least[i] = best[r];
    if (owner != nullptr) owner[i] = nearest[r];
  }
}

// The same order for every launch: within warps, then warp by warp.
__device__ double sum_over_block(double value, double* warps) {
  value = cuda::warp_sum(value);
  __syncthreads();
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  double sum = 0;
  for (unsigned warp = 0; warp < threads / 32; ++warp) sum += warps[warp];
  return sum;
}

template <class Scalar>
__device__ double weight_of(const Scalar* weights, std::size_t i) {
  return weights == nullptr ? 1.0 : static_cast<double>(weights[i]);
}

template <class Scalar, class Work>
__global__ void mass_kernel(const Scalar* weights, std::size_t row_count, const Work* least, double* sums) {
  __shared__ double warps[threads / 32];
  const std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x;
  double mass = 0;
  if (i < row_count) {
    const double weight = weight_of(weights, i);
    if (weight > 0) mass = weight * static_cast<double>(least[i]);
  }
  const double sum = sum_over_block(mass, warps);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

template <int point_tile, int column_tile, class Scalar, class Work>
__global__ void trial_kernel(const Scalar* rows, const Scalar* weights, std::size_t row_count, std::size_t columns,
                             const Work* points, unsigned added, unsigned trials, std::int32_t first, Work* least,
                             std::int32_t* owner, double* sums) {
  __shared__ Work shared[point_tile][column_tile];
  __shared__ double warps[point_tile][threads / 32];
  const std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x;
  const bool inside = i < row_count;
  Work distances[point_tile];
  measure_distances<Work, point_tile, column_tile>(points, added + trials, columns, rows + i * columns, inside,
                                                   distances, shared);
  const double weight = inside ? weight_of(weights, i) : 0;
  Work own = inside ? least[i] : Work{0};
  std::int32_t nearest = -1;
#pragma unroll
  for (int p = 0; p < point_tile; ++p) {
    if (p < added && distances[p] < own) {
      own = distances[p];
      nearest = first + p;
    }
  }
  if (inside && nearest >= 0) {
    least[i] = own;
    owner[i] = nearest;
  }
#pragma unroll
  for (int p = 0; p < point_tile; ++p) {
    if (p < added) continue;
    if (p >= added + trials) break;
    const Work smaller = distances[p] < own ? distances[p] : own;
    const double sum = cuda::warp_sum(weight > 0 ? weight * static_cast<double>(smaller) : 0.0);
    if (threadIdx.x % 32 == 0) warps[p][threadIdx.x / 32] = sum;
  }
  __syncthreads();
  // In the order of sum_over_block(), a thread for each trial.
  if (threadIdx.x >= trials) return;
  double sum = 0;
  for (unsigned warp = 0; warp < threads / 32; ++warp) sum += warps[added + threadIdx.x][warp];
  sums[blockIdx.x * trials + threadIdx.x] = sum;
}

template <int column_tile, class Scalar, class Work>
__global__ void block_masses_kernel(const row_masses<Scalar, Work>* of, std::size_t columns, const Work* points,
                                    std::size_t count, double* masses) {
  __shared__ Work shared[1][column_tile];
  const row_masses<Scalar, Work> block = of[blockIdx.x];
  const unsigned i = threadIdx.x;
  const bool inside = i < block.count;
  Work least = inside ? block.least[i] : Work{0};
  for (std::size_t p = 0; p < count; ++p) {
    Work distance[1];
    measure_distances<Work, 1, column_tile>(points + p * columns, 1, columns, block.rows + i * columns, inside,
                                            distance, shared);
    if (distance[0] < least) least = distance[0];
  }
  const double weight = inside ? weight_of(block.weights, i) : 0;
  masses[std::size_t{blockIdx.x} * threads + i] = weight > 0 ? weight * static_cast<double>(least) : 0;
}

template <class Work>
__global__ void begin_kernel(Work* least, std::int32_t* owner, std::size_t rows) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  least[i] = static_cast<Work>(__builtin_huge_val());
  if (owner != nullptr) owner[i] = 0;
}

template <class Scalar>
__global__ void gather_kernel(const Scalar* rows, std::size_t columns, const std::size_t* wanted, double* points) {
  for (std::size_t j = threadIdx.x; j < columns; j += blockDim.x) {
    points[blockIdx.x * columns + j] = static_cast<double>(rows[wanted[blockIdx.x] * columns + j]);
  }
}

template <class Scalar, class Work>
__global__ void sample_kernel(const Scalar* weights, std::size_t first, std::size_t row_count, const Work* least,
                              double rate, std::uint64_t seed, std::uint64_t random_stream, unsigned long long* kept,
                              std::size_t capacity, unsigned long long* count) {
  const std::size_t quad = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (4 * quad >= row_count) return;
  const auto words = random::philox4x32::block(seed, random_stream, first / 4 + quad);
  for (std::size_t lane = 0; lane < 4; ++lane) {
    const std::size_t i = 4 * quad + lane;
    if (i >= row_count) return;
    const double u = (static_cast<double>(words[lane]) + 0.5) * 0x1p-32;
    if (!(u < rate * weight_of(weights, i) * static_cast<double>(least[i]))) continue;
    const unsigned long long place = atomicAdd(count, 1ULL);
    if (place < capacity) kept[place] = first + i;
  }
}

template <class Scalar>
__global__ void arrival_kernel(const Scalar* weights, std::size_t first, std::size_t row_count, double latest,
                               std::uint64_t seed, std::uint64_t random_stream, unsigned long long* kept,
                               double* kept_weights, std::size_t capacity, unsigned long long* count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= row_count) return;
  const double weight = weight_of(weights, i);
  if (!(weight > 0) || !(-log(random::uniform_at(seed, random_stream, first + i)) <= latest * weight)) return;
  const unsigned long long place = atomicAdd(count, 1ULL);
  if (place >= capacity) return;
  kept[place] = first + i;
  kept_weights[place] = weight;
}

template <class Scalar>
__global__ void owner_kernel(const Scalar* weights, std::size_t row_count, const std::int32_t* owner, int exponent,
                             unsigned long long* totals) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= row_count) return;
  const double scaled = ldexp(weight_of(weights, i), exponent);
  atomicAdd(&totals[owner[i]], __double2ull_rn(scaled));
}

// The same where all weights are one: rows are counted in shared memory first, since many rows have one owner.
constexpr unsigned counted_rows = 16 * threads;  // by a block
__global__ void __launch_bounds__(threads)
    owner_count_kernel(std::size_t row_count, const std::int32_t* owner, unsigned points, int exponent,
                       unsigned long long* totals) {
  extern __shared__ unsigned counts[];
  for (unsigned p = threadIdx.x; p < points; p += threads) counts[p] = 0;
  __syncthreads();
  const std::size_t begin = std::size_t{blockIdx.x} * counted_rows, left = row_count - begin;
  for (unsigned i = threadIdx.x; i < counted_rows && i < left; i += threads) atomicAdd(&counts[owner[begin + i]], 1u);
  __syncthreads();
  const unsigned long long unit = __double2ull_rn(ldexp(1.0, exponent));
  for (unsigned p = threadIdx.x; p < points; p += threads) {
    if (counts[p] > 0) atomicAdd(&totals[p], counts[p] * unit);
  }
}

unsigned blocks_of(std::size_t rows) { return static_cast<unsigned>((rows + threads - 1) / threads); }

// Rows from which a thread has two, or four, of them: a GPU has enough threads for all of its multiprocessors then.
constexpr std::size_t rows_of_two = 60'000, rows_of_four = 500'000;

template <unsigned own_rows, class Scalar, class Work>
void launch_few_columns(const cuda::device_piece<Scalar>& piece, std::size_t columns, const Work* points,
                        std::size_t count, std::int32_t first, const point_range* range, Work* least,
                        std::int32_t* owner, cudaStream_t stream) {
  const auto kernel = columns <= 2   ? apply_few_columns_kernel<own_rows, 2, Scalar, Work>
                      : columns <= 4 ? apply_few_columns_kernel<own_rows, 4, Scalar, Work>
                                     : apply_few_columns_kernel<own_rows, 8, Scalar, Work>;
  constexpr std::size_t block = std::size_t{own_rows} * few_columns_threads;
  kernel<<<static_cast<unsigned>((piece.count + block - 1) / block), few_columns_threads, 0, stream>>>(
      piece.rows, piece.count, columns, points, count, first, range, least, owner);
  cuda::check_launch("apply_points");
}

template <int point_tile, class Scalar, class Work>
void launch_apply(const cuda::device_piece<Scalar>& piece, std::size_t columns, const Work* points, std::size_t count,
                  std::int32_t first, const point_range* range, Work* least, std::int32_t* owner, cudaStream_t stream) {
  if (point_tile > 1 && columns <= 8) {
    const auto launch = piece.count < rows_of_two    ? launch_few_columns<1, Scalar, Work>
                        : piece.count < rows_of_four ? launch_few_columns<2, Scalar, Work>
                                                     : launch_few_columns<4, Scalar, Work>;
    return launch(piece, columns, points, count, first, range, least, owner, stream);
  }
  const auto kernel = columns <= 2   ? apply_kernel<point_tile, 2, Scalar, Work>
                      : columns <= 4 ? apply_kernel<point_tile, 4, Scalar, Work>
                      : columns <= 8 ? apply_kernel<point_tile, 8, Scalar, Work>
                                     : apply_kernel<point_tile, 16, Scalar, Work>;
  kernel<<<blocks_of(piece.count), threads, 0, stream>>>(piece.rows, piece.count, columns, points, count, first, range,
                                                         least, owner);
  cuda::check_launch("apply_points");
}

template <class Work>
constexpr int usual_tile = sizeof(Work) == 4 ? 32 : 16;
// Of fewer points most of a usual tile would be empty.
constexpr int small_tile = 8;
constexpr std::size_t most_in_small_tiles = 24;

}  // namespace

template <class Scalar, class Work>
void apply_points(const cuda::device_piece<Scalar>& piece, std::size_t columns, const Work* points, std::size_t count,
                  std::int32_t first, Work* least, std::int32_t* owner, cudaStream_t stream) {
  if (count == 1) {
    launch_apply<1>(piece, columns, points, count, first, nullptr, least, owner, stream);
  } else {
    launch_apply<usual_tile<Work>>(piece, columns, points, count, first, nullptr, least, owner, stream);
  }
}

template <class Scalar, class Work>
void apply_range(const cuda::device_piece<Scalar>& piece, std::size_t columns, const Work* points,
                 const point_range* range, std::size_t expected, Work* least, std::int32_t* owner,
                 cudaStream_t stream) {
  if (expected <= most_in_small_tiles) {
    launch_apply<small_tile>(piece, columns, points, 0, 0, range, least, owner, stream);
  } else {
    launch_apply<usual_tile<Work>>(piece, columns, points, 0, 0, range, least, owner, stream);
  }
}

template <class Scalar, class Work>
void sum_masses(const cuda::device_piece<Scalar>& piece, const Work* least, double* sums, cudaStream_t stream) {
  mass_kernel<<<blocks_of(piece.count), threads, 0, stream>>>(piece.weights, piece.count, least, sums);
  cuda::check_launch("sum_masses");
}

template <class Scalar, class Work>
void sum_trials(const cuda::device_piece<Scalar>& piece, std::size_t columns, const Work* points, std::size_t added,
                std::size_t trials, std::int32_t first, Work* least, std::int32_t* owner, double* sums,
                cudaStream_t stream) {
  const auto launch = [&](auto kernel) {
    kernel<<<blocks_of(piece.count), threads, 0, stream>>>(piece.rows, piece.weights, piece.count, columns, points,
                                                           static_cast<unsigned>(added), static_cast<unsigned>(trials),
                                                           first, least, owner, sums);
    cuda::check_launch("sum_trials");
  };
  if (added + trials == 1) {
    launch(columns <= 4 ? trial_kernel<1, 4, Scalar, Work> : trial_kernel<1, 16, Scalar, Work>);
  } else if (added + trials <= 8) {
    launch(columns <= 4 ? trial_kernel<8, 4, Scalar, Work> : trial_kernel<8, 16, Scalar, Work>);
  } else if (added + trials <= 12) {
    launch(columns <= 4 ? trial_kernel<12, 4, Scalar, Work> : trial_kernel<12, 16, Scalar, Work>);
  } else {
    launch(columns <= 4 ? trial_kernel<most_trials, 4, Scalar, Work> : trial_kernel<most_trials, 16, Scalar, Work>);
  }
}

template <class Scalar, class Work>
void measure_masses(const row_masses<Scalar, Work>* of, std::size_t blocks, std::size_t columns, const Work* points,
                    std::size_t point_count, double* masses, cudaStream_t stream) {
  if (blocks == 0) return;
  const auto kernel = columns <= 4 ? block_masses_kernel<4, Scalar, Work> : block_masses_kernel<16, Scalar, Work>;
  kernel<<<static_cast<unsigned>(blocks), threads, 0, stream>>>(of, columns, points, point_count, masses);
  cuda::check_launch("measure_masses");
}

template <class Work>
void begin_least(Work* least, std::int32_t* owner, std::size_t rows, cudaStream_t stream) {
  if (rows == 0) return;
  begin_kernel<<<blocks_of(rows), threads, 0, stream>>>(least, owner, rows);
  cuda::check_launch("begin_least");
}
template void begin_least(float*, std::int32_t*, std::size_t, cudaStream_t);
template void begin_least(double*, std::int32_t*, std::size_t, cudaStream_t);

template <class Scalar>
void gather_points(const cuda::device_piece<Scalar>& piece, std::size_t columns, const std::size_t* wanted,
                   std::size_t count, double* points, cudaStream_t stream) {
  if (count == 0) return;
  gather_kernel<<<static_cast<unsigned>(count), 128, 0, stream>>>(piece.rows, columns, wanted, points);
  cuda::check_launch("gather_points");
}
template void gather_points(const cuda::device_piece<float>&, std::size_t, const std::size_t*, std::size_t, double*,
                            cudaStream_t);
template void gather_points(const cuda::device_piece<double>&, std::size_t, const std::size_t*, std::size_t, double*,
                            cudaStream_t);

template <class Scalar, class Work>
void sample_rows(const cuda::device_piece<Scalar>& piece, const Work* least, double rate, std::uint64_t seed,
                 std::uint64_t random_stream, unsigned long long* kept, std::size_t capacity, unsigned long long* count,
                 cudaStream_t stream) {
  sample_kernel<<<blocks_of((piece.count + 3) / 4), threads, 0, stream>>>(
      piece.weights, piece.first, piece.count, least, rate, seed, random_stream, kept, capacity, count);
  cuda::check_launch("sample_rows");
}

template <class Scalar>
void keep_arrivals(const cuda::device_piece<Scalar>& piece, double latest, std::uint64_t seed,
                   std::uint64_t random_stream, unsigned long long* kept, double* kept_weights, std::size_t capacity,
                   unsigned long long* count, cudaStream_t stream) {
  arrival_kernel<<<blocks_of(piece.count), threads, 0, stream>>>(piece.weights, piece.first, piece.count, latest, seed,
                                                                 random_stream, kept, kept_weights, capacity, count);
  cuda::check_launch("keep_arrivals");
}
template void keep_arrivals(const cuda::device_piece<float>&, double, std::uint64_t, std::uint64_t, unsigned long long*,
                            double*, std::size_t, unsigned long long*, cudaStream_t);
template void keep_arrivals(const cuda::device_piece<double>&, double, std::uint64_t, std::uint64_t,
                            unsigned long long*, double*, std::size_t, unsigned long long*, cudaStream_t);

template <class Scalar>
void add_owner_weights(const cuda::device_piece<Scalar>& piece, const std::int32_t* owner, int exponent,
                       std::size_t points, unsigned long long* totals, cudaStream_t stream) {
  if (piece.weights == nullptr && points <= counted_rows / 2) {
    const auto blocks = static_cast<unsigned>((piece.count + counted_rows - 1) / counted_rows);
    owner_count_kernel<<<blocks, threads, points * sizeof(unsigned), stream>>>(
        piece.count, owner, static_cast<unsigned>(points), exponent, totals);
    return cuda::check_launch("add_owner_weights");
  }
  owner_kernel<<<blocks_of(piece.count), threads, 0, stream>>>(piece.weights, piece.count, owner, exponent, totals);
  cuda::check_launch("add_owner_weights");
}

#define SHOAL_INSTANTIATE(Scalar, Work)                                                                              \
  template void apply_points(const cuda::device_piece<Scalar>&, std::size_t, const Work*, std::size_t, std::int32_t, \
                             Work*, std::int32_t*, cudaStream_t);                                                    \
  template void apply_range(const cuda::device_piece<Scalar>&, std::size_t, const Work*, const point_range*,         \
                            std::size_t, Work*, std::int32_t*, cudaStream_t);                                        \
  template void sum_masses(const cuda::device_piece<Scalar>&, const Work*, double*, cudaStream_t);                   \
  template void sum_trials(const cuda::device_piece<Scalar>&, std::size_t, const Work*, std::size_t, std::size_t,    \
                           std::int32_t, Work*, std::int32_t*, double*, cudaStream_t);                               \
  template void measure_masses(const row_masses<Scalar, Work>*, std::size_t, std::size_t, const Work*, std::size_t,  \
                               double*, cudaStream_t);                                                               \
  template void sample_rows(const cuda::device_piece<Scalar>&, const Work*, double, std::uint64_t, std::uint64_t,    \
                            unsigned long long*, std::size_t, unsigned long long*, cudaStream_t);
SHOAL_INSTANTIATE(float, float)
SHOAL_INSTANTIATE(float, double)
SHOAL_INSTANTIATE(double, double)
#undef SHOAL_INSTANTIATE
template void add_owner_weights(const cuda::device_piece<float>&, const std::int32_t*, int, std::size_t,
                                unsigned long long*, cudaStream_t);
template void add_owner_weights(const cuda::device_piece<double>&, const std::int32_t*, int, std::size_t,
                                unsigned long long*, cudaStream_t);

}  // namespace shoal
