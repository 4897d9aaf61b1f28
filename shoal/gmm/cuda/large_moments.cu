// The maximisation's sums for many columns: Σ r (z, 1)(z, 1)ᵀ of the rows that a component holds, by tensor cores.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/gmm/cuda/large_kernels.hpp>
#include <shoal/gmm/cuda/large_products.cuh>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::large {
namespace {

// Rows of one step of a tensor-core product.
constexpr int step_rows = 16;

// A row that a component holds: the root of its weighted responsibility, and where its elements begin in the chunk.
struct listed_row {
  float root;
  unsigned begin;
};

// Shared memory of a team: its sums, its list, and two steps of split rows when several warps share them.
constexpr int sums_bytes(int groups) { return sums_size(groups) * static_cast<int>(sizeof(double)); }
constexpr int list_bytes = section_rows * static_cast<int>(sizeof(listed_row));
constexpr int split_bytes(int groups) { return team_warps(groups) == 1 ? 0 : 2 * groups * 32 * 16; }
constexpr int team_bytes(int groups) { return (sums_bytes(groups) + 15) / 16 * 16 + list_bytes + split_bytes(groups); }

template <int Warps>
__device__ void team_wait(int team) {
  if constexpr (Warps == 1) {
    __syncwarp();
  } else {
    asm volatile("bar.sync %0, %1;" ::"r"(team + 1), "n"(32 * Warps) : "memory");
  }
}

// One warp's part of a component's sums: it squares and splits groups 4 · Part …, and multiplies the tiles of 16 columns
// number Part and 2 · warps − 1 − Part, which together are as many for every warp.
template <int Groups, int Width, int Part>
struct part {
  static constexpr int warps = team_warps(Groups);
  static constexpr int first_group = 4 * Part;
  static constexpr int own_groups = Groups - first_group < 4 ? Groups - first_group : 4;
  static constexpr int upper_tile = Part;
  static constexpr int lower_tile = 2 * warps - 1 - Part;
  static constexpr int upper_count = Groups - 2 * upper_tile;
  static constexpr int lower_count = Groups > 2 * lower_tile ? Groups - 2 * lower_tile : 0;
  static constexpr int first_needed = 2 * upper_tile;

  const problem& mixture;
  const chunk& rows;
  int team;
  int g;
  int t;
  int thread;
  double* sums;
  listed_row* list;
  uint4* shared_split;

  float2 scale[own_groups];
  const float* column[own_groups];  // of the chunk's first row; used where a read begins
  float upper[upper_count][4];
  float lower[lower_count == 0 ? 1 : lower_count][4];
  float first[own_groups];
  float weight;

  __device__ part(const problem& mixture_, const chunk& rows_, int team_, int k, unsigned char* memory)
      : mixture(mixture_), rows(rows_), team(team_) {
    thread = static_cast<int>(threadIdx.x) % 32;
    g = thread / 4;
    t = thread % 4;
    sums = reinterpret_cast<double*>(memory);
    list = reinterpret_cast<listed_row*>(memory + (sums_bytes(Groups) + 15) / 16 * 16);
    shared_split = reinterpret_cast<uint4*>(reinterpret_cast<unsigned char*>(list) + list_bytes);
#pragma unroll
    for (int q = 0; q < own_groups; ++q) {
      scale[q] = mixture.moment_scales[k * group_columns * Groups + 8 * (first_group + q) + g];
      column[q] = rows.rows + min(moment_column(Groups, Width, first_group + q, g), mixture.columns - read_width(q));
    }
    clear();
  }

