// Scores of rows against all units on Hopper's tensor cores: rows stay in registers as the left operand of wgmma, tiles
// of units stream through shared memory, and of a row's scores in a tile only the least is kept.
//
// A score is half the squared distance from the row to the unit, up to an offset of the row that keeps it from being
// negative (positive float32 numbers order like whole numbers, of which one instruction takes the least of three). The
// offset goes with the greatest norm of a unit: where units lie near each other their scores do not differ by much,
// and sums cut terms off at a unit of the greatest one. Norms and offsets are columns of the product, so that a score
// costs no arithmetic beyond it: half an instruction of the minimum is left.
#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/round_to_tf32.cuh>
#include <shoal/execution/cuda/warpgroup_products.cuh>
#include <shoal/som/cuda/kernels.hpp>

namespace shoal::som {
namespace {

using namespace cuda;  // barriers, copies and operands of warpgroup.cuh

constexpr int group_rows = 64;
// Warpgroups of a block, each on rows of its own.
constexpr int groups_for(int chunks) { return chunks <= 4 ? 4 : 3; }
// Tiles that are fetched and handed back together.
constexpr int stage_tiles_for(int chunks) { return chunks <= 2 ? 4 : chunks <= 4 ? 2 : 1; }
// Stages before a block's first thread replaces one, which its own warpgroup must have handed back by then: where a
// group of tiles has several stages, products of one begin before the scores of the one before are looked at.
constexpr int lag_for(int stage_tiles) { return stage_tiles == tile_group ? 1 : 2; }

struct tensor_arguments {
  const float* rows;
  int count;
  int columns;
  int tail;  // column of the first of the tail's four places
  bool cosine;
  bool aligned;  // rows may be read 16 bytes at a time
  const float* centre;
  const unit_bounds* bounds;
  const unsigned char* operands;
  float* minima;
  near_columns* near;
  int tiles;      // of units, a multiple of tile_group
  int parts;      // of the tiles, which different blocks take for the same rows
  int row_tiles;  // of the rows of a block
  int stages;     // in shared memory
  // Where rows are decided here:
  const int* at_place;
  int units;
  std::int32_t* labels;
  doubtful_rows doubtful;
};

__device__ unsigned pack(float low, float high) {
  unsigned both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}
__device__ unsigned as_operand(float value) { return __float_as_uint(cuda::round_to_tf32(value)); }
__device__ float low_of(unsigned both) { return __uint_as_float(both << 16); }
__device__ float high_of(unsigned both) { return __uint_as_float(both & 0xffff0000u); }

// Two rows of a thread as the products want them: of each 16 columns four neighbours.
template <int Chunks, bool Apart, precision Precision>
struct row_operands {
  static constexpr operand_shape shape{Chunks, Apart};
  // Float32 is made of bf16 numbers.
  static constexpr precision numbers = Precision == precision::tf32 ? precision::tf32 : precision::bf16;
  static constexpr int firsts = first_products(shape, Precision), seconds = second_products(shape, Precision);
  unsigned first[firsts][4];
  unsigned second[seconds > 0 ? seconds : 1][4];
  // Squared lengths of two rows, of their second parts, and of what two parts leave of them.
  float squares[2], second_squares[2], residual_squares[2];

