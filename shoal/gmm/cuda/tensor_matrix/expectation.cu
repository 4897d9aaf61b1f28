// The expectation step for many columns: y = Uᵀ(x − c) + b of a warp's rows as tensor-core products, then ln πₖN(x).
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include <shoal/execution/cuda/cluster.cuh>
#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/tensor/chunks.hpp>
#include <shoal/gmm/cuda/tensor/groups.hpp>
#include <shoal/gmm/cuda/tensor/products.cuh>
#include <shoal/gmm/cuda/tensor_matrix/kernels.hpp>
#include <shoal/gmm/cuda/tensor_matrix/tuning.hpp>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::tensor_matrix {
namespace {

// Components in shared memory at a time; while they are used, the next ones arrive.
constexpr int stage_components(int groups, int products) {
  const int some = stage_bytes(groups) / (record_size(groups, products) * 16);
  return some < 1 ? 1 : some;
}
constexpr int stage_size(int groups, int products) {
  return stage_components(groups, products) * record_size(groups, products);
}
constexpr int stages_bytes(int groups, int products) { return 2 * stage_size(groups, products) * 16; }

// What a thread knows of the row that it owns while the components pass by.
struct row_state {
  float greatest = -INFINITY;
  float sum = 0;
  float norm = INFINITY;  // ‖y‖² under the component of the greatest term

  // A term that is −∞ (an empty component) or not a number (a ‖y‖² out of range) is beyond what counts.
  __device__ void add(float term, float its_norm) {
    const float ratio = __expf(-fabsf(term - greatest));
    const bool better = term > greatest;
    const float added = term > -INFINITY ? sum + ratio : sum;
    sum = better ? fmaf(sum, ratio, 1.0F) : added;
    greatest = better ? term : greatest;
    norm = better ? its_norm : norm;
  }
  // That of other components; an empty one's is as if there were none.
  __device__ void join(const row_state& other) {
    const bool better = other.greatest > greatest;
    const float less = better ? greatest : other.greatest, more = better ? other.greatest : greatest;
    const float ratio = less > -INFINITY ? __expf(less - more) : 0.0F;
    sum = better ? fmaf(sum, ratio, other.sum) : fmaf(other.sum, ratio, sum);
    greatest = more;
    norm = better ? other.norm : norm;
  }
};

// Blocks of a cluster that have the same rows and a part of the components each: the first one gets what all know of
// its rows. `states` [threads] is no longer read or written by others. False for those who are done.
__device__ bool join_parts(row_state& state, row_state* states) {
  if (gridDim.y == 1) return true;
#if __CUDA_ARCH__ >= 900
  states[threadIdx.x] = state;
  cuda::come_with_writes();
  cuda::wait_together();
  for (unsigned part = 1; part < gridDim.y && blockIdx.y == 0; ++part) {
    const unsigned address = cuda::address_in_block(states + threadIdx.x, part);
    row_state other;
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(other.greatest) : "r"(address));
    asm volatile("ld.shared::cluster.f32 %0, [%1 + 4];" : "=f"(other.sum) : "r"(address));
    asm volatile("ld.shared::cluster.f32 %0, [%1 + 8];" : "=f"(other.norm) : "r"(address));
    state.join(other);
  }
  cuda::come_together();  // nobody leaves before its states are read
  cuda::wait_together();
#endif
  return blockIdx.y == 0;
}

__device__ void copy_stage(uint4* to, const uint4* from, int count) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to + i));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from + i) : "memory");
  }
}
__device__ void end_stage() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits for all stages but the last one.
__device__ void wait_for_stage() { asm volatile("cp.async.wait_group 1;" ::: "memory"); }

// The elements of a 16-row tile as the tensor core takes them: for each step of 16 columns, rows g and g + 8, columns
// 2t, 2t + 1, 2t + 8, 2t + 9.
template <int Steps>
__device__ void load_rows(const chunk& rows, int columns, int first, float (&x)[Steps][8]) {
  const int g = static_cast<int>(threadIdx.x) % 32 / 4;
  const int t = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = first + g + 8 * half;
    const float* const from = rows.rows + static_cast<std::size_t>(row) * columns;
#pragma unroll
    for (int step = 0; step < Steps; ++step) {
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
        const int column = 16 * step + 8 * pair + 2 * t;
        float2 two = make_float2(0.0F, 0.0F);
        if (row < rows.count) {
          if (columns % 2 == 0) {
            if (column < columns) two = *reinterpret_cast<const float2*>(from + column);
          } else {
            if (column < columns) two.x = from[column];
            if (column + 1 < columns) two.y = from[column + 1];
          }
        }
        x[step][4 * half + 2 * pair] = two.x;
        x[step][4 * half + 2 * pair + 1] = two.y;
      }
    }
  }
}