  __device__ void clear() {
#pragma unroll
    for (int n = 0; n < upper_count; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) upper[n][i] = 0;
    }
#pragma unroll
    for (int n = 0; n < lower_count; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) lower[n][i] = 0;
    }
#pragma unroll
    for (int q = 0; q < own_groups; ++q) first[q] = 0;
    weight = 0;
  }

  // Neighbouring columns that are read together, beginning with this warp's group q.
  static constexpr int read_width(int q) {
    return Width == 2 && first_group + q >= Groups / 2 * 2 ? 1 : Width;
  }

  // The thread's elements of this warp's groups in one row. Beyond the last column it reads some other one, which its
  // scale of zero takes out.
  __device__ void load_row(unsigned begin, float (&x)[own_groups]) const {
#pragma unroll
    for (int q = 0; q < own_groups; q += read_width(q)) {
      const float* const from = column[q] + begin;
      if (read_width(q) == 4) {
        const float4 four = *reinterpret_cast<const float4*>(from);
        x[q] = four.x;
        if (q + 1 < own_groups) x[q + 1] = four.y;
        if (q + 2 < own_groups) x[q + 2] = four.z;
        if (q + 3 < own_groups) x[q + 3] = four.w;
      } else if (read_width(q) == 2) {
        const float2 two = *reinterpret_cast<const float2*>(from);
        x[q] = two.x;
        if (q + 1 < own_groups) x[q + 1] = two.y;
      } else {
        x[q] = *from;
      }
    }
  }

  // The four rows of a step that this thread holds: 2t, 2t + 1, 2t + 8, 2t + 9.
  __device__ void load_step(int at, listed_row (&entry)[4], float (&x)[4][own_groups]) const {
    const uint4 near = *reinterpret_cast<const uint4*>(list + at + 2 * t);
    const uint4 next = *reinterpret_cast<const uint4*>(list + at + 2 * t + 8);
    entry[0] = {__uint_as_float(near.x), near.y};
    entry[1] = {__uint_as_float(near.z), near.w};
    entry[2] = {__uint_as_float(next.x), next.y};
    entry[3] = {__uint_as_float(next.z), next.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) load_row(entry[i].begin, x[i]);
  }

  // Scales, weighs and splits one step; v = √r z.
  __device__ void split_step(const listed_row (&entry)[4], const float (&x)[4][own_groups], float factor,
                             uint4 (&terms)[own_groups]) {
    float root[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      root[i] = entry[i].root * factor;
      weight = fmaf(root[i], root[i], weight);
    }
#pragma unroll
    for (int q = 0; q < own_groups; ++q) {
      float v[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        v[i] = root[i] * fmaf(x[i][q], scale[q].x, scale[q].y);
        first[q] = fmaf(root[i], v[i], first[q]);
      }
      split(v[0], v[1], terms[q].x, terms[q].z);
      split(v[2], v[3], terms[q].y, terms[q].w);
    }
  }

  template <int Count>
  __device__ static void multiply(float (&sum)[Count][4], int n, const uint4& a0, const uint4& a1, const uint4& b) {
    const std::uint32_t high[4] = {a0.x, a1.x, a0.y, a1.y};
    const std::uint32_t low[4] = {a0.z, a1.z, a0.w, a1.w};
    multiply_add(sum[n], low, b.x, b.y);
    multiply_add(sum[n], high, b.z, b.w);
    multiply_add(sum[n], high, b.x, b.y);
  }

  __device__ void multiply_step(const uint4 (&terms)[Groups - first_needed]) {
    const uint4 nothing = make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int n = 0; n < upper_count; ++n) {
      multiply(upper, n, terms[0], upper_count > 1 ? terms[1] : nothing, terms[n]);
    }
    if constexpr (lower_count > 0) {
      constexpr int from = 2 * lower_tile - first_needed;
#pragma unroll
      for (int n = 0; n < lower_count; ++n) {
        multiply(lower, n, terms[from], lower_count > 1 ? terms[from + 1] : nothing, terms[from + n]);
      }
    }
  }

  // From float32 to float64, in the shared memory of this thread alone.
  __device__ void flush(double scale_back) {
#pragma unroll
    for (int n = 0; n < upper_count; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        double& sum = sums[(tile_index(Groups, upper_tile, 2 * upper_tile + n) * 4 + i) * 32 + thread];
        sum = fma(static_cast<double>(upper[n][i]), scale_back, sum);
      }
    }
#pragma unroll
    for (int n = 0; n < lower_count; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        double& sum = sums[(tile_index(Groups, lower_tile, 2 * lower_tile + n) * 4 + i) * 32 + thread];
        sum = fma(static_cast<double>(lower[n][i]), scale_back, sum);
      }
    }
