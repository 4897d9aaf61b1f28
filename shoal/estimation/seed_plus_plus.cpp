#include <shoal/estimation/seeding.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <shoal/estimation/draw_groups.hpp>
#include <shoal/estimation/draws_ahead.hpp>
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
    if (chosen_.rows.empty()) {
      keep_best({draws.first}, values_of({draws.first}));
    } else if (!chosen_.ran_out && chosen_.rows.size() < request_.clusters) {
      passes_.add(chosen_.points);
      sums_ = passes_.masses_by_unit();
    }
    for (std::size_t step = chosen_.rows.size(); step < request_.clusters; ++step) {
      bool kept = false;
      if (!chosen_.ran_out) kept = step < first_step_ahead ? keep_of_drawn(step, draws) : keep_of_ahead(step, draws);
      if (!kept) {
        // All rows are as good, and one trial will do.
        chosen_.ran_out = true;
        chosen_.rows.push_back(passes_.draw_by_weight(uniform_of(request_, seeding_use::trial, step, 0)));
        passes_.append_rows({&chosen_.rows.back(), 1}, chosen_.points);
      }
      report_(step + 1, request_.clusters);
    }
    return std::move(chosen_);
  }

 private:
  static constexpr std::size_t draws_at_once = 32;  // whose units' masses stay in the cache

  // Rows that were drawn at once for several steps (draws_ahead.hpp), and the masses that they had.
  struct rows_ahead {
    std::vector<std::size_t> rows;
    std::vector<double> points;  // [rows][columns]
    std::vector<double> least;   // squared distance to the nearest point, then and
    std::vector<double> now;
    std::size_t step = 0;  // that drew them
    std::size_t next = 0;  // those before have been trials, or are none
  };

  // Rows drawn in proportion to their masses, by `uniform(index)`; none when no row has any. `found`: their masses.
  template <class Uniform>
  std::vector<std::size_t> draw_rows(std::size_t count, const Uniform& uniform, std::vector<double>* found = nullptr) {
    const row_units& units = passes_.units();
    std::vector<std::size_t> rows;
    for (std::size_t first = 0; first < count; first += draws_at_once) {
      std::vector<unit_draw> draws;
      std::vector<std::size_t> drawn;
      for (std::size_t t = first; t < std::min(count, first + draws_at_once); ++t) {
        draws.push_back(draw_unit(units, sums_, uniform(t)));
        drawn.push_back(draws.back().unit);
      }
      if (drawn.front() == no_unit) return {};
      const std::vector<double> masses = passes_.masses_of_units(drawn);
      std::span<const double> rest = masses;
      for (const unit_draw& draw : draws) {
        const std::size_t size = units.end_row(draw.unit) - units.first_row(draw.unit);
        const std::size_t row = row_of_draw(units, draw, rest.first(size));
        if (row == no_row) return {};
        rows.push_back(row);
        if (found != nullptr) found->push_back(rest[row - units.first_row(draw.unit)]);
        rest = rest.subspan(size);
      }
    }
    return rows;
  }

  // Each of these keeps the best trial of a step, and is false where there is none.
  bool keep_of_drawn(std::size_t step, const greedy_draws& draws) {
    const auto trials = draw_rows(draws.trials, [&](std::size_t t) { return draws.uniform(step, t); });
    if (trials.empty()) return false;
    keep_best(trials, values_of(trials));
    return true;
  }
  bool keep_of_ahead(std::size_t step, const greedy_draws& draws) {
    std::vector<std::size_t> taken = take_ahead(draws);
    if (taken.size() < draws.trials) {
      if (!draw_ahead(step, draws)) return false;
      taken = take_ahead(draws);
    }
    const std::size_t columns = passes_.columns();
    std::vector<std::size_t> rows;
    std::vector<double> points;
    for (const std::size_t i : taken) {
      rows.push_back(ahead_.rows[i]);
      const auto point = ahead_.points.begin() + static_cast<std::ptrdiff_t>(i * columns);
      points.insert(points.end(), point, point + static_cast<std::ptrdiff_t>(columns));
    }
    ahead_.next = taken.back() + 1;
    const std::size_t best = keep_best(rows, points);
    const std::span<const double> rest = std::span(ahead_.points).subspan(ahead_.next * columns);
    if (rest.empty()) return true;
    const std::vector<double> to_best = passes_.distances(rest, std::span(points).subspan(best * columns, columns));
    for (std::size_t i = 0; i < to_best.size(); ++i) {
      double& now = ahead_.now[ahead_.next + i];
      now = std::min(now, to_best[i]);
    }
    return true;
  }

  bool draw_ahead(std::size_t step, const greedy_draws& draws) {
    ahead_ = {};
    ahead_.step = step;
    ahead_.rows = draw_rows(
        draws.ahead(), [&](std::size_t i) { return draws.ahead_uniform(step, i); }, &ahead_.least);
    for (std::size_t i = 0; i < ahead_.rows.size(); ++i) ahead_.least[i] /= passes_.weight_of(ahead_.rows[i]);
    ahead_.now = ahead_.least;
    ahead_.points = values_of(ahead_.rows);
    return !ahead_.rows.empty();
  }

  // The first of the rows that are left which thinning keeps, as many as a step tries.
  std::vector<std::size_t> take_ahead(const greedy_draws& draws) const {
    std::vector<std::size_t> taken;
    for (std::size_t i = ahead_.next; i < ahead_.rows.size() && taken.size() < draws.trials; ++i) {
      if (draws.thinning_uniform(ahead_.step, i) * ahead_.least[i] < ahead_.now[i]) taken.push_back(i);
    }
    return taken;
  }

  std::vector<double> values_of(const std::vector<std::size_t>& rows) {
    std::vector<double> values;
    passes_.append_rows(rows, values);
    return values;
  }

  // Which of these it was.
  std::size_t keep_best(const std::vector<std::size_t>& rows, const std::vector<double>& trials) {
    const std::size_t columns = passes_.columns();
    const std::size_t count = rows.size();
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
    return best;
  }

  seeding_passes& passes_;
  const seeding_request& request_;
  const seeding_report& report_;
  plus_plus_result chosen_;
  std::vector<double> sums_;  // by unit, Σ mass with regard to all chosen rows
  rows_ahead ahead_;
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
