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

// Rows that were kept because they are far from all kept before.
std::vector<double> choose_candidates(seeding_passes& passes, const seeding_request& request,
                                      const seeding_report& report) {
  std::vector<double> points, kept;
  const auto add = [&] {
    passes.add(kept);
    points.insert(points.end(), kept.begin(), kept.end());
  };
  const std::size_t first =
      passes.draw_by_weight(random::uniform_at(request.seed, seeding_stream(request, seeding_use::first_row), 0));
  passes.append_rows({&first, 1}, kept);
  for (std::size_t round = 0; round < rounds; ++round) {
    add();
    const double total = total_of(passes.masses_by_unit());
    kept.clear();
    if (!(total > 0) || !(total * 0 == 0)) break;
    const double rate = oversampling * static_cast<double>(request.clusters) / total;
    const std::uint64_t stream = seeding_stream(request, seeding_use::oversample, round);
    passes.append_rows(passes.sample(request.seed, stream, rate), kept);
    report(round + 1, rounds + 1);
  }
  add();
  return points;
}

}  // namespace

template <class Scalar>
std::vector<double> seed_parallel(const fold_context& context, const weighted_rows<Scalar>& data,
                                  const data_summary& summary, const seeding_request& request,
                                  const make_passes& make) {
  const seeding_report report = seeding_report_of(context, data.rows->rows(), data.rows->columns(), request.clusters);
  {
    const std::unique_ptr<seeding_passes> passes = make ? make() : make_host_passes(context, data, summary);
    const std::vector<double> candidates = choose_candidates(*passes, request, report);
    const std::size_t count = candidates.size() / passes->columns();
    if (count >= request.clusters) {
      const std::vector<double> weights = passes->weights_by_point();
      const view_source<double> rows({candidates.data(), count, passes->columns()});
      const view_source<double> row_weights({weights.data(), count, 1});
      seeding_request among = request;
      among.stream = seeding_stream(request, seeding_use::candidates);
      const weighted_rows<double> weighted{&rows, &row_weights, 1};
      const seeding_report steps = seeding_report_of(context, count, passes->columns(), request.clusters);
      std::optional<plus_plus_result> chosen = passes->run_among(weighted, among, steps);
      if (!chosen) {
        // Few candidates are measured sooner than threads wake, and the result is the same for any number of them.
        const std::unique_ptr<executor> alone = make_sequential();
        fold_context small = context;
        if (candidates.size() < parallel_elements) small.workers = alone.get();
        small.ranks = nullptr;  // all ranks have all candidates
        chosen = run_plus_plus(*make_host_passes(small, weighted, summary), among, steps);
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
