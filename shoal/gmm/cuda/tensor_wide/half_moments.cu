// Moments of wide rows by products of float16 terms: Σ v vᵀ with v = √(w r) (x − c), scaled, over the rows that a
// component holds of a section; tiles of columns by tiles of columns. Half of a block's warps fetch listed rows ahead
// into shared memory, centre, scale and split them; the other half multiplies. Sums of 32 rows on tensor cores go on in
// float32, rounded to nearest, and those of a section in float64.
#include <cuda_runtime.h>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/tensor_float64/triangle_tiles.cuh>
#include <shoal/gmm/cuda/tensor_wide/moment_work.cuh>
#include <shoal/gmm/cuda/tensor_wide/moments.hpp>
#include <shoal/gmm/cuda/tensor_wide/pipeline.cuh>

namespace shoal::gmm::tensor_wide {
namespace {

constexpr unsigned stage_rows = 32;
constexpr int operand_stages = 3;
/// An operand of a stage lies in parts of eight columns: [term][eight rows][part][row][column].
constexpr int eight_bytes = tile * 8 * 2;
constexpr int term_bytes = static_cast<int>(stage_rows) / 8 * eight_bytes;
/// Stages whose rows are in shared memory or on their way there, a thread's own part of them behind one another.
constexpr int fetched_stages = 3;
constexpr unsigned rows_of_thread = 2;
constexpr int fetched_bytes = 2 * rows_of_thread * 32 * splitting_threads;
/// Stages that go on in float32 before they go on in float64, at most.
constexpr unsigned float_stages = 64;

template <int Products>
struct moment_shape {
  static constexpr int terms = Products == 3 ? 2 : 1;
  static constexpr int side_bytes = terms * term_bytes;
  static constexpr int bytes = 2 * side_bytes;
  static constexpr int fetched_at = operand_stages * bytes;
  static constexpr int roots_at = fetched_at + fetched_stages * fetched_bytes;
  static constexpr int sums_at = roots_at + fetched_stages * splitting_threads * 8;
  static constexpr int barriers_at = sums_at + 2 * 2 * tile * 4;
  static constexpr int all_bytes = barriers_at + static_cast<int>(sizeof(stage_barriers<operand_stages>));
};

// An operand with neighbouring parts 128 bytes apart along the columns, and neighbouring eights along the rows.
__device__ unsigned long long describe_columns(unsigned address) {
  return static_cast<unsigned long long>((address & 0x3ffff) >> 4) |
         static_cast<unsigned long long>(eight_bytes >> 4) << 16 | static_cast<unsigned long long>(128 >> 4) << 32;
}

// Which columns a block's tile has.
struct tile_columns {
  unsigned first_row, first_column;
  int rows_there, columns_there;
  bool diagonal;

  __device__ tile_columns(unsigned columns, unsigned width) {
    const tensor_float64::tile_place place(blockIdx.x, (columns + width - 1) / width);
    diagonal = place.down == place.across;
    first_row = place.down * width;
    first_column = place.across * width;
    rows_there = static_cast<int>(min(width, columns - first_row));
    columns_there = static_cast<int>(min(width, columns - first_column));
  }
};

// Which column of a tile is number `index` of an operand. Parts of eight columns are fours of two neighbouring eights,
// so that threads that fetch together read all of 32 bytes; but the last of an odd number of parts.
__device__ constexpr int tile_column(int index, int width) {
  const int part = index / 8, in_part = index % 8;
  return part / 2 * 2 + 1 < width / 8 ? part / 2 * 16 + in_part / 4 * 8 + part % 2 * 4 + in_part % 4 : index;
}

// The thread's eight columns of one side: what centres and scales them.
struct eight_columns {
  float scale[8], shift[8];

