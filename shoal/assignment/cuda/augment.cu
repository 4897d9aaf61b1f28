// Shortest augmenting paths on a GPU: one cluster of blocks, whose shared memory holds all columns, searches for one
// row after the other.
#include <cooperative_groups.h>

#include <shoal/assignment/cuda/kernels.hpp>
#include <shoal/execution/cuda/check.hpp>

namespace shoal::assignment::cuda {
namespace {

constexpr unsigned path_threads = 1024;
constexpr unsigned path_blocks = 8;  // the largest cluster that every GPU with clusters grants
constexpr std::size_t bytes_of_column = 3 * sizeof(double) + 3 * sizeof(std::uint32_t);

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900  // what has clusters

namespace cg = cooperative_groups;

constexpr unsigned path_warps = path_threads / 32;
constexpr double nowhere = INFINITY;
constexpr std::uint32_t assigned_bit = 0x80000000u;

// An open column, with assigned_bit where it has a row: of equally near ones a free one comes first, then the first.
struct place {
  double distance;
  std::uint32_t column;
};

__device__ bool is_nearer(const place& a, const place& b) {
  return a.distance < b.distance || (a.distance == b.distance && a.column < b.column);
}

__device__ place nearest_of_warp(place own) {
  for (unsigned step = 16; step > 0; step /= 2) {
    const place other{__shfl_xor_sync(~0u, own.distance, step), __shfl_xor_sync(~0u, own.column, step)};
    if (is_nearer(other, own)) own = other;
  }
  return own;
}

// What a search must know of the column that it comes to.
struct waypoint {
  place at;
  std::uint32_t owner;
  double pair;  // what its pair leaves: cost less potential
};

// The columns that one block looks after, in its shared memory.
struct columns_of_block {
  std::uint32_t first;
  std::uint32_t count;
  double* distances;
  double* potentials;
  double* pairs;
  std::uint32_t* owners;
  std::uint32_t* predecessors;
  std::uint32_t* closed;
};

__device__ columns_of_block place_columns(unsigned char* memory, std::uint32_t each, unsigned rank, std::uint32_t n) {
  double* const numbers = reinterpret_cast<double*>(memory);
  std::uint32_t* const words = reinterpret_cast<std::uint32_t*>(numbers + 3 * std::size_t{each});
  const std::uint32_t first = rank * each;
  return {first,
          first < n ? min(each, n - first) : 0,
          numbers,
          numbers + each,
          numbers + 2 * each,
          words,
          words + each,
          words + 2 * each};
}

// Lowers the distances of a thread's open columns by way of a row, and returns the nearest.
__device__ place relax(const columns_of_block& own, const double* costs, std::uint32_t row, double shift) {
  place nearest{nowhere, nobody};
  for (std::uint32_t k = threadIdx.x; k < own.count; k += path_threads) {
    const double cost = __ldg(costs + k);
    if (own.closed[k] != 0) continue;
    const double reached = cost - own.potentials[k] + shift;
    if (reached < own.distances[k]) {
      own.distances[k] = reached;
      own.predecessors[k] = row;
    }
    const place here{own.distances[k], (own.first + k) | (own.owners[k] == nobody ? 0 : assigned_bit)};
    if (is_nearer(here, nearest)) nearest = here;
  }
  return nearest;
}

__device__ void search_all(const path_state& state, std::uint32_t each, unsigned char* memory) {
  __shared__ place of_warps[path_warps];
  __shared__ waypoint of_blocks[2][path_blocks];  // a step writes one half while the other may still be read
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank();
  const unsigned t = threadIdx.x;
  const columns_of_block own = place_columns(memory, each, rank, state.n);
  const auto row_of = [&](std::uint32_t row) {
    return state.costs + static_cast<std::size_t>(row) * state.n + own.first;
  };
  for (std::uint32_t k = t; k < own.count; k += path_threads) {
    const std::uint32_t row = state.owners[own.first + k];
    own.potentials[k] = state.potentials[own.first + k];
    own.owners[k] = row;
    own.pairs[k] = row == nobody ? 0 : row_of(row)[k] - own.potentials[k];
    own.distances[k] = nowhere;
    own.closed[k] = 0;
  }
  __syncthreads();
  unsigned long long steps = 0;
  std::uint32_t done = 0;
  for (; done < state.count && steps < state.most_steps; ++done) {
    const std::uint32_t free_row = state.rows[done];
    std::uint32_t row = free_row;
    double shift = 0;
    double reach = -nowhere;
    waypoint next;
    for (;;) {
      place nearest = nearest_of_warp(relax(own, row_of(row), row, shift));
      if (t % 32 == 0) of_warps[t / 32] = nearest;
      __syncthreads();
      waypoint* const half = of_blocks[steps % 2];
      if (t < 32) {
        nearest = nearest_of_warp(of_warps[t]);
        if (t < path_blocks) {
          waypoint best{nearest, nobody, 0};
          if (nearest.distance < nowhere) {
            const std::uint32_t k = (nearest.column & ~assigned_bit) - own.first;
            best.owner = own.owners[k];
            best.pair = own.pairs[k];
          }
          *cluster.map_shared_rank(half + rank, t) = best;
        }
      }
      cluster.sync();
      next = half[0];
      for (unsigned b = 1; b < path_blocks; ++b) {
        if (is_nearer(half[b].at, next.at)) next = half[b];
      }
      ++steps;
      if (!(next.at.distance < nowhere)) break;
      reach = fmax(reach, next.at.distance);
      if (next.owner == nobody) break;
      const std::uint32_t k = (next.at.column & ~assigned_bit) - own.first;
      if (k < own.count && k % path_threads == t) {
        own.closed[k] = 1;
        own.distances[k] = reach;
      }
      row = next.owner;
      shift = reach - next.pair;
    }
    if (!(next.at.distance < nowhere)) break;
    // Pairs along the path are exchanged; one thread goes back over it.
    const std::uint32_t last = next.at.column & ~assigned_bit;
    if (rank == 0 && t == 0) {
      for (std::uint32_t column = last;;) {
        const std::uint32_t through = *cluster.map_shared_rank(own.predecessors + column % each, column / each);
        *cluster.map_shared_rank(own.owners + column % each, column / each) = through;
        const std::uint32_t before = state.column_of_row[through];
        state.column_of_row[through] = column;
        if (through == free_row) break;
        column = before;
      }
    }
    cluster.sync();
    for (std::uint32_t k = t; k < own.count; k += path_threads) {
      if (own.closed[k] != 0) own.potentials[k] += own.distances[k] - reach;
      if (own.closed[k] != 0 || own.first + k == last) own.pairs[k] = row_of(own.owners[k])[k] - own.potentials[k];
      own.closed[k] = 0;
      own.distances[k] = nowhere;
    }
    __syncthreads();
  }
  for (std::uint32_t k = t; k < own.count; k += path_threads) {
    state.potentials[own.first + k] = own.potentials[k];
    state.owners[own.first + k] = own.owners[k];
  }
  if (rank == 0 && t == 0) *state.progress = {steps, done};
  cluster.sync();  // nobody leaves while others read its memory
}

#endif

__global__ void __launch_bounds__(path_threads, 1) augment_kernel(path_state state, std::uint32_t each) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  extern __shared__ __align__(16) unsigned char memory[];
  search_all(state, each, memory);
#endif
}

}  // namespace

