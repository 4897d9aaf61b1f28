#include <shoal/estimation/cuda/rounds.hpp>

#include <algorithm>
#include <cmath>

#include <shoal/estimation/cuda/coarse_buffers.hpp>
#include <shoal/estimation/cuda/coarse_kernels.hpp>
#include <shoal/estimation/cuda/coarse_places.hpp>
#include <shoal/estimation/cuda/device_parts.hpp>
#include <shoal/estimation/cuda/round_kernels.hpp>
#include <shoal/execution/plan.hpp>

namespace shoal {
namespace {

// Rows that a round may keep: beyond any number that chance brings where so many are expected at most.
std::size_t most_kept(double expected) { return static_cast<std::size_t>(expected + 8 * std::sqrt(expected)) + 32; }

std::size_t whole(std::size_t count, std::size_t unit) { return (count + unit - 1) / unit * unit; }

}  // namespace

template <class Scalar, class Work>
std::optional<chosen_in_rounds<Work>> choose_rounds_on_device(const cuda::gpu& device,
                                                              const cuda::device_piece<Scalar>& rows,
                                                              const data_summary& summary, double total_weight,
                                                              const round_draws& draws) {
  const std::size_t columns = summary.columns, units = (rows.count + block_rows - 1) / block_rows;
  const auto expected = static_cast<std::size_t>(draws.expected);
  const bool coarsely = measured_coarsely<Work>(expected, columns);
  const std::size_t capacity = std::min(rows.count, most_kept(draws.expected));
  const std::size_t most_points = 1 + draws.rounds * capacity, padded = units * block_rows;
  const std::size_t padded_points = whole(most_points, coarse_unit) + coarse_unit;

  device_parts parts;
  const std::size_t least_at = parts.add<Work>(rows.count), owner_at = parts.add<std::int32_t>(rows.count),
                    sums_at = parts.add<double>(units), kept_at = parts.add<unsigned long long>(capacity),
                    values_at = parts.add<Work>(most_points * columns);
  const coarse_places rows_at(parts, coarsely ? padded : 0, columns);
  // From here on everything is zero at first.
  const std::size_t zeros_at = parts.bytes();
  const coarse_places points_at(parts, coarsely ? padded_points : 0, columns);
  const std::size_t counts_at = parts.add<unsigned long long>(draws.rounds),
                    ranges_at = parts.add<point_range>(draws.rounds + 2), start_at = parts.add<unsigned long long>(2),
                    totals_at = parts.add<unsigned long long>(most_points);
  const cuda::device_scope scope(device.device);
  if (!has_room(parts.bytes())) return {};
  parts.allocate();
  cudaStream_t stream = device.compute;
  cuda::check(cudaMemsetAsync(parts.at<char>(zeros_at), 0, parts.bytes() - zeros_at, stream), "clear device memory");

  Work* const least = parts.at<Work>(least_at);
  std::int32_t* const owner = parts.at<std::int32_t>(owner_at);
  double* const sums = parts.at<double>(sums_at);
  point_range* const ranges = parts.at<point_range>(ranges_at);
  kept_points<Work> points{parts.at<Work>(values_at), {}};
  coarse_rows coarse{};
  std::optional<coarse_frame> frame;
  if (coarsely) {
    frame.emplace(summary, stream);
    coarse = rows_at.in(parts, rows.count, columns);
    points.coarse = points_at.in(parts, most_points, columns);
    coarsen(rows.rows, frame->scale(), coarse, padded, stream);
  }
  begin_least(least, owner, rows.count, stream);
  kept_rows_of_round kept{parts.at<unsigned long long>(kept_at), nullptr, capacity};

  // The first row is as if a round had kept it alone. The range before it has no points.
  unsigned long long* const start = parts.at<unsigned long long>(start_at);
  const unsigned long long first[] = {draws.first, 1};
  cuda::check(cudaMemcpyAsync(start, first, sizeof(first), cudaMemcpyHostToDevice, stream), "copy to the device");
  append_round(rows, columns, coarse, {start, start + 1, 1}, points, ranges, ranges + 1, stream);
  const auto apply = [&](std::size_t round) {
    const point_range* const range = ranges + 1 + round;
    if (round == 0) {
      apply_points(rows, columns, points.values, 1, 0, least, owner, stream);
    } else if (coarsely) {
      apply_points_coarsely(rows.rows, coarse, frame->scale(), points.values, points.coarse, 0, range, least, owner,
                            stream);
    } else {
      apply_range(rows, columns, points.values, range, expected, least, owner, stream);
    }
  };
  for (std::size_t round = 0; round < draws.rounds; ++round) {
    apply(round);
    sum_masses(rows, least, sums, stream);
    kept.count = parts.at<unsigned long long>(counts_at) + round;
    sample_round(rows, least, sums, units, draws.expected, draws.seed, draws.stream(round), kept, stream);
    append_round(rows, columns, coarse, kept, points, ranges + 1 + round, ranges + 2 + round, stream);
  }
  apply(draws.rounds);
  const int exponent = exponent_of_weights(total_weight);
  unsigned long long* const totals = parts.at<unsigned long long>(totals_at);
  add_owner_weights(rows, owner, exponent, most_points, totals, stream);

  std::vector<unsigned long long> found(draws.rounds), of_points(most_points);
  const auto fetch = [&](std::vector<unsigned long long>& words, const void* from) {
    cuda::check(cudaMemcpyAsync(words.data(), from, words.size() * sizeof(words[0]), cudaMemcpyDeviceToHost, stream),
                "copy from the device");
  };
  fetch(found, parts.at<char>(counts_at));
  fetch(of_points, totals);
  device.compute.synchronize();
  std::size_t count = 1;
  for (const unsigned long long some : found) {
    if (some > capacity) return {};
    count += some;
  }
  chosen_in_rounds<Work> chosen;
  for (std::size_t p = 0; p < count; ++p) {
    chosen.weights.push_back(std::ldexp(static_cast<double>(of_points[p]), -exponent));
  }
  chosen.rows = std::make_shared<const device_candidates<Work>>(std::move(parts), points.values, count, columns);
  return chosen;
}

template std::optional<chosen_in_rounds<float>> choose_rounds_on_device<float, float>(const cuda::gpu&,
                                                                                      const cuda::device_piece<float>&,
                                                                                      const data_summary&, double,
                                                                                      const round_draws&);
template std::optional<chosen_in_rounds<double>> choose_rounds_on_device<float, double>(
    const cuda::gpu&, const cuda::device_piece<float>&, const data_summary&, double, const round_draws&);
template std::optional<chosen_in_rounds<double>> choose_rounds_on_device<double, double>(
    const cuda::gpu&, const cuda::device_piece<double>&, const data_summary&, double, const round_draws&);

}  // namespace shoal