  __device__ void load(const problem& mixture, unsigned k, unsigned first, int there, int part, int width) {
    const unsigned d = mixture.layout.columns;
    const int* const exponents = mixture.exponents + (mixture.tied() ? 0 : std::size_t{k} * d) + first;
    const float* const centres = mixture.parameters.packed.centres + std::size_t{k} * d + first;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const int column = tile_column(8 * part + j, width);
      scale[j] = column < there ? ldexpf(1.0F, -exponents[column]) : 0.0F;
      shift[j] = column < there ? -centres[column] * scale[j] : 0.0F;
    }
  }
};

template <int Products>
__device__ void split_moments(const problem& mixture, const row_chunk& chunk, const held_sections& held,
                              const moment_plan& plan, unsigned width, unsigned char* memory,
                              stage_barriers<operand_stages>& barriers) {
  using shape = moment_shape<Products>;
  const unsigned d = mixture.layout.columns;
  const bool tied = mixture.tied();
  const tile_columns place(d, width);
  const int mine = static_cast<int>(threadIdx.x) - multiplying_threads;
  const int row = mine % 8, part = mine / 32 % 4 * 4 + mine % 32 / 8, half = mine / 128;
  const auto own_row = [&](unsigned i) {
    return static_cast<unsigned>(half) * 16 + 8 * i + static_cast<unsigned>(row);
  };
  // Parts beyond the last column are never multiplied, or their sums are not kept.
  const auto columns_of_tile = static_cast<int>(width);
  const int first_of_part = tile_column(8 * part, columns_of_tile);
  const bool has_down = first_of_part < place.rows_there;
  const bool has_across = !place.diagonal && first_of_part < place.columns_there;
  const unsigned fetched = shared_address(memory + shape::fetched_at) + static_cast<unsigned>(mine) * 16;
  // [stage][side][row][two or eight][thread]
  const auto slot = [&](int stage, int side, unsigned i, int piece) {
    return fetched +
           static_cast<unsigned>(stage * fetched_bytes +
                                 ((side * static_cast<int>(rows_of_thread) + static_cast<int>(i)) * 2 + piece) * 16 *
                                     splitting_threads);
  };
  auto* const roots = reinterpret_cast<float2*>(memory + shape::roots_at) + mine;

  const block_share share(mixture.layout, plan);
  moment_work<stage_rows> ahead(held, chunk, plan, share);
  moment_work<stage_rows> now = ahead;
  if (!now.valid()) return;
  held_row coming[rows_of_thread];
  const auto look = [&] {
    if (!ahead.valid()) return;
    const held_row* const rows = ahead.rows();
#pragma unroll
    for (unsigned i = 0; i < rows_of_thread; ++i) {
      const unsigned at = ahead.begin + own_row(i);
      // What is beyond the last row is a copy of it without weight.
      coming[i] = rows[min(at, ahead.count - 1)];
      if (at >= ahead.count) coming[i].root = 0;
    }
  };
  const auto fetch_side = [&](int stage, int side, unsigned first, int there) {
#pragma unroll
    for (unsigned i = 0; i < rows_of_thread; ++i) {
      const float* const from = chunk.rows + std::size_t{coming[i].row} * d + first;
      if (reads_vectors(d)) {
#pragma unroll
        for (int piece = 0; piece < 2; ++piece) {
          const int column = tile_column(8 * part + 4 * piece, columns_of_tile);
          copy_async<16>(slot(stage, side, i, piece), from + (column < there ? column : 0), column < there);
        }
      } else {
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          const int column = tile_column(8 * part + j, columns_of_tile);
          copy_async<4>(slot(stage, side, i, j / 4) + static_cast<unsigned>(j % 4 * 4),
                        from + (column < there ? column : 0), column < there);
        }
      }
    }
  };
  int filling = 0;
  const auto fetch_stage = [&] {
    if (ahead.valid()) {
      if (has_down) fetch_side(filling, 0, place.first_row, place.rows_there);
      if (has_across) fetch_side(filling, 1, place.first_column, place.columns_there);
      roots[filling * splitting_threads] = make_float2(coming[0].root, coming[1].root);
      ahead.next();
      look();
    }
    end_copies();
    if (++filling == fetched_stages) filling = 0;
  };
  look();
  fetch_stage();
  fetch_stage();

