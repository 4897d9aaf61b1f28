// The maximisation's sums for 65 to 128 columns: Σ r (z, 1)(z, 1)ᵀ, a component to a team of four warps. The team
// squares and splits the rows that its component holds once, step by step, and shares them; each warp multiplies a
// block of tiles.
#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/tensor/groups.hpp>
#include <shoal/gmm/cuda/tensor_matrix/kernels.hpp>
#include <shoal/gmm/cuda/tensor_matrix/moments.cuh>

namespace shoal::gmm::tensor_matrix {
namespace {

constexpr int warps = 4;
constexpr int most_teams = 2;

// Shared memory of a team: its sums, its list, and two steps of split rows.
constexpr int sums_bytes(int groups) { return (sums_size(groups) * 8 + 15) / 16 * 16; }
// Two steps more than a section has, so that the loop over steps may look ahead.
constexpr int list_bytes = (most_section_rows + 2 * step_rows) * static_cast<int>(sizeof(listed_row));
constexpr int split_size(int groups) { return groups * 32; }
template <int Products>
constexpr int team_bytes(int groups) {
  return sums_bytes(groups) + list_bytes + 2 * split_size(groups) * static_cast<int>(sizeof(column_terms<Products>));
}

// Warps of a team run two pieces of code. Beside others, compute-sanitizer's synccheck takes the aligned form of this
// instruction, bar.sync, for one that all of a block's threads must run; both take as long.
__device__ void team_wait(int team) {
  asm volatile("barrier.sync %0, %1;" ::"r"(team + 1), "n"(32 * warps) : "memory");
}

// The tiles on and above the diagonal are cut into two triangles on the diagonal and two halves of the square between
// them, one for each warp. There are two shapes, so that the warps share two pieces of code: four would not fit into
// the instruction cache.
template <int Groups, bool Diagonal>
struct block_of_tiles {
  static_assert(Groups % 4 == 0);
  static constexpr int height = Groups / 4;
  static constexpr int width = Diagonal ? Groups / 2 : Groups / 4;
  static constexpr bool has(int m, int n) { return !Diagonal || n >= 2 * m; }
};

// One warp's part of a component's sums. It makes the terms of groups 4 · number … and multiplies its block of tiles.
template <int Groups, int Width, int Products, bool Diagonal>
struct part {
  using block = block_of_tiles<Groups, Diagonal>;
  using operand = column_terms<Products>;
  static constexpr int own_groups = 4;

  int number;  // of the warp in the team: the triangles are 0 and 1, the halves 2 and 3
  int first_group;
  bool makes;  // whether there are groups for this warp to make
  int first_m;
  int first_n;
  const problem& mixture;
  const chunk& rows;
  int team;
  int thread;
  // Where this thread makes terms: 8 neighbours read one row. The tensor core wants 4 neighbours in a row's place.
  int made_member;
  int made_row;
  double* sums;
  listed_row* list;
  operand* shared_terms;

  float2 scale[own_groups];
  const float* column[own_groups];  // of the chunk's first row; used where a read begins
  float sum[block::height][block::width][4];
  float first[own_groups];
  float weight;

  __device__ part(const problem& mixture_, const chunk& rows_, int team_, int number_, int k, unsigned char* memory)
      : number(number_), mixture(mixture_), rows(rows_), team(team_) {
    first_group = 4 * number;
    makes = first_group < Groups;
    first_m = number == 1 ? Groups / 4 : 0;
    first_n = number == 0 ? 0 : (number == 3 ? Groups / 4 * 3 : Groups / 2);
    thread = static_cast<int>(threadIdx.x) % 32;
    made_member = thread % 8;
    made_row = thread / 8;
    sums = reinterpret_cast<double*>(memory);
    list = reinterpret_cast<listed_row*>(memory + sums_bytes(Groups));
    shared_terms = reinterpret_cast<operand*>(reinterpret_cast<unsigned char*>(list) + list_bytes);
    if (makes) {
#pragma unroll
      for (int q = 0; q < own_groups; ++q) {
        const int c = first_group + q;
        scale[q] = mixture.moment_scales[k * group_columns * Groups + 8 * c + made_member];
        // Beyond the last column it reads some other one, which its scale of zero takes out.
        column[q] = rows.rows + min(moment_column(Groups, Width, c, made_member), mixture.columns - Width);
      }
    }
    clear();
  }

  __device__ void clear() {
#pragma unroll
    for (int m = 0; m < block::height; ++m) {
#pragma unroll
      for (int n = 0; n < block::width; ++n) sum[m][n][0] = sum[m][n][1] = sum[m][n][2] = sum[m][n][3] = 0;
    }
#pragma unroll
    for (int q = 0; q < own_groups; ++q) first[q] = 0;
    weight = 0;
  }