// A tile of rows as operands of products.
template <int Steps>
struct split_rows {
  std::uint32_t high[Steps][4];
  std::uint32_t low[Steps][4];

  // One step of 16 columns in units s of columns about c: `near` and `next` hold s, s, −cs, −cs of two columns each.
  __device__ static void split_step(const float (&row)[8], float4 near, float4 next, std::uint32_t (&high)[4],
                                    std::uint32_t (&low)[4]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      split(fmaf(row[4 * half], near.x, near.z), fmaf(row[4 * half + 1], near.y, near.w), high[half], low[half]);
      split(fmaf(row[4 * half + 2], next.x, next.z), fmaf(row[4 * half + 3], next.y, next.w), high[half + 2],
            low[half + 2]);
    }
  }

  // All steps, in the frame that the components share.
  __device__ void make(const float (&x)[Steps][8], const float2* frame) {
    const int t = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
    for (int step = 0; step < Steps; ++step) {
      const float4 near = *reinterpret_cast<const float4*>(frame + 16 * step + 2 * t);
      const float4 next = *reinterpret_cast<const float4*>(frame + 16 * step + 8 + 2 * t);
      split_step(x[step], make_float4(near.x, near.z, near.y, near.w), make_float4(next.x, next.z, next.y, next.w),
                 high[step], low[step]);
    }
  }
};

// ‖y‖² of rows g and g + 8 of each tile; a thread has the part of its columns. `Rows` is the rows as they are, which
// are centred and split here, or split_rows.
template <int Groups, int Products, int Tiles, class Rows>
__device__ void partial_norms(const uint4* record, const Rows& rows, float (&norms)[Tiles][2]) {
  constexpr int steps = steps_of(Groups);
  constexpr bool split_before = std::is_same_v<Rows, split_rows<steps>[Tiles]>;
  const int thread = static_cast<int>(threadIdx.x) % 32;
  const int t = thread % 4;
  using terms = column_terms<Products>;
  const terms* const factor = reinterpret_cast<const terms*>(record) + thread;
  const float4* const scales = reinterpret_cast<const float4*>(record + record_scales(Groups, Products)) + t;
  const float2* const offsets = reinterpret_cast<const float2*>(record + record_offsets(Groups, Products)) + t;
  float y[Tiles][Groups][4];
#pragma unroll
  for (int n = 0; n < Groups; ++n) {
    const float2 b = offsets[4 * n];
#pragma unroll
    for (int tile = 0; tile < Tiles; ++tile) {
      y[tile][n][0] = y[tile][n][2] = b.x;
      y[tile][n][1] = y[tile][n][3] = b.y;
    }
  }
#pragma unroll
  for (int step = 0; step < steps; ++step) {
    std::uint32_t high[Tiles][4];
    std::uint32_t low[Tiles][4];
#pragma unroll
    for (int tile = 0; tile < Tiles; ++tile) {
      if constexpr (split_before) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          high[tile][i] = rows[tile].high[step][i];
          low[tile][i] = rows[tile].low[step][i];
        }
      } else {
        split_rows<steps>::split_step(rows[tile][step], scales[8 * step], scales[8 * step + 4], high[tile], low[tile]);
      }
    }
    // Two groups of columns at a time, so that a product does not wait for the one before it.
#pragma unroll
    for (int n = 2 * step; n < Groups; n += 2) {
      constexpr int most = 2;
      terms u[most];
#pragma unroll
      for (int i = 0; i < most; ++i) {
        if (n + i < Groups) u[i] = factor[tile_index(Groups, step, n + i) * 32];
      }
#pragma unroll
      for (int product = 3 - Products; product < 3; ++product) {
#pragma unroll
        for (int i = 0; i < most; ++i) {
          if (n + i >= Groups) continue;
#pragma unroll
          for (int tile = 0; tile < Tiles; ++tile) {
            if constexpr (Products == 3) {
              if (product == 1) {
                multiply_add(y[tile][n + i], high[tile], u[i].z, u[i].w);
                continue;
              }
            }
            multiply_add(y[tile][n + i], product == 0 ? low[tile] : high[tile], u[i].x, u[i].y);
          }
        }
      }
    }
  }