  eight_columns down, across;
  float first[8] = {};
  unsigned centred = ~0U;
  int using_stage = 0, list = 0;
  for (stage_turn<operand_stages> turn; now.valid(); turn.next()) {
    fetch_stage();
    if (now.k != centred) {
      centred = now.k;
      if (has_down) down.load(mixture, centred, place.first_row, place.rows_there, part, columns_of_tile);
      if (has_across) across.load(mixture, centred, place.first_column, place.columns_there, part, columns_of_tile);
    }
    wait_for_copies<fetched_stages - 1>();
    wait_for_room(barriers, turn);
    const float2 both = roots[using_stage * splitting_threads];
    const float root[rows_of_thread] = {both.x, both.y};
    unsigned char* const to = memory + turn.stage * shape::bytes;
    const auto keep_side = [&](int side, const eight_columns& columns) {
#pragma unroll
      for (unsigned i = 0; i < rows_of_thread; ++i) {
        float v[8];
#pragma unroll
        for (int piece = 0; piece < 2; ++piece) {
          read_four(slot(using_stage, side, i, piece), v + 4 * piece);
        }
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          v[j] = root[i] * fmaf(v[j], columns.scale[j], columns.shift[j]);
          if (side == 0 && place.diagonal) first[j] = fmaf(root[i], v[j], first[j]);
        }
        unsigned char* const at =
            to + side * shape::side_bytes + (half * 2 + static_cast<int>(i)) * eight_bytes + part * 128 + row * 16;
        uint4 high, low;
        tensor::split(v[0], v[1], high.x, low.x);
        tensor::split(v[2], v[3], high.y, low.y);
        tensor::split(v[4], v[5], high.z, low.z);
        tensor::split(v[6], v[7], high.w, low.w);
        *reinterpret_cast<uint4*>(at) = high;
        if constexpr (Products == 3) *reinterpret_cast<uint4*>(at + term_bytes) = low;
      }
    };
    if (has_down) keep_side(0, down);
    if (has_across) keep_side(1, across);
    publish_to_products();
    arrive_together(barriers.full + turn.stage);
    if (++using_stage == fetched_stages) using_stage = 0;
    if (place.diagonal && now.ends_list()) {
      // Neighbours in a warp have the same columns of eight rows, two warps those of both halves. Two lists take turns
      // in memory, so that one barrier is enough; sums are added where they lie, which nobody waits for.
      float* const sums = reinterpret_cast<float*>(memory + shape::sums_at) + list * 2 * tile;
      list ^= 1;
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        for (int distance = 1; distance < 8; distance *= 2) first[j] += __shfl_xor_sync(~0U, first[j], distance);
        if (row == 0) sums[half * tile + 8 * part + j] = first[j];
        first[j] = 0;
      }
      asm volatile("bar.sync 1, %0;" ::"n"(splitting_threads) : "memory");
      double* const component = share.lane + mixture.layout.header + now.k * mixture.layout.component_size;
      const int own_column = tile_column(mine, columns_of_tile);
      if (mine < tile && own_column < place.rows_there) {
        const unsigned i = place.first_row + static_cast<unsigned>(own_column);
        const double sum = static_cast<double>(sums[mine]) + static_cast<double>(sums[tile + mine]);
        atomicAdd(component + (tied ? i : statistics_layout::triangle_row(d + 1, i) + d),
                  ldexp(sum, 2 * now.exponent + mixture.exponents[(tied ? 0 : std::size_t{now.k} * d) + i]));
      }
      if (mine == 0 && blockIdx.x == 0) {
        atomicAdd(component + mixture.layout.weight, held.of(now.k, now.section).weight);
      }
    }
    now.next();
  }
}