  __device__ void load_step(int at, listed_row (&entry)[4], float (&x)[4][own_groups]) const {
    if (!makes) return;
    step_entries(list + at, made_row, entry);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int q = 0; q < own_groups; q += Width) {
        const float* const from = column[q] + entry[i].begin;
        if constexpr (Width == 4) {
          const float4 four = *reinterpret_cast<const float4*>(from);
          x[i][0] = four.x;
          x[i][1] = four.y;
          x[i][2] = four.z;
          x[i][3] = four.w;
        } else if constexpr (Width == 2) {
          const float2 two = *reinterpret_cast<const float2*>(from);
          x[i][q] = two.x;
          x[i][q + 1] = two.y;
        } else {
          x[i][q] = *from;
        }
      }
    }
  }

  // Where the terms of member `member` and rows number `row` of a group lie: without bank conflicts both for threads
  // that make them and for those that multiply.
  static __device__ int term_place(int member, int row) { return 8 * row + (member ^ (2 * row)); }

  // Scales, weighs and splits one step: v = √r z.
  __device__ void make_terms(const listed_row (&entry)[4], const float (&x)[4][own_groups], float factor, operand* to) {
    if (!makes) return;
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
      to[(first_group + q) * 32 + term_place(made_member, made_row)] = split_four<Products>(v);
    }
  }

  __device__ void multiply(const operand* terms, unsigned nothing) {
    const operand* const own = terms + term_place(thread / 4, thread % 4);
    operand b[block::width];
#pragma unroll
    for (int n = 0; n < block::width; ++n) b[n] = own[(first_n + n) * 32];
#pragma unroll
    for (int m = 0; m < block::height; ++m) {
      const operand* const pair = own + 2 * (first_m + m) * 32;
      const first_operand<Products> a = Diagonal ? first_operand<Products>(b[2 * m], b[2 * m + 1], nothing)
                                                 : first_operand<Products>(pair[0], pair[32], nothing);
#pragma unroll
      for (int product = 3 - Products; product < 3; ++product) {
#pragma unroll
        for (int n = 0; n < block::width; ++n) {
          if (block::has(m, n)) a.multiply(product, sum[m][n], b[n]);
        }
      }
    }
  }

  // From float32 to float64, in the shared memory of this thread alone.
  __device__ void flush(double back) {
#pragma unroll
    for (int m = 0; m < block::height; ++m) {
#pragma unroll
      for (int n = 0; n < block::width; ++n) {
        if (!block::has(m, n)) continue;
        const int tile = tile_index(Groups, first_m + m, first_n + n);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          double& total = sums[(tile * 4 + i) * 32 + thread];
          total = fma(static_cast<double>(sum[m][n][i]), back, total);
        }
      }
    }
    if (makes) {
#pragma unroll
      for (int q = 0; q < own_groups; ++q) {
        float part_sum = first[q];
        part_sum += __shfl_xor_sync(~0U, part_sum, 8);
        part_sum += __shfl_xor_sync(~0U, part_sum, 16);
        double& total = sums[sums_first(Groups) + 8 * (first_group + q) + made_member];
        if (made_row == q % 4) total = fma(static_cast<double>(part_sum), back, total);
      }
    }
    if (number == 0) {
      float part_sum = weight;
      part_sum += __shfl_xor_sync(~0U, part_sum, 8);
      part_sum += __shfl_xor_sync(~0U, part_sum, 16);
      double& total = sums[sums_weight(Groups)];
      if (thread == 0) total = fma(static_cast<double>(part_sum), back, total);
    }
    clear();
  }

  // Lists the rows of a section that the component holds, in order, padded to whole steps; every warp counts, the first
  // one writes. `most` becomes the largest root.
  __device__ int list_rows(const float* terms, int first_row, float& most) {
    const int end = min(first_row + mixture.section_rows, rows.count);
    int count = 0;
    most = 0;
    // Several reads under way at a time: each comes from far.
    constexpr int batch = 8;
#pragma unroll 1
    for (int begin = 0; begin < mixture.section_rows; begin += 32 * batch) {
      float term[batch];
      float2 shift[batch];
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        const int row = min(first_row + begin + 32 * i + thread, end - 1);
        term[i] = terms[row];
        shift[i] = mixture.shifts[row];
      }
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        const int row = first_row + begin + 32 * i + thread;
        const float root = row < end ? root_of(term[i], shift[i]) : 0.0F;
        const unsigned mask = __ballot_sync(~0U, root > 0);
        const auto at = static_cast<unsigned>(row) * static_cast<unsigned>(mixture.columns);
        if (number == 0 && root > 0) list[count + __popc(mask & ((1U << thread) - 1))] = {root, at};
        count += __popc(mask);
        most = fmaxf(most, root);
      }
    }
    most = warp_maximum(most);
    if (number == 0 && count > 0) {
      // Weightless copies of a row of its own: any other may be out of range.
      const int missing = (step_rows - count % step_rows) % step_rows + 2 * step_rows;
      __syncwarp();
      for (int i = thread; i < missing; i += 32) list[count + i] = {0.0F, list[0].begin};
    }
    team_wait(team);
    return count;
  }

  __device__ void add_section(const float* terms, int first_row) {
    float most = 0;
    const int count = list_rows(terms, first_row, most);
    if (count == 0) return;
    const int exponent = exponent_of(most);
    const float factor = factor_for(exponent);
    const double back = undo(exponent);
    const unsigned nothing = __float_as_uint(most) >> 31;
    const int steps = (count + step_rows - 1) / step_rows;
    listed_row entry[4];
    float x[4][own_groups];
    load_step(0, entry, x);
    make_terms(entry, x, factor, shared_terms);
    load_step(step_rows, entry, x);
    for (int step = 0; step < steps; ++step) {
      team_wait(team);
      // The terms of the next step are made beside the products of this one, so that both pipes have work; the last
      // step makes some of weightless rows. A thread's part of Σ r z runs one step, four rows, ahead of the products.
      multiply(shared_terms + step % 2 * split_size(Groups), nothing);
      make_terms(entry, x, factor, shared_terms + (step + 1) % 2 * split_size(Groups));
      load_step((step + 2) * step_rows, entry, x);
      if (step % float_steps == float_steps - 1 || step + 1 == steps) flush(back);
    }
    // The next section writes the list and the terms again.
    team_wait(team);
  }
};

