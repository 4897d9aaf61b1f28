#include <shoal/estimation/seeding.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <shoal/estimation/nearest.hpp>
#include <shoal/estimation/seed_draw.hpp>

namespace shoal {
namespace {

constexpr std::size_t points_at_once = 16;  // when distances to all chosen rows are computed again

template <class Work>
struct plus_plus_scratch {
  nearest_scratch<Work> nearest;
  aligned_buffer<Work> rows;
  aligned_buffer<Work> distances;  // [points][block_rows]
  aligned_buffer<Work> least;      // [block_rows], when there is no cache
};

// One run of greedy k-means++. Distances are computed in Work; Σ of them in float64.
//
// A pass over the rows brings the least distances up to date with the row kept last and finds, for each trial, what
// the sum of least distances would be, unit by unit. The winner's sums by unit are also what the next draw needs, so
// that each step reads the rows once.
template <class Scalar, class Work>
class plus_plus {
 public:
  plus_plus(const fold_context& context, const weighted_rows<Scalar>& data, const seeding_request& request)
      : context_(context),
        data_(data),
        request_(request),
        columns_(data.rows->columns()),
        units_(data.rows->rows(), columns_, sizeof(Scalar)),
        draw_by_weight_(context, data),
        cached_(data.rows->rows() <= seeding_cache_bytes / sizeof(Work)) {
    if (cached_) {
      least_.grow(data.rows->rows());
      std::fill_n(least_.data(), data.rows->rows(), std::numeric_limits<Work>::infinity());
    }
  }

  plus_plus_result run() {
    std::vector<double> trials;
    append_row(*data_.rows, draw_by_weight_(uniform(seeding_use::first_row, 0, 0)), trials);
    keep_best(trials);
    const std::size_t trial_count = 2 + static_cast<std::size_t>(std::log(static_cast<double>(request_.clusters)));
    for (std::size_t step = 1; step < request_.clusters; ++step) {
      trials.clear();
      for (std::size_t t = 0; t < trial_count; ++t) {
        const double u = uniform(seeding_use::trial, step, t);
        std::size_t row = draw_row(
            units_, sums_, 1, u, [&](std::size_t first, std::size_t count, double* out) { masses(first, count, out); });
        if (row == no_row) {
          ran_out_ = true;
          row = draw_by_weight_(u);
        }
        append_row(*data_.rows, row, trials);
        if (ran_out_) break;  // all rows are as good: one trial will do
      }
      if (ran_out_) {
        chosen_.insert(chosen_.end(), trials.begin(), trials.end());
      } else {
        keep_best(trials);
      }
    }
    return {std::move(chosen_), ran_out_};
  }

 private:
  double uniform(seeding_use use, std::size_t step, std::size_t index) const {
    return random::uniform_at(request_.seed, seeding_stream(request_, use, step), index);
  }

  static std::vector<Work> in_work(const std::vector<double>& points) { return {points.begin(), points.end()}; }

  std::size_t chosen_count() const { return chosen_.size() / columns_; }

  // Brings the least distances of one block up to date with all chosen rows. `pending` of them, the last, are not yet
  // in the cache.
  Work* update(matrix_view<const Work> rows, std::size_t first, const std::vector<Work>& chosen, std::size_t pending,
               plus_plus_scratch<Work>& memory) {
    Work* least = least_.data() + first;
    if (!cached_) {
      memory.least.grow(block_rows);
      least = memory.least.data();
      std::fill_n(least, rows.rows(), std::numeric_limits<Work>::infinity());
      pending = chosen_count();
    }
    for (std::size_t p = chosen_count() - pending; p < chosen_count(); p += points_at_once) {
      const std::size_t count = std::min(points_at_once, chosen_count() - p);
      memory.distances.grow(points_at_once * block_rows);
      squared_distances<Work>(rows, {chosen.data() + p * columns_, count, columns_}, memory.distances.data(),
                              block_rows, memory.nearest);
      for (std::size_t t = 0; t < count; ++t) {
        const Work* distance = memory.distances.data() + t * block_rows;
        for (std::size_t i = 0; i < rows.rows(); ++i) least[i] = std::min(least[i], distance[i]);
      }
    }
    return least;
  }