template <int Products, int Width>
__device__ void multiply_moments(const problem& mixture, const row_chunk& chunk, const held_sections& held,
                                 const moment_plan& plan, unsigned char* memory,
                                 stage_barriers<operand_stages>& barriers) {
  using shape = moment_shape<Products>;
  const unsigned d = mixture.layout.columns;
  const bool tied = mixture.tied();
  const tile_columns place(d, Width);
  const block_share share(mixture.layout, plan);
  const int part = static_cast<int>(threadIdx.x) / 128;
  const bool works = 64 * part < place.rows_there;
  const unsigned across_bytes = place.diagonal ? 0 : static_cast<unsigned>(shape::side_bytes);
  const unsigned long long described = describe_columns(shared_address(memory));
  constexpr int size = Width / 2;
  float sum[size];
  float total[Products == 3 ? size : 1];
  const auto clear = [&] {
    if constexpr (Products == 3) {
#pragma unroll
      for (int i = 0; i < size; ++i) total[i] = 0;
    }
  };
  const auto flush = [&](unsigned k, int exponent) {
    int thread = static_cast<int>(threadIdx.x) % 32;
    // Otherwise the compiler finds the places of all sums before the first stage, and has no registers for them.
    asm volatile("" : "+r"(thread));
    const int* const exponents = mixture.exponents + (tied ? 0 : std::size_t{k} * d);
    double* const triangle =
        share.lane +
        (tied ? mixture.layout.shared : mixture.layout.header + std::size_t{k} * mixture.layout.component_size);
    const unsigned order = tied ? d : d + 1;
    const auto power = [](int e) { return __longlong_as_double(static_cast<long long>(1023 + e) << 52); };
    // Of part n of a row's sums: tile_column(8 * n + 2 * (thread % 4)), but for the parts' constant terms.
    const int paired = thread % 4 / 2 * 8 + thread % 2 * 2, alone = thread % 4 * 2;
    const auto across = [&](int n) {
      return n / 2 * 2 + 1 < Width / 8 ? paired + n / 2 * 16 + n % 2 * 4 : alone + 8 * n;
    };
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int in_tile = tile_column(static_cast<int>(threadIdx.x) / 32 * 16 + 8 * half + thread / 4, Width);
      if (in_tile >= place.rows_there) continue;
      const unsigned row = place.first_row + static_cast<unsigned>(in_tile);
      double* const to = triangle + statistics_layout::triangle_row(order, row) + place.first_column;
      const int* const units = exponents + place.first_column;
      const double own = power(exponents[row] + 2 * exponent);
      const int diagonal = static_cast<int>(row) - static_cast<int>(place.first_column);
      const auto inside = [&](int column) { return column < place.columns_there && column >= diagonal; };
      // Parts of eight columns that are asked for before the first is added: each turn waits for memory once. Three
      // products leave fewer registers.
      constexpr int at_once = Products == 3 ? 4 : (Width / 8 + 1) / 2;
#pragma unroll
      for (int n = 0; n < Width / 8; n += at_once) {
        double before[at_once][2];
        int unit[at_once][2];
#pragma unroll
        for (int e = 0; e < 2 * at_once; ++e) {
          const int column = across(n + e / 2) + e % 2;
          if (n + e / 2 >= Width / 8 || !inside(column)) continue;
          before[e / 2][e % 2] = to[column];
          unit[e / 2][e % 2] = units[column];
        }
#pragma unroll
        for (int e = 0; e < 2 * at_once; ++e) {
          const int column = across(n + e / 2) + e % 2;
          if (n + e / 2 >= Width / 8 || !inside(column)) continue;
          const int i = 4 * (n + e / 2) + 2 * half + e % 2;
          const float value = Products == 3 ? total[Products == 3 ? i : 0] : sum[i];
          to[column] = fma(static_cast<double>(value), own * power(unit[e / 2][e % 2]), before[e / 2][e % 2]);
        }
      }
    }
  };
  clear();
  unsigned stages = 0;
  stage_turn<operand_stages> turn;
  for (moment_work<stage_rows> work(held, chunk, plan, share); work.valid(); turn.next()) {
    wait(barriers.full + turn.stage, turn.round & 1);
    if (works) {
      const unsigned long long operands = advance(described, static_cast<unsigned>(turn.stage * shape::bytes));
      const unsigned long long a = advance(operands, static_cast<unsigned>(part) * 1024);
      const unsigned long long b = advance(operands, across_bytes);
      begin_products();
      const int keep = Products == 3 || stages == 0 ? 0 : 1;
      if constexpr (Products == 3) {
#pragma unroll
        for (unsigned step = 0; step < stage_rows / 16; ++step) {
          const unsigned long long x = advance(a, step * 2 * eight_bytes), y = advance(b, step * 2 * eight_bytes);
          multiply_columns(sum, advance(x, term_bytes), y, step > 0 ? 1 : keep);
          multiply_columns(sum, x, advance(y, term_bytes), 1);
        }
      }
#pragma unroll
      for (unsigned step = 0; step < stage_rows / 16; ++step) {
        multiply_columns(sum, advance(a, step * 2 * eight_bytes), advance(b, step * 2 * eight_bytes),
                         Products == 3 || step > 0 ? 1 : keep);
      }
      end_products();
      wait_for_products<0>();
      if constexpr (Products == 3) {
#pragma unroll
        for (int i = 0; i < size; ++i) total[i] += sum[i];
      }
    }
    arrive_together(barriers.empty + turn.stage);
    ++stages;
    const unsigned section = work.section, k = work.k;
    const int exponent = work.exponent;
    work.next();
    if (work.section != section || stages == float_stages) {
      if (works) flush(k, exponent);
      clear();
      stages = 0;
    }
  }
}

