// How rows of few columns are cut for the kernel that labels and sums them in one pass (fold_few.cuh).
#include <cstddef>

#include <shoal/kmeans/cuda/few_layout.hpp>
#include <shoal/kmeans/cuda/kernels.hpp>

namespace shoal::kmeans {
namespace {

// What the kernel has beside what it is given, and what the system keeps.
constexpr std::size_t reserved_bytes = 6 << 10;

std::size_t bytes_of(std::size_t warps, std::size_t clusters, std::size_t columns, std::size_t scalar_bytes) {
  const auto padded = static_cast<std::size_t>(few_padded(static_cast<int>(clusters)));
  const auto vectors = static_cast<std::size_t>(few_vectors(static_cast<int>(columns)));
  return warps * clusters * 32 * sizeof(double) + padded * vectors * 16 + clusters * 32 * scalar_bytes;
}

// As many as there is shared memory for.
std::size_t warps_for(std::size_t clusters, std::size_t columns, std::size_t scalar_bytes, std::size_t shared_bytes) {
  std::size_t warps = most_few_warps;
  while (warps >= least_few_warps && bytes_of(warps, clusters, columns, scalar_bytes) + reserved_bytes > shared_bytes) {
    warps /= 2;
  }
  return warps >= least_few_warps ? warps : 0;
}

}  // namespace

bool is_few(const summed_rows& summed, std::size_t clusters, std::size_t columns, std::size_t scalar_bytes,
            std::size_t multiprocessors, std::size_t shared_bytes) {
  return columns <= most_one_pass_columns && (columns == 1 || clusters <= most_one_pass_clusters) &&
         summed.shard >= multiprocessors * least_few_rows &&
         warps_for(clusters, columns, scalar_bytes, shared_bytes) > 0;
}

sum_plan make_few_plan(const summed_rows& summed, std::size_t clusters, std::size_t columns, std::size_t scalar_bytes,
                       std::size_t multiprocessors, std::size_t shared_bytes) {
  const std::size_t warps = warps_for(clusters, columns, scalar_bytes, shared_bytes);
  const std::size_t block_doubles = clusters * (columns + 1) + 1 + warps * (clusters + 1) * 32;
  sum_plan plan = one_pass_plan(summed, clusters, columns, multiprocessors, block_doubles, few_block_rows);
  plan.warps = static_cast<int>(warps);
  plan.shared_bytes = bytes_of(warps, clusters, columns, scalar_bytes);
  return plan;
}

}  // namespace shoal::kmeans