  __device__ void set(const tensor_arguments& in, const int (&rows)[2], int q, const float* centre) {
    const auto unit_norm = static_cast<float>(__longlong_as_double(static_cast<long long>(in.bounds->norm)));

#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float* const from = in.rows + static_cast<std::size_t>(rows[half]) * in.columns;
      float x[Chunks][4];
      float norm = 0;
      second_squares[half] = residual_squares[half] = 0;
#pragma unroll
      for (int c = 0; c < Chunks; ++c) {
        const int column = 16 * c + 4 * q;
        if (in.aligned) {
          float4 all = make_float4(0, 0, 0, 0);
          if (column < in.columns) all = __ldcs(reinterpret_cast<const float4*>(from + column));
          x[c][0] = all.x, x[c][1] = all.y, x[c][2] = all.z, x[c][3] = all.w;
        } else {
#pragma unroll
          for (int e = 0; e < 4; ++e) x[c][e] = column + e < in.columns ? from[column + e] : 0.0f;
        }
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          x[c][e] -= centre[column + e];
          norm = fmaf(x[c][e], x[c][e], norm);
        }
      }
      norm += __shfl_xor_sync(~0u, norm, 1);
      norm += __shfl_xor_sync(~0u, norm, 2);
      squares[half] = norm;
      // Somewhat more than it takes for no score to be negative; the least scores stay small against the norms.
      const float most_product = sqrtf(norm) * unit_norm;
      const float offset = 1.02f * (in.cosine ? most_product : fminf(0.5f * norm, most_product));
      const auto place = [&](int column, float value) {
        const int at = column - in.tail;
        return at < 0 || at > 3 ? value : at == 3 ? offset : 1.0f;
      };
#pragma unroll
      for (int c = 0; c < Chunks; ++c) {
#pragma unroll
        for (int pair = 0; pair < 2; ++pair) {
          const int column = 16 * c + 4 * q + 2 * pair;
          const float low = x[c][2 * pair], high = x[c][2 * pair + 1];
          if constexpr (Precision == precision::tf32) {
            first[2 * c + pair][half] = as_operand(Apart ? low : place(column, low));
            first[2 * c + pair][2 + half] = as_operand(Apart ? high : place(column + 1, high));
          } else {
            const unsigned both = pack(low, high);
            if constexpr (seconds > 0) {
              const float low_left = low - low_of(both), high_left = high - high_of(both);
              const unsigned left = pack(low_left, high_left);
              second[c][2 * pair + half] = left;
              add_square(second_squares[half], low_left);
              add_square(second_squares[half], high_left);
              add_square(residual_squares[half], low_left - low_of(left));
              add_square(residual_squares[half], high_left - high_of(left));
            }
            first[c][2 * pair + half] = Apart ? both : pack(place(column, low), place(column + 1, high));
          }
        }
      }
      if constexpr (Apart && Precision == precision::tf32) {
        first[firsts - 1][half] = as_operand(q == 3 ? offset : 1.0f);
        first[firsts - 1][2 + half] = 0;
      } else if constexpr (Apart) {
        first[firsts - 1][half] = q == 0 ? pack(1.0f, 1.0f) : 0u;
        first[firsts - 1][2 + half] = q == 0 ? pack(1.0f, offset) : 0u;
      }
    }
    // Products read them as they are now; left to itself the compiler computes them again for each tile.
#pragma unroll
    for (int i = 0; i < 4 * firsts; ++i) asm volatile("" : "+r"(first[i / 4][i % 4]));
#pragma unroll
    for (int i = 0; i < 4 * seconds; ++i) asm volatile("" : "+r"(second[i / 4][i % 4]));
  }

  __device__ static void add_square(float& sum, float value) { sum = fmaf(value, value, sum); }

  // The small products first, so that what a sum cuts off is small against them.
  __device__ void multiply_all(float (&scores)[32], unsigned long long units) const {
    if constexpr (seconds > 0) {
      multiply<numbers, false>(scores, second[0], units);
      multiply<numbers, true>(scores, first[0], units + firsts * (256 >> 4));
#pragma unroll
      for (int c = 1; c < Chunks; ++c) {
        multiply<numbers, true>(scores, second[c], units + c * (256 >> 4));
        multiply<numbers, true>(scores, first[c], units + (firsts + c) * (256 >> 4));
      }
      multiply<numbers, true>(scores, first[0], units);
    } else {
      multiply<numbers, false>(scores, first[0], units);
    }
#pragma unroll
    for (int c = 1; c < firsts; ++c) multiply<numbers, true>(scores, first[c], units + c * (256 >> 4));
  }
};

__device__ int least_of_half(const float (&scores)[32], int half) {
  const auto score = [&](int p) { return __float_as_int(scores[p / 2 * 4 + 2 * half + p % 2]); };
  int a = __vimin3_s32(score(0), score(1), score(2)), b = __vimin3_s32(score(3), score(4), score(5));
  a = __vimin3_s32(a, score(6), score(7));
  b = __vimin3_s32(b, score(8), score(9));
  a = __vimin3_s32(a, score(10), score(11));
  b = __vimin3_s32(b, score(12), score(13));
  return __vimin3_s32(a, b, min(score(14), score(15)));
}