#pragma unroll
  for (int tile = 0; tile < Tiles; ++tile) {
    norms[tile][0] = norms[tile][1] = 0;
#pragma unroll
    for (int n = 0; n < Groups; ++n) {
      norms[tile][0] = fmaf(y[tile][n][0], y[tile][n][0], fmaf(y[tile][n][1], y[tile][n][1], norms[tile][0]));
      norms[tile][1] = fmaf(y[tile][n][2], y[tile][n][2], fmaf(y[tile][n][3], y[tile][n][3], norms[tile][1]));
    }
  }
}

// Sums the parts of the four threads that share a row, and leaves each thread with the row that it owns.
__device__ float owned_norm(const float (&norms)[2][2]) {
  const int t = static_cast<int>(threadIdx.x) % 4;
  const bool upper = t >= 2;
  float mine[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float other = __shfl_xor_sync(~0U, upper ? norms[0][half] : norms[1][half], 2);
    mine[half] = (upper ? norms[1][half] : norms[0][half]) + other;
  }
  const bool odd = t % 2 != 0;
  const float other = __shfl_xor_sync(~0U, odd ? mine[0] : mine[1], 1);
  return (odd ? mine[1] : mine[0]) + other;
}

// The same for one tile: threads t and t ^ 2 both get the row.
__device__ float owned_norm(const float (&norms)[1][2]) {
  const bool odd = threadIdx.x % 2 != 0;
  const float other = __shfl_xor_sync(~0U, odd ? norms[0][0] : norms[0][1], 1);
  const float mine = (odd ? norms[0][1] : norms[0][0]) + other;
  return mine + __shfl_xor_sync(~0U, mine, 2);
}

// Two kernels are launched, for components that are apart and for those that share a frame, and one of them works.
template <int Groups, int Products, bool Apart>
__global__ void __launch_bounds__(32 * block_warps(Groups), least_blocks(Groups))
    expectation_kernel(const problem mixture, const chunk rows) {
  cuda::wait_for_predecessor();
  if ((mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) || (*mixture.apart != 0) != Apart)
    return;
  constexpr int tiles = row_tiles(Groups);
  constexpr int batch = stage_components(Groups, Products);
  constexpr int size = record_size(Groups, Products);
  extern __shared__ uint4 stages[];
  const int word = static_cast<int>(blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32);
  const int first = word * word_rows;
  const int thread = static_cast<int>(threadIdx.x) % 32;
  const int row = first + owned_row(thread);
  const int part = static_cast<int>(blockIdx.y), parts = static_cast<int>(gridDim.y);
  const int first_component = mixture.components * part / parts;
  const int components = mixture.components * (part + 1) / parts - first_component;
  const int batches = (components + batch - 1) / batch;
  const auto fetch = [&](int number) {
    const int begin = number * batch;
    const int some = min(batch, components - begin);
    if (some > 0) {
      copy_stage(stages + number % 2 * stage_size(Groups, Products),
                 mixture.records + static_cast<std::size_t>(first_component + begin) * size, some * size);
    }
    end_stage();
  };
  row_state state;
  for (int pass = 0; pass < 2 / tiles; ++pass) {
    float x[tiles][steps_of(Groups)][8];
    fetch(0);
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile) {
      load_rows<steps_of(Groups)>(rows, mixture.columns, first + 16 * (pass + tile), x[tile]);
    }
    split_rows<steps_of(Groups)> split_x[tiles];
    if constexpr (!Apart) {
#pragma unroll
      for (int tile = 0; tile < tiles; ++tile) split_x[tile].make(x[tile], mixture.frame);
    }
    const bool owner = (tiles == 2 || thread % 4 / 2 == pass) && row < rows.count;
    float* to = mixture.terms + static_cast<std::size_t>(first_component) * mixture.chunk_rows + row;
    for (int number = 0; number < batches; ++number) {
      fetch(number + 1);
      wait_for_stage();
      __syncthreads();
      const uint4* record = stages + number % 2 * stage_size(Groups, Products);
      const int some = min(batch, components - number * batch);
      for (int i = 0; i < some; ++i) {
        float norms[tiles][2];
        if constexpr (Apart) {
          partial_norms<Groups, Products, tiles>(record, x, norms);
        } else {
          partial_norms<Groups, Products, tiles>(record, split_x, norms);
        }
        const float norm = owned_norm(norms);
        const float term =
            fmaf(norm, -0.5F, *reinterpret_cast<const float*>(record + record_constant(Groups, Products)));
        if (owner) {
          *to = term;
          state.add(term, norm);
        }
        to += mixture.chunk_rows;
        record += size;
      }
      __syncthreads();
    }
  }
  if (!join_parts(state, reinterpret_cast<row_state*>(stages)) || first >= rows.count) return;

  const bool inside = row < rows.count;
  const bool near = state.norm <= far_norm && *mixture.coarse == 0;
  const float weight = !inside ? 0.0F : (rows.weights == nullptr ? 1.0F : rows.weights[row]);
  const unsigned far_mask = __ballot_sync(~0U, inside && !near);
  const float log_sum = logf(state.sum);
  const bool counts = near && weight > 0;
  if (inside) {
    mixture.shifts[row] = counts ? make_float2(state.greatest, log_sum - (rows.weights == nullptr ? 0 : logf(weight)))
                                 : make_float2(0.0F, INFINITY);
  }
  const double log_density =
      static_cast<double>(state.greatest) + static_cast<double>(log_sum) + *mixture.parameters.packed.log_shift;
  if (mixture.log_densities != nullptr && inside && near) mixture.log_densities[row] = log_density;
  const double likelihood = counts ? static_cast<double>(weight) * log_density : 0.0;
  const double likelihoods = cuda::warp_sum(likelihood);
  const double weights = cuda::warp_sum(static_cast<double>(weight));
  if (thread == 0) {
    mixture.word_sums[word] = make_double2(likelihoods, weights);
    mixture.far_masks[word] = far_mask;
    if (far_mask != 0) *mixture.far_found = 1;
  }
}

