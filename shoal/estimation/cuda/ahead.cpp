#include <shoal/estimation/cuda/ahead.hpp>

#include <limits>
#include <optional>
#include <vector>

#include <shoal/estimation/cuda/ahead_draws.hpp>
#include <shoal/estimation/cuda/ahead_measures.hpp>
#include <shoal/estimation/cuda/ahead_rows.hpp>
#include <shoal/estimation/cuda/ahead_steps.hpp>
#include <shoal/estimation/cuda/coarse_buffers.hpp>
#include <shoal/estimation/cuda/coarse_kernels.hpp>
#include <shoal/estimation/cuda/coarse_places.hpp>
#include <shoal/estimation/cuda/device_parts.hpp>
#include <shoal/estimation/cuda/seeding_kernels.hpp>

namespace shoal {
namespace {

// A list has room for so many times the rows that a point of the first of these steps is expected to be nearest to.
constexpr std::size_t usual_lists = 3;

}  // namespace

template <class Scalar, class Work>
bool choose_ahead(const cuda::gpu& device, const cuda::device_piece<Scalar>& rows, const double* weights,
                  const data_summary& summary, std::size_t columns, const greedy_draws& draws, plus_plus_result& chosen,
                  const seeding_report& report) {
  const bool coarsely = columns >= least_coarse_ahead_columns;
  if (draws.trials > most_ahead_trials || (coarsely && columns > most_coarse_columns) ||
      rows.count > std::numeric_limits<unsigned>::max())
    return false;
  const cuda::device_scope scope(device.device);
  ahead_rows<Scalar, Work> of{};
  of.rows = rows.rows;
  of.weights = rows.weights;
  of.wide_weights = weights;
  of.count = rows.count;
  of.columns = static_cast<unsigned>(columns);
  of.clusters = static_cast<unsigned>(draws.clusters);
  of.trials = static_cast<unsigned>(draws.trials);
  of.drawn = static_cast<unsigned>(draws.ahead());
  of.draws = draws;
  of.tiles = static_cast<unsigned>((rows.count + ahead_tile - 1) / ahead_tile);
  of.step_room = (device.shared_bytes - own_step_bytes) / 16 * 16;
  of.shares = ahead_shares<Scalar, Work>(rows.count, of.step_room);
  of.share_rows = (of.tiles + of.shares - 1) / of.shares * ahead_tile;
  of.capacity = static_cast<unsigned>(usual_lists * of.share_rows / first_step_ahead) + 64;
  const std::size_t padded = std::size_t{of.tiles} * ahead_tile, lists = std::size_t{of.drawn} * of.shares;

  device_parts parts;
  const std::size_t least_at = parts.add<Work>(rows.count), tiles_at = parts.add<double>(of.tiles),
                    first_at = parts.add<Work>(chosen.points.size()),
                    drawn_at = parts.add<unsigned long long>(of.drawn), thresholds_at = parts.add<double>(of.drawn),
                    now_at = parts.add<double>(of.drawn), points_at = parts.add<Work>(of.drawn * columns),
                    pairs_at = parts.add<Work>(std::size_t{of.drawn} * of.drawn),
                    counts_at = parts.add<unsigned>(lists), hits_at = parts.add<ahead_hit<Work>>(lists * of.capacity),
                    state_at = parts.add<ahead_state>(1), chosen_at = parts.add<unsigned long long>(draws.clusters),
                    values_at = parts.add<double>(draws.clusters * columns);
  const coarse_places rows_at(parts, coarsely ? padded : 0, columns);
  const coarse_places drawn_coarse_at(parts, coarsely ? of.drawn : 0, columns);
  if (!has_room(parts.bytes())) return false;
  parts.allocate();
  cudaStream_t stream = device.compute;
  of.least = parts.at<Work>(least_at);
  of.tile_masses = parts.at<double>(tiles_at);
  of.drawn_rows = parts.at<unsigned long long>(drawn_at);
  of.thresholds = parts.at<double>(thresholds_at);
  of.now = parts.at<double>(now_at);
  of.points = parts.at<Work>(points_at);
  of.pairs = parts.at<Work>(pairs_at);
  of.hit_counts = parts.at<unsigned>(counts_at);
  of.hits = parts.at<ahead_hit<Work>>(hits_at);
  of.state = parts.at<ahead_state>(state_at);
  of.chosen = parts.at<unsigned long long>(chosen_at);
  std::optional<coarse_frame> frame;
  if (coarsely) {
    frame.emplace(summary, stream);
    of.scale = frame->scale();
    of.coarse = rows_at.in(parts, rows.count, columns);
    of.coarse_points = drawn_coarse_at.in(parts, of.drawn, columns);
    coarsen(rows.rows, frame->scale(), of.coarse, padded, stream);
  }

  const auto copy = [&](void* to, const auto& values) {
    cuda::check(cudaMemcpyAsync(to, values.data(), values.size() * sizeof(values[0]), cudaMemcpyHostToDevice, stream),
                "copy to the device");
  };
  const std::vector<Work> first(chosen.points.begin(), chosen.points.end());
  const std::vector<unsigned long long> indices(chosen.rows.begin(), chosen.rows.end());
  std::vector<ahead_state> state(1);
  state[0].chosen = static_cast<unsigned>(chosen.rows.size());
  state[0].exhausted = 1;
  copy(parts.at<Work>(first_at), first);
  copy(of.chosen, indices);
  copy(of.state, state);
  begin_least(of.least, nullptr, rows.count, stream);
  apply_points(rows, columns, parts.at<Work>(first_at), chosen.rows.size(), 0, of.least, nullptr, stream);

  while (state[0].ended == 0) {
    // As many rounds as are expected, and one: thinning may end some of them early.
    const std::size_t rounds = (draws.clusters - state[0].chosen + steps_drawn_ahead - 1) / steps_drawn_ahead + 1;
    for (std::size_t round = 0; round < rounds; ++round) {
      draw_ahead(of, stream);
      measure_ahead(of, device.multiprocessors, stream);
      step_ahead(of, stream);
    }
    cuda::check(cudaMemcpyAsync(state.data(), of.state, sizeof(ahead_state), cudaMemcpyDeviceToHost, stream),
                "copy from the device");
    device.compute.synchronize();
    report(state[0].chosen, draws.clusters);
  }
  const std::size_t count = state[0].chosen;
  double* const values = parts.at<double>(values_at);
  static_assert(sizeof(std::size_t) == sizeof(unsigned long long));
  gather_points(rows, columns, reinterpret_cast<const std::size_t*>(of.chosen), count, values, stream);
  chosen.rows.resize(count);
  chosen.points.resize(count * columns);
  const auto fetch = [&](auto& into, const void* from) {
    cuda::check(cudaMemcpyAsync(into.data(), from, into.size() * sizeof(into[0]), cudaMemcpyDeviceToHost, stream),
                "copy from the device");
  };
  fetch(chosen.rows, of.chosen);
  fetch(chosen.points, values);
  device.compute.synchronize();
  chosen.ran_out = count < draws.clusters;
  return true;
}

template bool choose_ahead<float, float>(const cuda::gpu&, const cuda::device_piece<float>&, const double*,
                                         const data_summary&, std::size_t, const greedy_draws&, plus_plus_result&,
                                         const seeding_report&);
template bool choose_ahead<float, double>(const cuda::gpu&, const cuda::device_piece<float>&, const double*,
                                          const data_summary&, std::size_t, const greedy_draws&, plus_plus_result&,
                                          const seeding_report&);
template bool choose_ahead<double, double>(const cuda::gpu&, const cuda::device_piece<double>&, const double*,
                                           const data_summary&, std::size_t, const greedy_draws&, plus_plus_result&,
                                           const seeding_report&);

}  // namespace shoal
