#include <shoal/estimation/seeding.hpp>

#include <memory>
#include <optional>
#include <utility>

#include <shoal/estimation/host_seeding.hpp>
#include <shoal/estimation/seed_draw.hpp>

namespace shoal {
namespace {

constexpr std::size_t rounds = 5;
constexpr std::size_t parallel_elements = std::size_t{1} << 17;  // of candidates that are worth several threads
constexpr double oversampling = 2;                               // rows kept a round, as a multiple of K

// Rows that were kept because they are far from all kept before: what choose_in_rounds() chooses, a pass at a time.
weighted_points choose_by_passes(seeding_passes& passes, const round_draws& draws, const seeding_report& report) {
  weighted_points all;
  std::vector<double> kept;
  const auto add = [&] {
    passes.add(kept);
    all.points.insert(all.points.end(), kept.begin(), kept.end());
  };
  passes.append_rows({&draws.first, 1}, kept);
  for (std::size_t round = 0; round < draws.rounds; ++round) {
    add();
    const double total = total_of(passes.masses_by_unit());
    kept.clear();
    if (!(total > 0) || !(total * 0 == 0)) break;
    passes.append_rows(passes.sample(draws.seed, draws.stream(round), draws.expected / total), kept);
    report(round + 1, draws.rounds + 1);
  }
  add();
  all.weights = passes.weights_by_point();
  return all;
}

weighted_points choose_candidates(seeding_passes& passes, const seeding_request& request,
                                  const seeding_report& report) {
  const round_draws draws{
      rounds, oversampling * static_cast<double>(request.clusters), passes.draw_by_weight(first_draw(request)),
      request.seed, [request](std::size_t round) { return seeding_stream(request, seeding_use::oversample, round); }};
  if (std::optional<weighted_points> chosen = passes.choose_in_rounds(draws)) {
    report(rounds, rounds + 1);
    return *std::move(chosen);
  }
  return choose_by_passes(passes, draws, report);
}

}  // namespace

template <class Scalar>
std::vector<double> seed_parallel(const fold_context& context, const weighted_rows<Scalar>& data,
                                  const data_summary& summary, const seeding_request& request,
                                  const make_passes& make) {
  const seeding_report report = seeding_report_of(context, data.rows->rows(), data.rows->columns(), request.clusters);
  {
    const std::unique_ptr<seeding_passes> passes = make ? make() : make_host_passes(context, data, summary);
    const weighted_points candidates = choose_candidates(*passes, request, report);
    const std::size_t count = candidates.weights.size();
    if (count >= request.clusters) {
      const view_source<double> points({candidates.points.data(), count, passes->columns()});
      const row_source<double>& rows = candidates.rows != nullptr ? *candidates.rows : points;
      const view_source<double> row_weights({candidates.weights.data(), count, 1});
      seeding_request among = request;
      among.stream = seeding_stream(request, seeding_use::candidates);
      const weighted_rows<double> weighted{&rows, &row_weights, 1};
      const seeding_report steps = seeding_report_of(context, count, passes->columns(), request.clusters);
      std::optional<plus_plus_result> chosen = passes->run_among(weighted, among, steps);
      if (!chosen) {
        // Few candidates are measured sooner than threads wake, and the result is the same for any number of them.
        const std::unique_ptr<executor> alone = make_sequential();
        fold_context small = context;
        if (count * passes->columns() < parallel_elements) small.workers = alone.get();
        small.ranks = nullptr;  // all ranks have all candidates
        aligned_buffer<double> buffer;
        const view_source<double> here(rows.read(0, count, buffer));
        const weighted_rows<double> on_host{&here, &row_weights, 1};
        chosen = run_plus_plus(*make_host_passes(small, on_host, summary), among, steps);
      }
      report(rounds + 1, rounds + 1);
      if (!chosen->ran_out) return std::move(chosen->points);
    }
  }
  // Too few distinct candidates: the data are small or nearly all alike, and k-means++ sees every row of them.
  return seed_plus_plus(context, data, summary, request, make);
}

template std::vector<double> seed_parallel(const fold_context&, const weighted_rows<float>&, const data_summary&,
                                           const seeding_request&, const make_passes&);
template std::vector<double> seed_parallel(const fold_context&, const weighted_rows<double>&, const data_summary&,
                                           const seeding_request&, const make_passes&);

}  // namespace shoal
