// A block takes whole lines through registers, in one pass over memory: elimination and substitution are linear
// recurrences, so that each thread takes its own nodes as if nothing came in, and a scan over the threads says what
// does. Along the columns some lines lie side by side, for whole or half sectors of memory.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/reaction_diffusion/cuda/fused.cuh>
#include <shoal/reaction_diffusion/cuda/lane_exchange.cuh>
#include <shoal/reaction_diffusion/cuda/line_kernels.hpp>

namespace shoal::reaction_diffusion {
namespace {

// Of seven shapes those that took least on an NVIDIA H200, one rule over 4096² nodes: rows 0.144 ms in float64 and
// 0.077 ms in float32, columns 0.211 ms and 0.142 ms. Columns in float32 take 0.185 ms by 8 lines and 1024 threads, of
// 64 registers, which spill 708 bytes; in float64 they take 0.263 ms by 2 lines and 512 threads.
template <class Scalar, line_way way>
struct line_block {
  static constexpr int own = 128 / static_cast<int>(sizeof(Scalar));
  static constexpr int across = way == line_way::along_rows ? 1 : 4;
  static constexpr int threads = way == line_way::along_rows || sizeof(Scalar) == 4 ? 512 : 1024;
  using exchange = lane_exchange<Scalar, own>;
  static constexpr int exchange_vectors = lanes * exchange::stride;  // of a warp
};

// The last value of a run of nodes is `value` + `product` · what comes in.
template <class Scalar>
struct link {
  Scalar product, value;
};

// A thread's part of a line.
template <class Scalar, line_way way>
struct line_part {
  using block = line_block<Scalar, way>;
  static constexpr int own = block::own, across = block::across, most_warps = block::threads / lanes;
  using links = link<Scalar>[most_warps][across];

  long long nodes, lines, line;
  int lane, warp, chunk, chunks;
  bool aligned;
  node_vector<Scalar>* room;  // the warp's

  __device__ long long first_of(int segment) const {
    return static_cast<long long>(segment) * own * chunks + static_cast<long long>(chunk) * own;
  }

  // Nodes that exist, of a thread whose lines lie side by side.
  __device__ int own_count(long long first) const {
    return line < lines ? static_cast<int>(min(static_cast<long long>(own), max(0LL, nodes - first))) : 0;
  }

  __device__ void load(const Scalar* from, int segment, Scalar (&to)[own]) const {
    const long long first = first_of(segment);
    if constexpr (way == line_way::along_rows) {
      typename block::exchange::vector read[block::exchange::vectors];
      block::exchange::fetch(from + line * nodes, first - lane * own, nodes, lane, read, aligned);
      typename block::exchange{room}.arrange(read, lane, to);
    } else {
      const int count = own_count(first);
      const Scalar* at = from + first * lines + line;
#pragma unroll
      for (int k = 0; k < own; ++k, at += lines) to[k] = k < count ? *at : Scalar(0);
    }
  }

  __device__ void store(const Scalar (&from)[own], int segment, Scalar* to) const {
    const long long first = first_of(segment);
    if constexpr (way == line_way::along_rows) {
      typename block::exchange{room}.store(from, 0, first - lane * own, nodes, lane, to + line * nodes, aligned);
    } else {
      const int count = own_count(first);
      Scalar* at = to + first * lines + line;
#pragma unroll
      for (int k = 0; k < own; ++k, at += lines) {
        if (k < count) *at = from[k];
      }
    }
  }

  // here ← of_x · here + of_u · u
  __device__ void combine(Scalar of_x, Scalar of_u, const Scalar* u, int segment, Scalar (&here)[own]) const {
    if constexpr (way == line_way::along_rows) {
      Scalar begin[own];
      load(u, segment, begin);
#pragma unroll
      for (int k = 0; k < own; ++k) here[k] = fused(of_x, here[k], product_of(of_u, begin[k]));
    } else {
      const long long first = first_of(segment);
      const int count = own_count(first);
      const Scalar* at = u + first * lines + line;
      constexpr int ahead = 8;  // nodes that are loaded together
#pragma unroll
      for (int k = 0; k < own; k += ahead) {
        Scalar begin[ahead];
#pragma unroll
        for (int j = 0; j < ahead; ++j, at += lines) begin[j] = k + j < count ? *at : Scalar(0);
#pragma unroll
        for (int j = 0; j < ahead; ++j) here[k + j] = fused(of_x, here[k + j], product_of(of_u, begin[j]));
        asm volatile("" ::: "memory");  // more loads at once would not fit into registers
      }
    }
  }