template <int Groups, int Products>
void launch(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  constexpr int bytes = stages_bytes(Groups, Products);
  static_assert(bytes >= 32 * block_warps(Groups) * static_cast<int>(sizeof(row_state)));
  const int words = (rows.count + word_rows - 1) / word_rows;
  const int share = (words * mixture.parts + many_expectation_blocks - 1) / many_expectation_blocks;
  const int warps = std::clamp(share, least_block_warps, block_warps(Groups));
  for (const auto kernel : {expectation_kernel<Groups, Products, false>, expectation_kernel<Groups, Products, true>}) {
    if (mixture.one_pass.warps > 0 && kernel == expectation_kernel<Groups, Products, false>) continue;
    const dim3 blocks(static_cast<unsigned>((words + warps - 1) / warps), static_cast<unsigned>(mixture.parts));
    if (mixture.parts == 1) {
      cuda::launch_in_turn(kernel, blocks, 32 * warps, bytes, stream, mixture, rows);
      continue;
    }
    cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
                "give a kernel shared memory");
    cudaLaunchAttribute attributes[2] = {};
    cudaLaunchConfig_t config{};
    config.gridDim = blocks;
    config.blockDim = dim3(static_cast<unsigned>(32 * warps));
    config.dynamicSmemBytes = bytes;
    config.stream = stream;
    cuda::start_early(config, attributes[0]);
    attributes[1].id = cudaLaunchAttributeClusterDimension;
    attributes[1].val.clusterDim = {1, blocks.y, 1};
    config.attrs = attributes;
    config.numAttrs = 2;
    cuda::check(cudaLaunchKernelEx(&config, kernel, mixture, rows), "launch a kernel");
  }
}

}  // namespace

int expectation_parts(const problem& mixture) {
  if (!has_products()) return 1;
  const int warps = block_warps(mixture.groups), words = static_cast<int>(mixture.chunk_rows / word_rows);
  return std::clamp(most_expectation_blocks / ((words + warps - 1) / warps), 1,
                    std::min(mixture.components, most_cluster_blocks));
}

std::size_t expectation_bytes(int groups) { return static_cast<std::size_t>(stages_bytes(groups, 3)); }

void expectation(const problem& mixture, const chunk& rows, cudaStream_t stream) {
  with_compiled_products(mixture.products, [&](auto products) {
    const auto call = [&](auto groups) { launch<groups(), products()>(mixture, rows, stream); };
    with_compiled_groups(warp_groups(), mixture.groups, call);
    with_compiled_groups(team_groups(), mixture.groups, call);
  });
}

}  // namespace shoal::gmm::tensor_matrix