bool can_augment(std::size_t n) {
  using shoal::cuda::check;
  int device = 0, clusters = 0, most_bytes = 0;
  check(cudaGetDevice(&device), "name its device");
  check(cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, device), "say whether it has clusters");
  check(cudaDeviceGetAttribute(&most_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "say how much shared memory a block may have");
  constexpr std::size_t fixed_bytes = 2048;
  return clusters != 0 &&
         (n + path_blocks - 1) / path_blocks * bytes_of_column + fixed_bytes <= static_cast<std::size_t>(most_bytes);
}

void augment(const path_state& state, cudaStream_t stream) {
  using shoal::cuda::check;
  const std::uint32_t each = (state.n + path_blocks - 1) / path_blocks;
  const std::size_t bytes = each * bytes_of_column;
  check(cudaFuncSetAttribute(augment_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "give a block its shared memory");
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = path_blocks;
  cluster.val.clusterDim.y = 1;
  cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t launch{};
  launch.gridDim = dim3(path_blocks);
  launch.blockDim = dim3(path_threads);
  launch.dynamicSmemBytes = bytes;
  launch.stream = stream;
  launch.attrs = &cluster;
  launch.numAttrs = 1;
  check(cudaLaunchKernelEx(&launch, augment_kernel, state, each), "search for augmenting paths");
}

}  // namespace shoal::assignment::cuda