  // Masses of rows with regard to all chosen rows, for a draw. The cache lacks the row chosen last.
  void masses(std::size_t first, std::size_t count, double* out) {
    const row_block<Scalar> block = reader_.read(first, count);
    const std::vector<Work> chosen = in_work(chosen_);
    const auto rows = in_scalar<Work>(block.rows, draw_memory_.rows);
    Work kept[block_rows];
    if (cached_) std::copy_n(least_.data() + first, count, kept);
    const Work* least = update(rows, first, chosen, 1, draw_memory_);
    for (std::size_t i = 0; i < count; ++i) {
      const double weight = block.weights == nullptr ? 1.0 : static_cast<double>(block.weights[i]);
      out[i] = weight > 0 ? weight * static_cast<double>(least[i]) : 0.0;
    }
    // The pass that follows applies the row again; putting the old values back keeps one writer for each.
    if (cached_) std::copy_n(kept, count, least_.data() + first);
  }

  void keep_best(const std::vector<double>& trials) {
    const std::size_t count = trials.size() / columns_;
    const std::vector<Work> trial_points = in_work(trials);
    const std::vector<Work> chosen = in_work(chosen_);
    const std::size_t pending = chosen_.empty() ? 0 : 1;
    std::vector<double> potentials(units_.count() * count);
    for_each_piece<Scalar>(
        context_, data_, units_.plan(), units_.shape(), scratch_,
        [&](std::size_t, const row_block<Scalar>& piece, const team_member&, plus_plus_scratch<Work>& memory) {
          for (std::size_t begin = 0; begin < piece.rows.rows(); begin += block_rows) {
            const std::size_t size = std::min(block_rows, piece.rows.rows() - begin);
            const std::size_t first = piece.first + begin;
            const auto rows = in_scalar<Work>(piece.rows.middle_rows(begin, size), memory.rows);
            const Scalar* weights = piece.weights == nullptr ? nullptr : piece.weights + begin;
            const Work* least = update(rows, first, chosen, pending, memory);
            memory.distances.grow(std::max(points_at_once, count) * block_rows);
            squared_distances<Work>(rows, {trial_points.data(), count, columns_}, memory.distances.data(), block_rows,
                                    memory.nearest);
            for (std::size_t t = 0; t < count; ++t) {
              potentials[units_.unit_of(first) * count + t] +=
                  sum_of_minima(least, memory.distances.data() + t * block_rows, weights, size);
            }
          }
        });
    std::size_t best = 0;
    double least_total = std::numeric_limits<double>::infinity();
    for (std::size_t t = 0; t < count; ++t) {
      const double total = total_of(std::span(potentials).subspan(t), count);
      if (total < least_total) {
        least_total = total;
        best = t;
      }
    }
    sums_.resize(units_.count());
    for (std::size_t unit = 0; unit < sums_.size(); ++unit) sums_[unit] = potentials[unit * count + best];
    chosen_.insert(chosen_.end(), trials.begin() + static_cast<std::ptrdiff_t>(best * columns_),
                   trials.begin() + static_cast<std::ptrdiff_t>((best + 1) * columns_));
  }

  fold_context context_;
  weighted_rows<Scalar> data_;
  seeding_request request_;
  std::size_t columns_;
  row_units units_;
  weight_draw<Scalar> draw_by_weight_;
  bool cached_;
  aligned_buffer<Work> least_;  // [rows] least squared distance to the chosen rows but the last
  std::vector<double> chosen_;
  std::vector<double> sums_;  // by unit, Σ weight · least squared distance to all chosen rows
  bool ran_out_ = false;
  row_reader<Scalar> reader_{data_};
  plus_plus_scratch<Work> draw_memory_;
  std::vector<plus_plus_scratch<Work>> scratch_;
};

}  // namespace

template <class Scalar>
plus_plus_result run_plus_plus(const fold_context& context, const weighted_rows<Scalar>& data,
                               const data_summary& summary, const seeding_request& request) {
  if (squares_need_float64(summary)) return plus_plus<Scalar, double>(context, data, request).run();
  return plus_plus<Scalar, Scalar>(context, data, request).run();
}

template <class Scalar>
std::vector<double> seed_plus_plus(const fold_context& context, const weighted_rows<Scalar>& data,
                                   const data_summary& summary, const seeding_request& request) {
  return run_plus_plus(context, data, summary, request).points;
}

template plus_plus_result run_plus_plus(const fold_context&, const weighted_rows<float>&, const data_summary&,
                                        const seeding_request&);
template plus_plus_result run_plus_plus(const fold_context&, const weighted_rows<double>&, const data_summary&,
                                        const seeding_request&);
template std::vector<double> seed_plus_plus(const fold_context&, const weighted_rows<float>&, const data_summary&,
                                            const seeding_request&);
template std::vector<double> seed_plus_plus(const fold_context&, const weighted_rows<double>&, const data_summary&,
                                            const seeding_request&);

}  // namespace shoal