// Each of four neighbouring threads has a row's least scores of four tiles among its own units: thread q gets the least
// of all of them in tile q.
__device__ float least_of_quad(const int (&of_tiles)[tile_group], int q) {
  const bool odd = q % 2 != 0, high = q >= 2;
  const int low_pair = min(odd ? of_tiles[1] : of_tiles[0], __shfl_xor_sync(~0u, odd ? of_tiles[0] : of_tiles[1], 1));
  const int high_pair = min(odd ? of_tiles[3] : of_tiles[2], __shfl_xor_sync(~0u, odd ? of_tiles[2] : of_tiles[3], 1));
  return __int_as_float(min(high ? high_pair : low_pair, __shfl_xor_sync(~0u, high ? low_pair : high_pair, 2)));
}

// The least two of the least scores of a thread's columns of tiles, and where the first is.
struct least_columns {
  int first = 0x7fffffff, second = 0x7fffffff;
  int column = 0;

  __device__ void take(const int (&of_tiles)[tile_group], int number) {
    const int low_a = min(of_tiles[0], of_tiles[1]), high_a = max(of_tiles[0], of_tiles[1]);
    const int low_b = min(of_tiles[2], of_tiles[3]), high_b = max(of_tiles[2], of_tiles[3]);
    const int best = min(low_a, low_b);
    second = __vimin3_s32(second, __vimin3_s32(high_a, high_b, max(low_a, low_b)), max(first, best));
    column = best < first ? number : column;
    first = min(first, best);
  }
  __device__ void take(const least_columns& other) {
    second = __vimin3_s32(second, other.second, max(first, other.first));
    if (other.first < first || (other.first == first && other.column < column)) column = other.column;
    first = min(first, other.first);
  }
  __device__ least_columns of_lane(int step) const {
    return {__shfl_xor_sync(~0u, first, step), __shfl_xor_sync(~0u, second, step), __shfl_xor_sync(~0u, column, step)};
  }
};

// The least score of a thread's units of a row as a key, which holds the unit's number in its column in place of the
// last bits, the tile that it is in, and the next key.
constexpr int number_bits = 4;
constexpr int column_units = 1 << number_bits;
struct least_units {
  int first = 0x7fffffff, second = 0x7fffffff;
  int place = 0;

  // Those of a tile, of which the thread's column begins at `begin`.
  __device__ void take(const float (&scores)[32], int half, int begin) {
    int least = 0x7fffffff;
#pragma unroll
    for (int p = 0; p < column_units; ++p) {
      const int key = (__float_as_int(scores[p / 2 * 4 + 2 * half + p % 2]) & ~(column_units - 1)) | p;
      second = min(second, max(least, key));
      least = min(least, key);
    }
    second = min(second, max(first, least));
    if (least < first) place = begin + least % column_units;
    first = min(first, least);
  }
  __device__ void take_of_lane(int step) {
    const int other = __shfl_xor_sync(~0u, first, step), next = __shfl_xor_sync(~0u, second, step);
    const int other_place = __shfl_xor_sync(~0u, place, step);
    second = __vimin3_s32(second, next, max(first, other));
    if (other < first || (other == first && other_place < place)) place = other_place;
    first = min(first, other);
  }
};