  // Of the first node of a chunk; the next one's lies `chunks` further.
  __device__ const Scalar* own_of(const Scalar* coefficients, int segment) const {
    return coefficients + static_cast<long long>(segment) * own * chunks + chunk;
  }

  // What comes into the chunk, upwards from the chunk before or downwards from the one behind. `carry` is what comes
  // into the segment, and becomes what leaves it.
  template <bool upwards>
  __device__ Scalar come_in(Scalar product, Scalar value, Scalar& carry, links& of_warps) const {
    const auto from = [](Scalar number, int distance) {
      return upwards ? __shfl_up_sync(every_lane, number, distance) : __shfl_down_sync(every_lane, number, distance);
    };
#pragma unroll
    for (int distance = across; distance < lanes; distance *= 2) {
      const Scalar other_product = from(product, distance), other_value = from(value, distance);
      if (upwards ? lane >= distance : lane + distance < lanes) {
        value = fused(product, other_value, value);
        product = product_of(product, other_product);
      }
    }
    if (upwards ? lane >= lanes - across : lane < across) of_warps[warp][lane % across] = {product, value};
    const Scalar product_before = from(product, across), value_before = from(value, across);
    __syncthreads();
    const int warps = static_cast<int>(blockDim.x) / lanes;
    Scalar into_warp = carry;
    for (int i = 0; i < warps; ++i) {
      const int one = upwards ? i : warps - 1 - i;
      if (one == warp) into_warp = carry;
      const link<Scalar> through = of_warps[one][lane % across];
      carry = fused(through.product, carry, through.value);
    }
    __syncthreads();
    const bool at_edge = upwards ? lane < across : lane >= lanes - across;
    return at_edge ? into_warp : fused(product_before, into_warp, value_before);
  }

  __device__ void eliminate(Scalar (&here)[own], const Scalar* inverse, const Scalar* factor, Scalar& carry,
                            links& of_warps) const {
    Scalar product = 1, value = 0;
#pragma unroll
    for (int k = 0; k < own; ++k) {
      const Scalar by = factor[k * chunks];
      value = fused(by, value, product_of(inverse[k * chunks], here[k]));
      here[k] = value;
      product = product_of(product, by);
    }
    const Scalar before = come_in<true>(product, value, carry, of_warps);
    product = before;
#pragma unroll
    for (int k = 0; k < own; ++k) {
      product = product_of(product, factor[k * chunks]);
      here[k] = sum_of(here[k], product);
    }
  }