#pragma unroll
    for (int q = 0; q < own_groups; ++q) {
      float sum = first[q];
      sum += __shfl_xor_sync(~0U, sum, 1);
      sum += __shfl_xor_sync(~0U, sum, 2);
      double& total = sums[sums_first(Groups) + 8 * (first_group + q) + g];
      if (t == 0) total = fma(static_cast<double>(sum), scale_back, total);
    }
    if (Part == 0) {
      float sum = weight;
      sum += __shfl_xor_sync(~0U, sum, 1);
      sum += __shfl_xor_sync(~0U, sum, 2);
      if (thread == 0) sums[sums_weight(Groups)] = fma(static_cast<double>(sum), scale_back, sums[sums_weight(Groups)]);
    }
    clear();
  }

  // Between the lane's memory and the team's: what this thread will flush to.
  template <class Move>
  __device__ void for_own_sums(const Move& move) const {
#pragma unroll 1
    for (int i = 0; i < 4 * upper_count; ++i) {
      move(tile_index(Groups, upper_tile, 2 * upper_tile) * 128 + i * 32 + thread);
    }
#pragma unroll 1
    for (int i = 0; i < 4 * lower_count; ++i) {
      move(tile_index(Groups, lower_tile, 2 * lower_tile) * 128 + i * 32 + thread);
    }
    if (t == 0) {
#pragma unroll 1
      for (int q = 0; q < own_groups; ++q) move(sums_first(Groups) + 8 * (first_group + q) + g);
    }
    if (Part == 0 && thread == 0) move(sums_weight(Groups));
  }

  // Lists the rows of a section whose responsibility is not negligible, in order, padded to whole steps; every warp of
  // the team counts, the first one writes. `most` becomes the largest root.
  __device__ int list_rows(const float* terms, int first_row, float& most) {
    constexpr float least = -static_cast<float>(negligible_log_ratio<float>);
    int count = 0;
    most = 0;
#pragma unroll 4
    for (int i = 0; i < section_rows; i += 32) {
      const int row = first_row + i + thread;
      float root = 0;
      if (row < rows.count) {
        const float2 shift = mixture.shifts[row];
        const float ratio = terms[row] - shift.x;
        if (ratio >= least) root = __expf(0.5F * (ratio - shift.y));
      }
      const unsigned mask = __ballot_sync(~0U, root > 0);
      if (Part == 0 && root > 0) list[count + __popc(mask & ((1U << thread) - 1))] = {root, begin_of(row)};
      count += __popc(mask);
      most = fmaxf(most, root);
    }
    if (Part == 0 && count % step_rows != 0 && thread < step_rows - count % step_rows) {
      list[count + thread] = {0.0F, begin_of(first_row)};
    }
    for (int distance = 16; distance > 0; distance /= 2) most = fmaxf(most, __shfl_xor_sync(~0U, most, distance));
    team_wait<warps>(team);
    return count;
  }

  __device__ unsigned begin_of(int row) const {
    return static_cast<unsigned>(row) * static_cast<unsigned>(mixture.columns);
  }

  __device__ void add_section(const float* terms, int first_row) {
    float most = 0;
    const int count = list_rows(terms, first_row, most);
    if (count == 0) return;
    // A power of two that brings the largest root to [1, 2): float16 has digits for it and for much smaller ones.
    const float factor = ldexpf(1.0F, -max(ilogbf(most), -120));
    const double back = 1.0 / (static_cast<double>(factor) * static_cast<double>(factor));
    const int steps = (count + step_rows - 1) / step_rows;
    listed_row entry[4];
    float x[4][own_groups];
    load_step(0, entry, x);
    for (int step = 0; step < steps; ++step) {
      uint4 own[own_groups];
      split_step(entry, x, factor, own);
      if (step + 1 < steps) load_step((step + 1) * step_rows, entry, x);
      if constexpr (warps == 1) {
        multiply_step(own);
      } else {
        uint4* const here = shared_split + step % 2 * Groups * 32 + thread;
#pragma unroll
        for (int q = 0; q < own_groups; ++q) here[(first_group + q) * 32] = own[q];
        team_wait<warps>(team);
        uint4 all[Groups - first_needed];
#pragma unroll
        for (int c = first_needed; c < Groups; ++c) all[c - first_needed] = here[c * 32];
        multiply_step(all);
      }
      if ((step + 1) % (float_rows / step_rows) == 0 || step + 1 == steps) flush(back);
    }
    // The next section writes the list and the split rows again.
    team_wait<warps>(team);
  }
};