// Whether the unit of the least key is the nearest one: row_task::error_of_products() (settle_row.cuh) in float32 and
// rounded up, twice, and what keys leave out of scores. Squares that are lost below the range of float32 leave less
// than 2⁻⁵⁹ of a length.
__device__ bool is_proved(const least_units& least, float squares, float second_squares, float residual_squares,
                          const unit_bounds& bounds, operand_shape shape, int columns) {
  const auto above = [](unsigned long long bits) {
    return static_cast<float>(__longlong_as_double(static_cast<long long>(bits)) * 1.0001) + 0x1p-120f;
  };
  const auto root = [](float value) { return sqrtf(value) * 1.0001f + 0x1p-59f; };
  const float norm = root(squares), second = root(second_squares), residual = root(residual_squares);
  const float unit = above(bounds.norm), unit_second = above(bounds.second), unit_residual = above(bounds.residual);
  constexpr float cut = 18 * 0x1p-23f;
  const float product = norm * unit, half = 0.5f * unit * unit;
  const float greatest = 1.05f * fmaxf(product, half), magnitude = 2.1f * product + 1.05f * half;
  const float error = second * unit_second + residual * unit + norm * 1.01f * unit_residual + 8 * 0x1p-24f * magnitude +
                      cut * static_cast<float>(shape.chunks) * 2.1f * (second * unit + norm * unit_second) +
                      cut * static_cast<float>(first_products(shape, precision::float32)) * greatest +
                      0x1p-23f * magnitude +
                      0.6f * static_cast<float>(columns + 8) * 0x1p-53f * (norm + unit) * (norm + unit) +
                      4.0f * static_cast<float>(columns + 16) * 0x1p-126f * (1 + norm + unit);
  const float first = __int_as_float(least.first), next = __int_as_float(least.second);
  const float keys = 0x1p-19f * (first + next);
  return next - first > 1.001f * (2 * error + keys);  // not where anything left float32's range
}