/// A block for each tile of the triangle, each component (all of them for tied) and each lane.
template <int Products, int Width>
__global__ void __launch_bounds__(threads, 1)
    half_moments_kernel(const __grid_constant__ problem mixture, const __grid_constant__ row_chunk chunk,
                        const __grid_constant__ held_sections held, const __grid_constant__ moment_plan plan) {
  cuda::wait_for_predecessor();
  if constexpr (has_warpgroup_products) {
    if (*mixture.parameters.stopped != 0) return;
    if (mixture.frame.near != nullptr && mixture.frame.near[blockIdx.y] != 0) return;
    extern __shared__ __align__(128) unsigned char memory[];
    auto& barriers = *reinterpret_cast<stage_barriers<operand_stages>*>(memory + moment_shape<Products>::barriers_at);
    make_barriers(barriers, splitting_threads / 32);
    if (threadIdx.x >= multiplying_threads) {
      give_registers<88>();
      split_moments<Products>(mixture, chunk, held, plan, Width, memory, barriers);
    } else {
      take_registers<168>();
      multiply_moments<Products, Width>(mixture, chunk, held, plan, memory, barriers);
    }
  }
}

template <int Products, int Width>
void launch(const problem& mixture, const row_chunk& chunk, const held_sections& held, const moment_plan& plan,
            cudaStream_t stream) {
  constexpr int bytes = moment_shape<Products>::all_bytes;
  static_assert(bytes <= 227 << 10);
  const dim3 blocks = moment_blocks(mixture.layout, plan, Width);
  cuda::launch_in_turn(half_moments_kernel<Products, Width>, blocks, threads, bytes, stream, mixture, chunk, held,
                       plan);
}

}  // namespace

void half_moments(const problem& mixture, const row_chunk& chunk, const held_sections& held, const moment_plan& plan,
                  cudaStream_t stream) {
  const unsigned width = width_of(mixture.layout.columns);
  const auto kernel = mixture.products == 3
                          ? (width == 72 ? launch<3, 72> : (width == 104 ? launch<3, 104> : launch<3, 128>))
                          : (width == 72 ? launch<1, 72> : (width == 104 ? launch<1, 104> : launch<1, 128>));
  kernel(mixture, chunk, held, plan, stream);
}

}  // namespace shoal::gmm::tensor_wide