template <int Groups, int Width, int Part>
__device__ void run_part(const problem& mixture, const chunk& rows, int team, int k, unsigned char* memory) {
  part<Groups, Width, Part> own(mixture, rows, team, k, memory);
  const int lane = static_cast<int>(blockIdx.y);
  double* const kept =
      mixture.sums + (static_cast<std::size_t>(lane) * mixture.components + k) * sums_size(Groups);
  own.for_own_sums([&](int i) { own.sums[i] = kept[i]; });
  const float* const terms = mixture.terms + k * mixture.chunk_rows;
  const auto first_section = static_cast<int>(rows.share_first / section_rows % static_cast<std::size_t>(mixture.lanes));
  int section = lane - first_section;
  if (section < 0) section += mixture.lanes;
  for (; section * section_rows < rows.count; section += mixture.lanes) {
    own.add_section(terms, section * section_rows);
  }
  own.for_own_sums([&](int i) { kept[i] = own.sums[i]; });
}

template <int Groups, int Width>
__global__ void __launch_bounds__(256) moments_kernel(const problem mixture, const chunk rows, int teams) {
  if (mixture.stopped != nullptr && *mixture.stopped != 0) return;
  extern __shared__ unsigned char memory[];
  constexpr int warps = team_warps(Groups);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int team = warp / warps;
  const int k = static_cast<int>(blockIdx.x) * teams + team;
  if (k >= mixture.components) return;
  unsigned char* const own = memory + team * team_bytes(Groups);
  switch (warp % warps) {
    case 0:
      run_part<Groups, Width, 0>(mixture, rows, team, k, own);
      break;
    case 1:
      if constexpr (warps > 1) run_part<Groups, Width, 1>(mixture, rows, team, k, own);
      break;
    case 2:
      if constexpr (warps > 2) run_part<Groups, Width, 2>(mixture, rows, team, k, own);
      break;
    default:
      if constexpr (warps > 3) run_part<Groups, Width, 3>(mixture, rows, team, k, own);
  }
}

// Components that a block works on at the same time, on the same rows.
int block_teams(int groups, int components) {
  constexpr int most_warps = 8;
  constexpr int most_bytes = 110 << 10;  // two blocks on a multiprocessor where the sums allow it
  int most = std::max(1, most_warps / team_warps(groups));
  while (most > 1 && most * team_bytes(groups) > most_bytes && groups <= 8) --most;
  const int blocks = (components + most - 1) / most;
  return (components + blocks - 1) / blocks;
}

template <int Groups, int Width>
void launch_width(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  const int teams = block_teams(Groups, mixture.components);
  const int bytes = teams * team_bytes(Groups);
  cuda::check(cudaFuncSetAttribute(moments_kernel<Groups, Width>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
              "reserve shared memory");
  const dim3 grid(static_cast<unsigned>((mixture.components + teams - 1) / teams),
                  static_cast<unsigned>(mixture.lanes));
  moments_kernel<Groups, Width><<<grid, 32 * team_warps(Groups) * teams, bytes, stream>>>(mixture, rows, teams);
}

template <int Groups>
void launch(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  if constexpr (Groups % 4 == 0) {
    if (mixture.width == 4) return launch_width<Groups, 4>(mixture, rows, stream);
  }
  if (mixture.width == 2) return launch_width<Groups, 2>(mixture, rows, stream);
  launch_width<Groups, 1>(mixture, rows, stream);
}

}  // namespace

std::size_t moments_shared_bytes(int groups, int components) {
  return static_cast<std::size_t>(block_teams(groups, components)) * team_bytes(groups);
}

int moments_teams(int groups, int components) {
  const int teams = block_teams(groups, components);
  const int by_memory = (227 << 10) / (teams * team_bytes(groups) + 1024);
  const int by_registers = 16 / (teams * team_warps(groups));
  return teams * std::max(1, std::min(by_memory, by_registers));
}

void moments(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  switch (mixture.groups) {
    case 2:
      launch<2>(mixture, rows, stream);
      break;
    case 3:
      launch<3>(mixture, rows, stream);
      break;
    case 4:
      launch<4>(mixture, rows, stream);
      break;
    case 5:
      launch<5>(mixture, rows, stream);
      break;
    case 6:
      launch<6>(mixture, rows, stream);
      break;
    case 7:
      launch<7>(mixture, rows, stream);
      break;
    case 8:
      launch<8>(mixture, rows, stream);
      break;
    case 10:
      launch<10>(mixture, rows, stream);
      break;
    case 12:
      launch<12>(mixture, rows, stream);
      break;
    case 14:
      launch<14>(mixture, rows, stream);
      break;
    default:
      launch<16>(mixture, rows, stream);
  }
  cuda::check_launch("moments");
}

}  // namespace shoal::gmm::large
