// Which unit matches a row best, and what the row adds to the statistics. A warp takes a row.
#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/som/cuda/settle_lists.hpp>
#include <shoal/som/cuda/settle_row.cuh>
#include <shoal/som/cuda/settle_short_rows.hpp>

namespace shoal::som {
namespace {

template <class Scalar, metric Metric, score_kind Scores, bool Two>
__global__ void __launch_bounds__(32 * warps) settle_kernel(settle_arguments<Scalar> in) {
  cuda::wait_for_predecessor();
  __shared__ Scalar all_staged[warps][staged_columns];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, columns = in.units.columns;
  // Units are found before for wide rows alone.
  row_terms<Scalar, Metric, Scores == score_kind::found> terms(in, lane);
  // All rows, or those that a search could not decide.
  const doubtful_rows& doubtful = in.rows.doubtful;
  const int count = doubtful.list == nullptr ? in.rows.count : static_cast<int>(doubtful.counts[1]);
  for (int turn = static_cast<int>(blockIdx.x) * warps + warp; turn < count;
       turn += static_cast<int>(gridDim.x) * warps) {
    const int i = doubtful.list == nullptr ? turn : doubtful.list[doubtful.capacity - 1 - turn].x;
    const Scalar* const row = in.rows.rows + static_cast<std::size_t>(i) * columns;
    Scalar* const staged = columns <= staged_columns ? all_staged[warp] : nullptr;
    bool zero = true;
    // Of units that were found, the distances of the cosine alone need it.
    constexpr bool without_norm = Scores == score_kind::found && Metric == metric::euclidean;
    const double norm = without_norm ? 0.0 : norm_of_row<Metric>(in, row, staged, lane, zero);
    const bool alike = Metric == metric::cosine && zero;  // every unit is at distance 1
    best_two best;
    if constexpr (Scores == score_kind::found) {
      best.first_unit = alike ? 0 : in.rows.found[i];
    } else {
      best = row_task<Scalar, Metric, Scores>{in, row, staged, lane}.template find<Two>(i, norm, alike);
    }
    terms.add(i, best.first_unit, norm);
    if constexpr (Two) terms.add_torn(i, best);
  }
  terms.finish();
}

template <class Scalar, metric Metric, score_kind Scores>
void launch(const settle_arguments<Scalar>& in, std::size_t multiprocessors, cudaStream_t stream) {
  // Few rows are in doubt.
  const std::size_t most_blocks = (in.rows.doubtful.list == nullptr ? 16 : 2) * multiprocessors;
  const std::size_t blocks =
      std::min<std::size_t>((static_cast<std::size_t>(in.rows.count) + warps - 1) / warps, most_blocks);
  auto kernel = settle_kernel<Scalar, Metric, Scores, false>;
  if constexpr (Scores == score_kind::products || Scores == score_kind::plain) {
    if (in.to.shape != nullptr) kernel = settle_kernel<Scalar, Metric, Scores, true>;
  }
  cuda::launch_in_turn(kernel, static_cast<unsigned>(blocks), 32 * warps, 0, stream, in);
}

// Tensor cores find units by the Euclidean metric and by the cosine.
template <class Scalar, metric Metric>
void launch_scores(const settle_arguments<Scalar>& in, score_kind scores, std::size_t multiprocessors,
                   cudaStream_t stream) {
  if constexpr (Metric == metric::euclidean || Metric == metric::cosine) {
    if (scores == score_kind::proved) return settle_doubtful(in.rows, in.units, in.to, multiprocessors, stream);
    if (scores == score_kind::lists) return settle_lists(in.rows, in.units, in.to, multiprocessors, stream);
    if (scores == score_kind::none) return settle_short_rows(in.rows, in.units, in.to, multiprocessors, stream);
    if constexpr (sizeof(Scalar) == 4) {
      if (scores == score_kind::products) {
        return launch<Scalar, Metric, score_kind::products>(in, multiprocessors, stream);
      }
      if (scores == score_kind::found) return launch<Scalar, Metric, score_kind::found>(in, multiprocessors, stream);
    }
  }
  launch<Scalar, Metric, score_kind::plain>(in, multiprocessors, stream);
}

template <class Scalar>
__global__ void read_kernel(fixed_sums sums, device_units<Scalar> units, double* statistics) {
  cuda::wait_for_predecessor();
  const std::size_t places = static_cast<std::size_t>(units.columns) + 1;
  const std::size_t count = static_cast<std::size_t>(units.units) * places;
  const double rest_scale = 1 / sums.rest_scale;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x) {
    const long long rest = sums.rest[i];
    const double sum = static_cast<double>(sums.whole[i]) + static_cast<double>(rest) * rest_scale;
    statistics[i] = sum / sums.scale[i % places];
    sums.whole[i] = 0;
    if (rest != 0) sums.rest[i] = 0;  // which nearly all are
  }
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  const double error = static_cast<double>(sums.error[0]) + static_cast<double>(sums.error[1]) * rest_scale;
  statistics[count] = error / error_scale(sums, bound_of(units.bounds->norm));
  const double torn = static_cast<double>(sums.torn[0]) + static_cast<double>(sums.torn[1]) * rest_scale;
  statistics[count + 1] = torn / sums.scale[units.columns];
  sums.error[0] = sums.error[1] = sums.torn[0] = sums.torn[1] = 0;
  *units.bounds = {};
}

}  // namespace

template <class Scalar>
void settle(const searched_rows<Scalar>& rows, const device_units<Scalar>& units, score_kind scores,
            const settled_rows& to, std::size_t multiprocessors, cudaStream_t stream) {
  settle_arguments<Scalar> in{rows, units, to, {}, {}};
  if (to.sums != nullptr) in.sums = *to.sums;
  if (to.shape != nullptr) in.shape = *to.shape;
  switch (units.metric) {
    case metric::euclidean:
      return launch_scores<Scalar, metric::euclidean>(in, scores, multiprocessors, stream);
    case metric::taxicab:
      return launch_scores<Scalar, metric::taxicab>(in, scores, multiprocessors, stream);
    case metric::cosine:
      return launch_scores<Scalar, metric::cosine>(in, scores, multiprocessors, stream);
    case metric::chebyshev:
      return launch_scores<Scalar, metric::chebyshev>(in, scores, multiprocessors, stream);
  }
}
template void settle(const searched_rows<float>&, const device_units<float>&, score_kind, const settled_rows&,
                     std::size_t, cudaStream_t);
template void settle(const searched_rows<double>&, const device_units<double>&, score_kind, const settled_rows&,
                     std::size_t, cudaStream_t);

template <class Scalar>
void read_sums(const fixed_sums& sums, const device_units<Scalar>& units, double* statistics, cudaStream_t stream) {
  constexpr std::size_t threads = 256;
  const std::size_t count = static_cast<std::size_t>(units.units) * (static_cast<std::size_t>(units.columns) + 1);
  cuda::launch_in_turn(read_kernel<Scalar>, static_cast<unsigned>((count + threads - 1) / threads), threads, 0, stream,
                       sums, units, statistics);
}
template void read_sums(const fixed_sums&, const device_units<float>&, double*, cudaStream_t);
template void read_sums(const fixed_sums&, const device_units<double>&, double*, cudaStream_t);

}  // namespace shoal::som