template <int Groups, int Width, int Products, bool Diagonal>
__device__ void run_part(const problem& mixture, const chunk& rows, int team, int number, int k,
                         unsigned char* memory) {
  part<Groups, Width, Products, Diagonal> own(mixture, rows, team, number, k, memory);
  const int lane = static_cast<int>(blockIdx.y);
  const int thread = static_cast<int>(threadIdx.x) % (32 * warps);
  double* const kept = mixture.sums + (static_cast<std::size_t>(lane) * mixture.components + k) * sums_size(Groups);
  for (int i = thread; i < sums_size(Groups); i += 32 * warps) own.sums[i] = kept[i];
  team_wait(team);
  const float* const terms = mixture.terms + k * mixture.chunk_rows;
  const auto passed =
      static_cast<int>(rows.share_first / mixture.section_rows % static_cast<std::size_t>(mixture.lanes));
  int section = lane >= passed ? lane - passed : lane - passed + mixture.lanes;
  for (; section * mixture.section_rows < rows.count; section += mixture.lanes) {
    own.add_section(terms, section * mixture.section_rows);
  }
  team_wait(team);
  for (int i = thread; i < sums_size(Groups); i += 32 * warps) kept[i] = own.sums[i];
}

template <int Groups, int Width, int Products>
__global__ void __launch_bounds__(32 * warps * most_teams, 1) moments_kernel(const problem mixture, const chunk rows) {
  cuda::wait_for_predecessor();
  if (mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) return;
  if (mixture.frame_lanes > 0 && *mixture.moments_apart == 0) return;
  extern __shared__ uint4 memory[];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int teams = static_cast<int>(blockDim.x) / (32 * warps);
  const int team = warp / warps;
  const int k = static_cast<int>(blockIdx.x) * teams + team;
  if (k >= mixture.components) return;
  unsigned char* const own = reinterpret_cast<unsigned char*>(memory) + team * team_bytes<Products>(Groups);
  // Parts differ in work; the second team takes them the other way round, so that the processors' shares even out.
  const int number = (warp + 2 * team) % warps;
  if (number < 2) {
    run_part<Groups, Width, Products, true>(mixture, rows, team, number, k, own);
  } else {
    run_part<Groups, Width, Products, false>(mixture, rows, team, number, k, own);
  }
}

int block_teams(int components) { return std::min(most_teams, components); }

template <int Groups, int Width, int Products>
void launch_width(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  const int teams = block_teams(mixture.components);
  const int bytes = teams * team_bytes<Products>(Groups);
  const dim3 grid(static_cast<unsigned>((mixture.components + teams - 1) / teams),
                  static_cast<unsigned>(mixture.lanes));
  cuda::launch_in_turn(moments_kernel<Groups, Width, Products>, grid, 32 * warps * teams, bytes, stream, mixture, rows);
}

template <int Groups, int Products>
void launch(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  if (mixture.width == 4) return launch_width<Groups, 4, Products>(mixture, rows, stream);
  if (mixture.width == 2) return launch_width<Groups, 2, Products>(mixture, rows, stream);
  launch_width<Groups, 1, Products>(mixture, rows, stream);
}

}  // namespace

moments_plan plan_moments_team(int groups, int components) {
  moments_plan plan;
  plan.block_components = block_teams(components);
  plan.shared_bytes = static_cast<std::size_t>(plan.block_components * team_bytes<3>(groups));
  plan.blocks = 1;
  return plan;
}

void moments_team(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  with_compiled_products(mixture.products, [&](auto products) {
    with_compiled_groups(team_groups(), mixture.groups,
                         [&](auto groups) { launch<groups(), products()>(mixture, rows, stream); });
  });
}

}  // namespace shoal::gmm::tensor_matrix