template <int Chunks, bool Apart, precision Precision, bool Decides>
__device__ void search_rows(const tensor_arguments& in) {
  wait_for_predecessor();
  constexpr int groups = groups_for(Chunks), block_rows_here = groups * group_rows;
  constexpr int stage_tiles = stage_tiles_for(Chunks);
  constexpr operand_shape shape{Chunks, Apart};
  constexpr unsigned bytes = static_cast<unsigned>(tile_bytes(shape, Precision)), stage_bytes = stage_tiles * bytes;
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ float centre[16 * Chunks];
  auto* const full = reinterpret_cast<unsigned long long*>(shared + in.stages * stage_bytes);
  unsigned long long* const empty = full + in.stages;
  if (threadIdx.x == 0) {
    for (int s = 0; s < in.stages; ++s) {
      make_barrier(full + s, 1);
      make_barrier(empty + s, groups);
    }
    publish_barriers();
  }
  if (threadIdx.x < 16 * Chunks) {
    const int j = static_cast<int>(threadIdx.x);
    centre[j] = j < in.columns && !in.cosine ? in.centre[j] : 0.0f;
  }
  __syncthreads();

  // Items: rows of a block and a part of the tiles. A block takes every gridDim.x-th.
  const int items = in.row_tiles * in.parts, quads = in.tiles / tile_group;
  const auto first_tile = [&](int part) { return tile_group * (quads * part / in.parts); };
  int fetched_item = static_cast<int>(blockIdx.x), fetched_stage = 0;
  int fetched_tile = first_tile(fetched_item % in.parts), fetched_end = first_tile(fetched_item % in.parts + 1);
  unsigned fetched_round = 0;
  const auto fetch_next = [&] {
    fetch(shared + fetched_stage * stage_bytes, in.operands + static_cast<std::size_t>(fetched_tile) * bytes,
          stage_bytes, full + fetched_stage);
    fetched_tile += stage_tiles;
    if (fetched_tile == fetched_end) {
      fetched_item += static_cast<int>(gridDim.x);
      fetched_tile = first_tile(fetched_item % in.parts);
      fetched_end = first_tile(fetched_item % in.parts + 1);
    }
    if (++fetched_stage == in.stages) fetched_stage = 0, ++fetched_round;
  };
  if (threadIdx.x == 0) {
    for (int s = 0; s < in.stages && fetched_item < items; ++s) fetch_next();
  }

  const int group = threadIdx.x / 128, warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32, q = lane % 4;
  int stage = 0;
  unsigned round = 0, seen = 0;
  for (int item = static_cast<int>(blockIdx.x); item < items; item += static_cast<int>(gridDim.x)) {
    const int first_row = item / in.parts * block_rows_here + group * group_rows + warp * 16 + lane / 4;
    const int rows[2] = {min(first_row, in.count - 1), min(first_row + 8, in.count - 1)};
    row_operands<Chunks, Apart, Precision> operands;
    operands.set(in, rows, q, centre);
    least_columns near[2];
    least_units units[2];
    const int part = item % in.parts, end = first_tile(part + 1);
    for (int start = first_tile(part); start < end; start += tile_group) {
      // The products of a tile are on their way while the scores of the one before are looked at.
      float scores[2][32];
      int least[2][tile_group];
      const auto multiply_tile = [&](int t) {
        if (t % stage_tiles == 0) {
          if (threadIdx.x == 0 && fetched_item < items && ++seen > lag_for(stage_tiles)) {
            wait(empty + fetched_stage, (fetched_round - 1) & 1);
            fetch_next();
          }
          wait(full + stage, round & 1);
        }
        begin_products();
        const unsigned char* const tile = shared + stage * stage_bytes + t % stage_tiles * bytes;
        operands.multiply_all(scores[t % 2], describe(shared_address(tile), 8 * unit_bytes(shape, Precision)));
        end_products();
        if (t % stage_tiles == stage_tiles - 1) {
          if (++stage == in.stages) stage = 0, ++round;
        }
      };
      int seen_stage = stage;  // whose tiles' products are complete next
      multiply_tile(0);
#pragma unroll
      for (int t = 0; t < tile_group; ++t) {
        if (t + 1 < tile_group) {
          multiply_tile(t + 1);
          wait_for_products<1>();
        } else {
          wait_for_products<0>();
        }
        if (t % stage_tiles == stage_tiles - 1) {
          if (threadIdx.x % 128 == 0) arrive(empty + seen_stage);
          if (++seen_stage == in.stages) seen_stage = 0;
        }
        // No unit of few is in the last tiles.
        if (Decides && (start + t) * unit_tile >= in.units) {
          least[0][t] = least[1][t] = __float_as_int(0x1p126f);
          continue;
        }
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          least[half][t] = least_of_half(scores[t % 2], half);
          if constexpr (Decides) units[half].take(scores[t % 2], half, (start + t) * unit_tile + column_units * q);
        }
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        if constexpr (!Decides) near[half].take(least[half], start + q);
        const float mine = least_of_quad(least[half], q);
        if (first_row + 8 * half < in.count) {
          in.minima[static_cast<std::size_t>(first_row + 8 * half) * in.tiles + start + q] = mine;
        }
      }
    }
#pragma unroll
    for (int half = 0; half < 2 && Decides; ++half) {
      units[half].take_of_lane(1);
      units[half].take_of_lane(2);
      const auto whole = [](float value) {
        value += __shfl_xor_sync(~0u, value, 1);
        return value + __shfl_xor_sync(~0u, value, 2);
      };
      const float second_squares = whole(operands.second_squares[half]);
      const float residual_squares = whole(operands.residual_squares[half]);
      const int row = first_row + 8 * half;
      if (q != half || row >= in.count) continue;
      if (is_proved(units[half], operands.squares[half], second_squares, residual_squares, *in.bounds, shape,
                    in.columns) &&
          units[half].place < in.units) {
        in.labels[row] = in.at_place[units[half].place];
      } else {
        in.doubtful.list[in.doubtful.capacity - 1 - atomicAdd(in.doubtful.counts + 1, 1u)] = make_int2(row, -1);
      }
    }
#pragma unroll
    for (int half = 0; half < 2 && !Decides; ++half) {
      near[half].take(near[half].of_lane(1));
      near[half].take(near[half].of_lane(2));
      const int row = first_row + 8 * half;
      if (q == half && row < in.count) {
        in.near[static_cast<std::size_t>(row) * in.parts + part] = {
            __int_as_float(near[half].first), __int_as_float(near[half].second), near[half].column};
      }
    }
  }
}

template <int Chunks, bool Apart, precision Precision, bool Decides>
__global__ void __launch_bounds__(128 * groups_for(Chunks), 1) search_kernel(tensor_arguments in) {
  if constexpr (has_warpgroup_products) search_rows<Chunks, Apart, Precision, Decides>(in);
}

template <int Chunks, bool Apart, precision Precision, bool Decides = false>
void launch(tensor_arguments in, std::size_t multiprocessors, std::size_t shared_bytes, cudaStream_t stream) {
  constexpr int block_rows_here = groups_for(Chunks) * group_rows;
  constexpr std::size_t stage_bytes =
      stage_tiles_for(Chunks) * tile_bytes({Chunks, Apart}, Precision) + 2 * sizeof(unsigned long long);
  constexpr std::size_t reserved = 2048;  // for the centre and what aligns the tiles
  constexpr std::size_t most_stages = 8;
  in.row_tiles = (in.count + block_rows_here - 1) / block_rows_here;
  in.stages = static_cast<int>(std::min((shared_bytes - reserved) / stage_bytes, most_stages));
  const int blocks = std::min(in.row_tiles * in.parts, static_cast<int>(multiprocessors));
  launch_in_turn(search_kernel<Chunks, Apart, Precision, Decides>, static_cast<unsigned>(blocks),
                 128 * groups_for(Chunks), in.stages * stage_bytes, stream, in);
}

