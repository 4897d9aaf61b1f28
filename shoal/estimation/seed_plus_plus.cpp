#include <shoal/estimation/seeding.hpp>

#include <cmath>
#include <limits>
#include <utility>

#include <shoal/estimation/draw_groups.hpp>
#include <shoal/estimation/host_seeding.hpp>
#include <shoal/estimation/seed_draw.hpp>

namespace shoal {
namespace {

std::size_t usual_trials(std::size_t clusters) {
  return 2 + static_cast<std::size_t>(std::log(static_cast<double>(clusters)));
}

double uniform_of(const seeding_request& request, seeding_use use, std::size_t step, std::size_t index) {
  return random::uniform_at(request.seed, seeding_stream(request, use, step), index);
}

// One run. A pass over the rows finds, for each trial, what the sum of masses would be with it, unit by unit; the
// winner's sums are also what the next draw needs, so that each step reads the rows once.
class plus_plus {
 public:
  plus_plus(seeding_passes& passes, const seeding_request& request, const seeding_report& report)
      : passes_(passes), request_(request), report_(report) {}

  plus_plus_result run() {
    const greedy_draws draws = draws_after(request_, passes_.draw_by_weight(first_draw(request_)));
    chosen_ = passes_.choose_greedily(draws, report_);
    chosen_.ran_out = !chosen_.rows.empty() && chosen_.rows.size() < request_.clusters;
    if (chosen_.rows.empty()) keep_best({draws.first});
    for (std::size_t step = chosen_.rows.size(); step < request_.clusters; ++step) {
      std::vector<std::size_t> trials;
      if (!chosen_.ran_out) trials = draw_rows(step, draws.trials);
      if (trials.empty()) {
        // All rows are as good, and one trial will do.
        chosen_.ran_out = true;
        chosen_.rows.push_back(passes_.draw_by_weight(uniform_of(request_, seeding_use::trial, step, 0)));
        passes_.append_rows({&chosen_.rows.back(), 1}, chosen_.points);
      } else {
        keep_best(trials);
      }
      report_(step + 1, request_.clusters);
    }
    return std::move(chosen_);
  }

 private:
  // Rows drawn in proportion to their masses; none when no row has any.
  std::vector<std::size_t> draw_rows(std::size_t step, std::size_t count) {
    const row_units& units = passes_.units();
    std::vector<unit_draw> draws;
    std::vector<std::size_t> drawn;
    for (std::size_t t = 0; t < count; ++t) {
      draws.push_back(draw_unit(units, sums_, uniform_of(request_, seeding_use::trial, step, t)));
      drawn.push_back(draws.back().unit);
    }
    if (drawn.front() == no_unit) return {};
    const std::vector<double> masses = passes_.masses_of_units(drawn);
    std::vector<std::size_t> rows;
    std::span<const double> rest = masses;
    for (const unit_draw& draw : draws) {
      const std::size_t size = units.end_row(draw.unit) - units.first_row(draw.unit);
      const std::size_t row = row_of_draw(units, draw, rest.first(size));
      if (row == no_row) return {};
      rows.push_back(row);
      rest = rest.subspan(size);
    }
    return rows;
  }

  void keep_best(const std::vector<std::size_t>& rows) {
    const std::size_t columns = passes_.columns();
    const std::size_t count = rows.size();
    std::vector<double> trials;
    passes_.append_rows(rows, trials);
    const std::vector<double> masses = passes_.trial_masses_by_unit(trials);
    std::size_t best = 0;
    double least_total = std::numeric_limits<double>::infinity();
    for (std::size_t t = 0; t < count; ++t) {
      const double total = total_of(std::span(masses).subspan(t), count);
      if (total < least_total * share_of_better) {
        least_total = total;
        best = t;
      }
    }
    sums_.resize(passes_.units().count());
    for (std::size_t unit = 0; unit < sums_.size(); ++unit) sums_[unit] = masses[unit * count + best];
    const std::span<const double> kept = std::span(trials).subspan(best * columns, columns);
    passes_.add(kept);
    chosen_.points.insert(chosen_.points.end(), kept.begin(), kept.end());
    chosen_.rows.push_back(rows[best]);
  }

  seeding_passes& passes_;
  const seeding_request& request_;
  const seeding_report& report_;
  plus_plus_result chosen_;
  std::vector<double> sums_;  // by unit, Σ mass with regard to all chosen rows
};

}  // namespace

double first_draw(const seeding_request& request) { return uniform_of(request, seeding_use::first_row, 0, 0); }

greedy_draws draws_after(const seeding_request& request, std::size_t first) {
  return {request.clusters, request.trials > 0 ? request.trials : usual_trials(request.clusters), first, request.seed,
          random::mix(request.stream, static_cast<std::uint64_t>(seeding_use::trial))};
}

plus_plus_result run_plus_plus(seeding_passes& passes, const seeding_request& request, const seeding_report& report) {
  return plus_plus(passes, request, report).run();
}

namespace {

template <class Scalar>
plus_plus_result run_on(const fold_context& context, const weighted_rows<Scalar>& data, const data_summary& summary,
                        const seeding_request& request, const make_passes& passes) {
  return run_plus_plus(passes ? *passes() : *make_host_passes(context, data, summary), request,
                       seeding_report_of(context, data.rows->rows(), data.rows->columns(), request.clusters));
}

}  // namespace

template <class Scalar>
std::vector<double> seed_plus_plus(const fold_context& context, const weighted_rows<Scalar>& data,
                                   const data_summary& summary, const seeding_request& request,
                                   const make_passes& passes) {
  return run_on(context, data, summary, request, passes).points;
}

template <class Scalar>
std::vector<std::size_t> choose_plus_plus(const fold_context& context, const weighted_rows<Scalar>& data,
                                          const data_summary& summary, const seeding_request& request,
                                          const make_passes& passes) {
  return run_on(context, data, summary, request, passes).rows;
}

template std::vector<double> seed_plus_plus(const fold_context&, const weighted_rows<float>&, const data_summary&,
                                            const seeding_request&, const make_passes&);
template std::vector<double> seed_plus_plus(const fold_context&, const weighted_rows<double>&, const data_summary&,
                                            const seeding_request&, const make_passes&);
template std::vector<std::size_t> choose_plus_plus(const fold_context&, const weighted_rows<float>&,
                                                   const data_summary&, const seeding_request&, const make_passes&);
template std::vector<std::size_t> choose_plus_plus(const fold_context&, const weighted_rows<double>&,
                                                   const data_summary&, const seeding_request&, const make_passes&);

}  // namespace shoal
