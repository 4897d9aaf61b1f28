// How rows of few columns are cut for the kernel that labels and sums them in one pass (fold_few.cuh).
#include <cstddef>

#include <shoal/kmeans/cuda/few_layout.hpp>
#include <shoal/kmeans/cuda/kernels.hpp>

namespace shoal::kmeans {
namespace {
// What the kernel has beside what it is given, and what the system keeps.
constexpr std::size_t reserved_bytes = 6 << 10;

struct few_shape {
  std::size_t warps = 0;    // of a block; 0: it has not the memory
  std::size_t sharers = 1;  // threads of a warp that share sums
  std::size_t bytes = 0;
};

few_shape shape_of(std::size_t warps, std::size_t sharers, std::size_t clusters, std::size_t columns,
                   std::size_t scalar_bytes) {
  const int few_columns = static_cast<int>(columns);
  const auto values = static_cast<std::size_t>(few_thread_values(few_columns, scalar_bytes));
  const auto searched = static_cast<std::size_t>(few_searched_bytes(static_cast<int>(clusters), few_columns));
  const std::size_t numbers = clusters * 32 + warps * clusters * values * (32 / sharers);
  return {warps, sharers, searched + numbers * scalar_bytes};
}

// As many warps as there is shared memory for.
few_shape choose_shape(std::size_t clusters, std::size_t columns, std::size_t scalar_bytes, std::size_t shared_bytes) {
  const std::size_t most_sharers = few_row_threads(static_cast<int>(columns), scalar_bytes) == 1 ? 4 : 1;
  for (std::size_t warps = most_few_warps; warps >= least_few_warps; warps -= 4) {
    for (std::size_t sharers = 1; sharers <= most_sharers; sharers *= 2) {
      const few_shape shape = shape_of(warps, sharers, clusters, columns, scalar_bytes);
      if (shape.bytes + reserved_bytes <= shared_bytes) return shape;
    }
  }
  return {};
}

}  // namespace

bool is_few(const summed_rows& summed, std::size_t clusters, std::size_t columns, std::size_t scalar_bytes,
            std::size_t multiprocessors, std::size_t shared_bytes) {
  return columns <= most_one_pass_columns && clusters <= most_one_pass_clusters(columns, scalar_bytes) &&
         summed.shard >= multiprocessors * least_few_rows &&
         choose_shape(clusters, columns, scalar_bytes, shared_bytes).warps > 0;
}

sum_plan make_few_plan(const summed_rows& summed, std::size_t clusters, std::size_t columns, std::size_t scalar_bytes,
                       std::size_t multiprocessors, std::size_t shared_bytes) {
  const few_shape shape = choose_shape(clusters, columns, scalar_bytes, shared_bytes);
  const std::size_t items = clusters * (columns + 1);
  const std::size_t block_doubles =
      items + 1 + shape.warps * (items + few_kept_numbers(clusters, static_cast<int>(columns), scalar_bytes));
  sum_plan plan = one_pass_plan(summed, clusters, columns, multiprocessors, block_doubles, few_block_rows);
  plan.warps = static_cast<int>(shape.warps);
  plan.sharers = static_cast<int>(shape.sharers);
  plan.shared_bytes = shape.bytes;
  return plan;
}

}  // namespace shoal::kmeans