template <int Chunks, bool Apart>
void launch_precision(const tensor_arguments& in, precision precision, std::size_t multiprocessors,
                      std::size_t shared_bytes, cudaStream_t stream) {
  if (in.labels != nullptr) {
    return launch<Chunks, Apart, precision::float32, true>(in, multiprocessors, shared_bytes, stream);
  }
  switch (precision) {
    case precision::float32:
      return launch<Chunks, Apart, precision::float32>(in, multiprocessors, shared_bytes, stream);
    case precision::tf32:
      return launch<Chunks, Apart, precision::tf32>(in, multiprocessors, shared_bytes, stream);
    case precision::bf16:
      return launch<Chunks, Apart, precision::bf16>(in, multiprocessors, shared_bytes, stream);
  }
}

template <int Chunks = 1>
void launch_chunks(const tensor_arguments& in, operand_shape shape, precision precision, std::size_t multiprocessors,
                   std::size_t shared_bytes, cudaStream_t stream) {
  if constexpr (16 * Chunks < most_tensor_columns) {
    if (shape.chunks > Chunks) {
      return launch_chunks<Chunks + (Chunks < 4 ? 1 : 2)>(in, shape, precision, multiprocessors, shared_bytes, stream);
    }
  }
  if (shape.apart) return launch_precision<Chunks, true>(in, precision, multiprocessors, shared_bytes, stream);
  launch_precision<Chunks, false>(in, precision, multiprocessors, shared_bytes, stream);
}

}  // namespace

bool has_tensor_search(int device) {
#ifdef SHOAL_COMPILED_FOR_90A
  int major = 0, minor = 0;
  cuda::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "describe the device");
  cuda::check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "describe the device");
  return major == 9 && minor == 0;
#else
  static_cast<void>(device);
  return false;
#endif
}

int tensor_parts(int count, const device_units<float>& units, std::size_t multiprocessors) {
  const int block_rows_here = groups_for(operands_for(units.columns).chunks) * group_rows;
  const int row_tiles = (count + block_rows_here - 1) / block_rows_here, blocks = static_cast<int>(multiprocessors);
  const int quads = units.padded / unit_tile / tile_group;
  // Multiprocessors take their items in rounds, of which the last should be whole too; each item also reads its rows,
  // which takes about as long as a group of tiles.
  const auto cost = [&](int parts) {
    return (row_tiles * parts + blocks - 1) / blocks * ((quads + parts - 1) / parts + 1);
  };
  int best = 1;
  for (int parts = 2; parts <= std::min(quads, std::max(4, 4 * blocks / row_tiles)); ++parts) {
    if (cost(parts) < cost(best)) best = parts;
  }
  return best;
}

void search_tensor(const searched_rows<float>& rows, const device_units<float>& units, std::size_t multiprocessors,
                   std::size_t shared_bytes, cudaStream_t stream) {
  const operand_shape shape = operands_for(units.columns);
  tensor_arguments in{};
  in.rows = rows.rows;
  in.count = rows.count;
  in.columns = units.columns;
  in.tail = shape.tail(units.columns);
  in.cosine = units.metric == metric::cosine;
  in.aligned = units.columns % 4 == 0;
  in.centre = units.centre;
  in.bounds = units.bounds;
  in.operands = units.operands;
  in.minima = rows.minima;
  in.near = rows.near;
  in.parts = rows.parts;
  in.tiles = units.padded / unit_tile;
  in.at_place = units.at_place;
  in.units = units.units;
  in.labels = rows.labels;
  in.doubtful = rows.doubtful;
  launch_chunks(in, shape, units.precision, multiprocessors, shared_bytes, stream);
}

}  // namespace shoal::som
