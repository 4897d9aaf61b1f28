// Where clusters of blocks choose (cluster_rows.cuh): how they share the rows, and their launch.
#include <cuda_runtime.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <shoal/estimation/cuda/cluster_kernel.hpp>
#include <shoal/execution/cuda/check.hpp>

namespace shoal {
namespace {

template <class Scalar, class Work>
cluster_kernel<Scalar, Work> kernel_of(const few_rows<Scalar, Work>& of, const cluster_rows_cut& cut) {
  switch (cut.how) {
    case cluster_measure::bytes:
      return cluster_kernel_of<cluster_measure::bytes>(of, cut);
    case cluster_measure::pairs:
      return cluster_kernel_of<cluster_measure::pairs>(of, cut);
    case cluster_measure::columns:
      break;
  }
  return cluster_kernel_of<cluster_measure::columns>(of, cut);
}

// A launch by clusters; it keeps pointers to itself.
struct clusters_launch {
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t configuration{};

  clusters_launch(const cluster_rows_cut& cut, std::size_t bytes, cudaStream_t stream) {
    configuration.gridDim = dim3(cut.clusters * cluster_blocks);
    configuration.blockDim = dim3(cut.threads);
    configuration.dynamicSmemBytes = bytes;
    configuration.stream = stream;
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim = {cluster_blocks, 1, 1};
    // Clusters that wait for each other begin all at once, or none.
    attributes[1].id = cudaLaunchAttributeCooperative;
    attributes[1].val.cooperative = 1;
    configuration.attrs = attributes;
    configuration.numAttrs = cut.clusters > 1 ? 2 : 1;
  }
  clusters_launch(const clusters_launch&) = delete;
};

template <class Scalar, class Work>
void prepare(const cluster_kernel<Scalar, Work>& of) {
  cuda::check(cudaFuncSetAttribute(of.kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
              "allow large clusters");
  cuda::check(cudaFuncSetAttribute(of.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(of.bytes)),
              "give a kernel shared memory");
}

template <class Scalar, class Work>
bool can_run(const few_rows<Scalar, Work>& rows, const cluster_rows_cut& cut, std::size_t most_shared_bytes) {
  const cluster_kernel<Scalar, Work> of = kernel_of(rows, cut);
  if (of.bytes > most_shared_bytes) return false;
  prepare(of);
  const clusters_launch launch(cut, of.bytes, nullptr);
  int running = 0;
  if (cudaOccupancyMaxActiveClusters(&running, of.kernel, &launch.configuration) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  return static_cast<unsigned>(running) >= cut.clusters;
}

template <class Scalar, class Work>
cluster_rows_cut cut_into(const few_rows<Scalar, Work>& rows, cluster_measure how, unsigned clusters) {
  const std::size_t blocks = std::size_t{clusters} * cluster_blocks, each = (rows.count + blocks - 1) / blocks;
  cluster_rows_cut cut;
  cut.clusters = clusters;
  cut.how = how;
  cut.block_rows = static_cast<unsigned>((each + 31) / 32 * 32);
  // As many warps as go through their parts in the fewest rounds.
  const std::size_t parts = how == cluster_measure::bytes ? 1 : (rows.trials + trials_together - 1) / trials_together;
  const auto items = static_cast<unsigned>(cut.block_rows / 32 * parts);
  const unsigned rounds = (items + most_cluster_threads / 32 - 1) / (most_cluster_threads / 32);
  cut.threads = std::max(least_cluster_threads, (items + rounds - 1) / rounds * 32);
  return cut;
}

// Cycles of a step as far as they differ, on an H200: what a block issues, or reads of its shared memory, to measure,
// and that clusters tell each other through memory.
template <class Scalar, class Work>
double cost_of(const few_rows<Scalar, Work>& rows, const cluster_rows_cut& cut) {
  const double row_warps = cut.block_rows / 32, parts = (rows.trials + trials_together - 1) / trials_together;
  const double several = cut.clusters > 1 ? 3300 : 0;
  if (cut.how == cluster_measure::pairs) return row_warps * parts * 30;
  if (cut.how == cluster_measure::bytes) {
    return row_warps * (rows.columns * 4 + 140) + 1500 + several + (cut.whole_rows ? 0 : 500);
  }
  return row_warps * parts * (rows.columns * (sizeof(Scalar) == 4 ? 5.5 : 10) + 30) + several;
}

}  // namespace

template <class Scalar, class Work>
cluster_rows_cut cut_into_clusters(const few_rows<Scalar, Work>& rows, const cluster_measures& can_be,
                                   std::size_t most_shared_bytes) {
  int device = 0, has_clusters = 0;
  cuda::check(cudaGetDevice(&device), "name the current device");
  cuda::check(cudaDeviceGetAttribute(&has_clusters, cudaDevAttrClusterLaunch, device), "say whether it has clusters");
  if (has_clusters == 0) return {};
  if (rows.trials > most_cluster_trials) return {};
  std::vector<std::pair<double, cluster_rows_cut>> cuts;
  const auto consider = [&](const cluster_rows_cut& cut) {
    if (cut.block_rows <= most_cluster_rows) cuts.emplace_back(cost_of(rows, cut), cut);
  };
  if (can_be.pairs) consider(cut_into(rows, cluster_measure::pairs, 1));
  for (unsigned clusters = 1; clusters <= most_clusters; ++clusters) {
    consider(cut_into(rows, cluster_measure::columns, clusters));
    if (!can_be.bytes) continue;
    cluster_rows_cut coarse = cut_into(rows, cluster_measure::bytes, clusters);
    consider(coarse);
    coarse.whole_rows = true;
    consider(coarse);
  }
  // It takes a while to ask, so the best is asked for first.
  std::stable_sort(cuts.begin(), cuts.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [cost, cut] : cuts) {
    if (can_run(rows, cut, most_shared_bytes)) return cut;
  }
  return {};
}

std::size_t cluster_sum_words(const cluster_rows_cut& cut, std::size_t clusters, std::size_t trials) {
  return cut.clusters > 1 ? clusters * cluster_blocks * trials * rank_words : 0;
}

template <class Scalar, class Work>
void choose_in_clusters(const few_rows<Scalar, Work>& rows, const cluster_rows_cut& cut, cudaStream_t stream) {
  const cluster_kernel<Scalar, Work> of = kernel_of(rows, cut);
  prepare(of);
  const clusters_launch how(cut, of.bytes, stream);
  cuda::check(cudaLaunchKernelEx(&how.configuration, of.kernel, rows, cut), "choose in clusters");
}

#define SHOAL_INSTANTIATE(Scalar, Work)                                                                             \
  template cluster_rows_cut cut_into_clusters(const few_rows<Scalar, Work>&, const cluster_measures&, std::size_t); \
  template void choose_in_clusters(const few_rows<Scalar, Work>&, const cluster_rows_cut&, cudaStream_t);
SHOAL_INSTANTIATE(float, float)
SHOAL_INSTANTIATE(float, double)
SHOAL_INSTANTIATE(double, double)
#undef SHOAL_INSTANTIATE

}  // namespace shoal
