#include <shoal/estimation/cuda/few_rows.hpp>

#include <cstdint>
#include <cstring>
#include <optional>

#include <shoal/estimation/cuda/cluster_rows_kernels.hpp>
#include <shoal/estimation/cuda/coarse_buffers.hpp>
#include <shoal/estimation/cuda/coarse_kernels.hpp>
#include <shoal/estimation/cuda/device_parts.hpp>
#include <shoal/estimation/cuda/few_rows_kernels.hpp>
#include <shoal/estimation/cuda/pair_distances.hpp>
#include <shoal/estimation/cuda/spread_rows_kernels.hpp>
#include <shoal/estimation/draw_groups.hpp>
#include <shoal/execution/cuda/device_group.hpp>
#include <shoal/execution/plan.hpp>

namespace shoal {
namespace {

// Of a kernel beside what it is given, at most.
constexpr std::size_t own_shared_bytes = std::size_t{6} << 10, cluster_own_shared_bytes = std::size_t{16} << 10;
constexpr std::size_t most_said_bytes = std::size_t{512} << 20;  // of what blocks tell each other
constexpr std::size_t most_pair_bytes = std::size_t{128} << 20;  // of distances of all pairs

// Whether all pairs are measured sooner at once than those that steps ask for one after the other: of few columns, and
// in few steps, they save less than so much memory takes to get and to give back.
bool pairs_are_worthwhile(std::size_t rows, std::size_t columns, std::size_t clusters, std::size_t scalar_bytes) {
  constexpr std::size_t least_columns = 16, least_clusters = 64, rows_of_cluster = 32;
  return columns >= least_columns && clusters >= least_clusters && rows <= rows_of_cluster * clusters &&
         rows * rows * scalar_bytes <= most_pair_bytes;
}
// Of fewer columns bytes say of few points that they need not be measured.
constexpr std::size_t least_coarse_columns = 5;

}  // namespace

template <class Scalar, class Work>
plus_plus_result choose_among_few(const cuda::gpu& device, const cuda::device_piece<Scalar>& rows,
                                  const double* weights, const data_summary* summary, std::size_t columns,
                                  const greedy_draws& draws, const seeding_report& report) {
  if (draws.trials > most_few_trials || columns > device.shared_bytes) return {};
  const std::size_t units = (rows.count + block_rows - 1) / block_rows, steps = draws.clusters * draws.trials;
  few_rows<Scalar, Work> few{};
  few.rows = rows.rows;
  few.weights = rows.weights;
  few.wide_weights = weights;
  few.count = rows.count;
  few.columns = static_cast<unsigned>(columns);
  few.units = static_cast<unsigned>(units);
  few.clusters = static_cast<unsigned>(draws.clusters);
  few.trials = static_cast<unsigned>(draws.trials);
  few.first = draws.first;
  const cuda::device_scope scope(device.device);
  const bool coarse = summary != nullptr && columns >= least_coarse_columns && columns <= most_coarse_columns;
  few.coarse.pitch = coarse_buffers::pitch(columns);
  const cluster_rows_cut clusters =
      cut_into_clusters(few, {coarse, pairs_are_worthwhile(rows.count, columns, draws.clusters, sizeof(Work))},
                        device.shared_bytes - cluster_own_shared_bytes);
  // Rows that clusters of blocks cannot hold are shared by all multiprocessors; those that these cannot, by units.
  spread_rows_cut spread;
  few_rows_cut cut;
  const std::size_t most_shared_bytes = device.shared_bytes - own_shared_bytes;
  std::size_t sums = 0, group_sums = cluster_sum_words(clusters, draws.clusters, draws.trials);
  if (clusters.clusters == 0) {
    spread = cut_among_blocks(few, device.multiprocessors, most_shared_bytes);
    group_sums = spread_sum_words(spread, draws.clusters, draws.trials);
  }
  if (clusters.clusters == 0 && spread.blocks == 0) {
    if (units > most_few_units) return {};
    sums = steps * units;
    group_sums = steps * ((units + draw_group - 1) / draw_group);
    cut = cut_at_once(few, device.multiprocessors, most_shared_bytes);
    if (cut.blocks == 0) return {};
  }
  const bool by_bytes = clusters.clusters > 0 && clusters.how == cluster_measure::bytes;
  const bool by_pairs = clusters.clusters > 0 && clusters.how == cluster_measure::pairs;
  const std::size_t said =
      clusters.clusters == 1 ? 0 : sums + group_sums + steps * (clusters.clusters > 0 ? 1 : 1 + columns);
  if (said * sizeof(unsigned long long) > most_said_bytes) return {};

  device_parts parts;
  const std::size_t found = draws.clusters * columns + 1 + draws.clusters;  // words of what is found
  const std::size_t found_at = parts.add<unsigned long long>(found);
  const std::size_t said_at = parts.add<unsigned long long>(said);
  const std::size_t padded = by_bytes ? units * block_rows : 0, pairs = by_pairs ? rows.count * rows.count : 0;
  const std::size_t pairs_at = parts.add<Work>(pairs), values_at = parts.add<std::int8_t>(padded * few.coarse.pitch),
                    bounds_at = parts.add<coarse_bound>(padded), errors_at = parts.add<float>(padded);
  if (!has_room(parts.bytes())) return {};
  parts.allocate();
  cudaStream_t stream = device.compute;
  few.draws = draws;
  few.points = parts.at<double>(found_at);
  few.chosen = parts.at<unsigned long long>(found_at) + draws.clusters * columns;
  few.said_sums = parts.at<unsigned long long>(said_at);
  few.said_groups = few.said_sums + sums;
  few.said_rows = few.said_groups + group_sums;
  if (by_pairs) {
    few.pairs = parts.at<Work>(pairs_at);
    measure_pairs(rows.rows, rows.count, columns, parts.at<Work>(pairs_at), stream);
  }
  std::optional<coarse_frame> frame;
  if (by_bytes) {
    frame.emplace(*summary, stream);
    few.coarse = {rows.count,
                  columns,
                  few.coarse.pitch,
                  parts.at<std::int8_t>(values_at),
                  parts.at<coarse_bound>(bounds_at),
                  parts.at<float>(errors_at)};
    few.unit = frame->scale().unit;
    coarsen(rows.rows, frame->scale(), few.coarse, padded, stream);
  }
  if (said > 0) {
    cuda::check(cudaMemsetAsync(few.said_sums, 0xff, said * sizeof(unsigned long long), stream), "clear device memory");
  }
  if (clusters.clusters > 0) {
    choose_in_clusters(few, clusters, stream);
  } else if (spread.blocks > 0) {
    choose_among_blocks(few, spread, stream);
  } else {
    choose_at_once(few, cut, stream);
  }
  std::vector<unsigned long long> words(found);
  cuda::check(
      cudaMemcpyAsync(words.data(), few.points, found * sizeof(unsigned long long), cudaMemcpyDeviceToHost, stream),
      "copy from the device");
  device.compute.synchronize();
  plus_plus_result chosen;
  const std::size_t count = words[draws.clusters * columns];
  chosen.points.resize(count * columns);
  std::memcpy(chosen.points.data(), words.data(), chosen.points.size() * sizeof(double));
  const auto first = words.end() - static_cast<std::ptrdiff_t>(draws.clusters);
  chosen.rows.assign(first, first + static_cast<std::ptrdiff_t>(count));
  chosen.ran_out = count < draws.clusters;
  report(count, draws.clusters);
  return chosen;
}

template plus_plus_result choose_among_few<float, float>(const cuda::gpu&, const cuda::device_piece<float>&,
                                                         const double*, const data_summary*, std::size_t,
                                                         const greedy_draws&, const seeding_report&);
template plus_plus_result choose_among_few<float, double>(const cuda::gpu&, const cuda::device_piece<float>&,
                                                          const double*, const data_summary*, std::size_t,
                                                          const greedy_draws&, const seeding_report&);
template plus_plus_result choose_among_few<double, double>(const cuda::gpu&, const cuda::device_piece<double>&,
                                                           const double*, const data_summary*, std::size_t,
                                                           const greedy_draws&, const seeding_report&);

}  // namespace shoal