  __device__ void substitute(Scalar (&here)[own], const Scalar* factor, Scalar& carry, links& of_warps) const {
    Scalar product = 1, value = 0;
#pragma unroll
    for (int k = own - 1; k >= 0; --k) {
      const Scalar by = factor[k * chunks];
      value = fused(by, value, here[k]);
      here[k] = value;
      product = product_of(product, by);
    }
    const Scalar behind = come_in<false>(product, value, carry, of_warps);
    product = behind;
#pragma unroll
    for (int k = own - 1; k >= 0; --k) {
      product = product_of(product, factor[k * chunks]);
      here[k] = sum_of(here[k], product);
    }
  }
};

template <class Scalar, line_way way>
__global__ void __launch_bounds__(line_block<Scalar, way>::threads)
    sweep_kernel(part_rule rule, Scalar* u, Scalar* room, long long nodes, long long lines,
                 line_coefficients<Scalar> by, int chunks, int segments, bool aligned) {
  using part = line_part<Scalar, way>;
  using block = line_block<Scalar, way>;
  constexpr int own = part::own, across = part::across;
  extern __shared__ uint4 exchanged[];
  __shared__ typename part::links of_warps;
  __shared__ Scalar ends[2][across];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / lanes, column = thread % across;
  const part mine{
      nodes,          lines,   static_cast<long long>(blockIdx.x) * across + column,
      thread % lanes, warp,    thread / across,
      chunks,         aligned, reinterpret_cast<node_vector<Scalar>*>(exchanged) + warp * block::exchange_vectors};
  const bool in_memory = segments > 1;  // what does not stay in registers
  const int stages = rule == part_rule::tr_bdf2 ? 2 : 1;
  Scalar here[own];
  for (int stage = 0; stage < stages; ++stage) {
    Scalar carry = 0;
    for (int segment = 0; segment < segments; ++segment) {
      if (stage == 0 || in_memory) mine.load(u, segment, here);
      mine.eliminate(here, mine.own_of(by.inverse, segment), mine.own_of(by.forward, segment), carry, of_warps);
      if (in_memory) mine.store(here, segment, room);
    }
    carry = 0;
    for (int segment = segments - 1; segment >= 0; --segment) {
      if (in_memory) mine.load(room, segment, here);
      mine.substitute(here, mine.own_of(by.backward, segment), carry, of_warps);
      if (by.correction != nullptr) {
        if (mine.first_of(segment) == 0) ends[0][column] = here[0];
#pragma unroll
        for (int k = 0; k < own; ++k) {
          if (mine.first_of(segment) + k == nodes - 1) ends[1][column] = here[k];
        }
      }
      if (in_memory) mine.store(here, segment, room);
    }
    Scalar added = 0;
    if (by.correction != nullptr) {
      __syncthreads();
      added = product_of(fused(by.corner_share, ends[1][column], ends[0][column]), by.corner_scale);
    }
    const bool reflects = rule != part_rule::backward_euler && stage == 0;
    for (int segment = 0; segment < segments; ++segment) {
      if (in_memory) mine.load(room, segment, here);
      if (by.correction != nullptr) {
        const Scalar* const correction = mine.own_of(by.correction, segment);
#pragma unroll
        for (int k = 0; k < own; ++k) here[k] = fused(-added, correction[k * chunks], here[k]);
      }
      if (reflects) {
        // What TR-BDF2's second stage begins with comes from the middle 2x − u and the begin u.
        const bool middle = rule == part_rule::tr_bdf2;
        const Scalar of_x = middle ? static_cast<Scalar>(2 * tr_bdf2_weights::from_middle) : Scalar(2);
        const Scalar of_u =
            middle ? static_cast<Scalar>(-tr_bdf2_weights::from_middle - tr_bdf2_weights::from_begin) : Scalar(-1);
        mine.combine(of_x, of_u, u, segment, here);
      }
      if (in_memory || stage + 1 == stages) mine.store(here, segment, u);
    }
  }
}

template <class Scalar, line_way way>
line_layout layout_by(std::size_t nodes) {
  using block = line_block<Scalar, way>;
  constexpr std::size_t of_warp = lanes / block::across;
  const std::size_t needed = (nodes + block::own - 1) / block::own;
  const std::size_t chunks =
      std::min<std::size_t>(block::threads / block::across, (needed + of_warp - 1) / of_warp * of_warp);
  return {block::own, chunks, (needed + chunks - 1) / chunks};
}

template <class Scalar, line_way way>
void launch(part_rule rule, Scalar* u, Scalar* room, std::size_t nodes, std::size_t lines,
            const line_coefficients<Scalar>& by, cudaStream_t stream) {
  using block = line_block<Scalar, way>;
  const line_layout layout = layout_of<Scalar>(nodes, way);
  const auto threads = static_cast<unsigned>(layout.chunks * block::across);
  const std::size_t shared =
      way == line_way::along_rows ? threads / lanes * block::exchange_vectors * sizeof(node_vector<Scalar>) : 0;
  if (shared > 0) {
    cuda::check(cudaFuncSetAttribute(sweep_kernel<Scalar, way>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(shared)),
                "give a kernel shared memory");
  }
  const bool aligned = nodes * sizeof(Scalar) % sizeof(node_vector<Scalar>) == 0;
  sweep_kernel<Scalar, way>
      <<<static_cast<unsigned>((lines + block::across - 1) / block::across), threads, shared, stream>>>(
          rule, u, room, static_cast<long long>(nodes), static_cast<long long>(lines), by,
          static_cast<int>(layout.chunks), static_cast<int>(layout.segments), aligned);
  cuda::check_launch("sweep_lines");
}

}  // namespace

template <class Scalar>
line_layout layout_of(std::size_t nodes, line_way way) {
  return way == line_way::along_rows ? layout_by<Scalar, line_way::along_rows>(nodes)
                                     : layout_by<Scalar, line_way::along_columns>(nodes);
}

template <class Scalar>
void sweep_lines(line_way way, part_rule rule, Scalar* u, Scalar* room, std::size_t rows, std::size_t columns,
                 const line_coefficients<Scalar>& by, cudaStream_t stream) {
  if (way == line_way::along_rows) {
    launch<Scalar, line_way::along_rows>(rule, u, room, columns, rows, by, stream);
  } else {
    launch<Scalar, line_way::along_columns>(rule, u, room, rows, columns, by, stream);
  }
}

template line_layout layout_of<double>(std::size_t, line_way);
template line_layout layout_of<float>(std::size_t, line_way);
template void sweep_lines(line_way, part_rule, double*, double*, std::size_t, std::size_t,
                          const line_coefficients<double>&, cudaStream_t);
template void sweep_lines(line_way, part_rule, float*, float*, std::size_t, std::size_t,
                          const line_coefficients<float>&, cudaStream_t);

}  // namespace shoal::reaction_diffusion
