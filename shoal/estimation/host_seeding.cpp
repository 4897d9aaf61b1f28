#include <shoal/estimation/host_seeding.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <shoal/algebra/instances/sums.hpp>
#include <shoal/estimation/race.hpp>
#include <shoal/nearest/nearest.hpp>

namespace shoal {
namespace {

constexpr std::size_t points_at_once = 16;  // whose distances to a block of rows are computed together

template <class Work>
struct pass_scratch {
  nearest_scratch<Work> nearest;
  aligned_buffer<Work> rows;
  aligned_buffer<std::int32_t> labels;
  aligned_buffer<Work> distances;
  aligned_buffer<std::int32_t> owner;  // [block_rows], when rows remember nothing
  aligned_buffer<Work> least;
};

struct race_body {
  struct scratch {};
  const race_monoid* race;
  std::uint64_t seed;
  std::uint64_t stream;

  template <class Scalar>
  void operator()(const row_block<Scalar>& piece, const team_member& member, scratch&,
                  race_monoid::value_type& into) const {
    if (member.rank() != 0) return;
    for (std::size_t i = 0; i < piece.rows.rows(); ++i) {
      const double weight = piece.weights == nullptr ? 1.0 : static_cast<double>(piece.weights[i]);
      if (!(weight > 0)) continue;
      const double u = random::uniform_at(seed, stream, piece.first + i);
      // −ln u ≥ 1 − u: most rows need no logarithm to lose.
      if (race->refuses(into, {(1 - u) / weight, piece.first + i})) continue;
      race->insert(into, {-std::log(u) / weight, piece.first + i});
    }
  }
};

// Distances are computed in Work; sums of them in float64.
template <class Scalar, class Work>
class host_passes final : public seeding_passes {
 public:
  host_passes(const fold_context& context, const weighted_rows<Scalar>& data)
      : context_(context),
        data_(data),
        units_(data.rows->rows(), data.rows->columns(), sizeof(Scalar)),
        own_(own_rows(context, units_.plan())),
        fetched_(context, *data.rows),
        draw_by_weight_(context, data),
        remembered_(data.rows->rows() <= seeding_cache_bytes / (sizeof(Work) + sizeof(std::int32_t))) {}

  std::size_t columns() const override { return data_.rows->columns(); }
  const row_units& units() const override { return units_; }
  void append_rows(std::span<const std::size_t> rows, std::vector<double>& points) override {
    for (const std::size_t row : rows) append_row<Scalar>(fetched_, row, points);
  }
  std::size_t draw_by_weight(double u) override { return draw_by_weight_(u); }
  double weight_of(std::size_t row) override { return draw_by_weight_.weight_of(row); }
  std::vector<double> distances(std::span<const double> points, std::span<const double> to) const override {
    return distances_as_measured<Work>(points, to);
  }

  void add(std::span<const double> points) override {
    const std::size_t count = points.size() / columns();
    if (count == 0) return;
    begin();
    const bool goes_along = count == 1 && batches_.size() > applied_ && batches_.back().index.clusters() == 0 &&
                            batches_.back().count < points_at_once;
    if (!goes_along) batches_.push_back({points_, 0, {}, {}});
    batch& last = batches_.back();
    last.points.insert(last.points.end(), points.begin(), points.end());
    last.count += count;
    if (count > 1) last.index.set(points, count, columns(), data_.rows->rows());
    points_ += count;
  }

  std::vector<double> masses_by_unit() override {
    std::vector<double> sums(units_.count());
    for_each_block([&](std::size_t, const block& rows) {
      sums[units_.unit_of(rows.first)] += sum_of_minima(rows.least, rows.least, rows.weights, rows.count);
    });
    return units_.gather(context_, std::move(sums));
  }

  std::vector<double> trial_masses_by_unit(std::span<const double> trials) override {
    begin();
    const std::size_t count = trials.size() / columns();
    const std::vector<Work> points(trials.begin(), trials.end());
    std::vector<double> sums(units_.count() * count);
    for_each_block([&](std::size_t, const block& rows) {
      rows.scratch->distances.grow(std::max(points_at_once, count) * block_rows);
      squared_distances<Work>(rows.values(), {points.data(), count, columns()}, rows.scratch->distances.data(),
                              block_rows, rows.scratch->nearest);
      for (std::size_t t = 0; t < count; ++t) {
        sums[units_.unit_of(rows.first) * count + t] +=
            sum_of_minima(rows.least, rows.scratch->distances.data() + t * block_rows, rows.weights, rows.count);
      }
    });
    return units_.gather(context_, std::move(sums), count);
  }

  std::vector<double> masses_of_units(std::span<const std::size_t> wanted) override {
    std::vector<double> all;
    std::vector<std::size_t> starts;  // of each unit's masses
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      starts.push_back(all.size());
      const std::size_t unit = wanted[i];
      // Few rows are few units, which several draws share.
      const auto same = std::find(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(i), unit);
      if (same != wanted.begin() + static_cast<std::ptrdiff_t>(i)) {
        const std::size_t from = starts[static_cast<std::size_t>(same - wanted.begin())];
        const std::size_t count = units_.end_row(unit) - units_.first_row(unit);
        all.resize(all.size() + count);
        std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(from), count,
                    all.end() - static_cast<std::ptrdiff_t>(count));
        continue;
      }
      const std::vector<double> found = masses_of_unit(unit);
      all.insert(all.end(), found.begin(), found.end());
    }
    return all;
  }

  std::vector<std::size_t> sample(std::uint64_t seed, std::uint64_t stream, double rate) override {
    std::vector<std::vector<std::size_t>> kept(units_.plan().lanes);
    for_each_block([&](std::size_t lane, const block& rows) {
      for (std::size_t i = 0; i < rows.count; i += 4) {
        const auto words = random::philox4x32::block(seed, stream, (rows.first + i) / 4);
        for (std::size_t row = i; row < std::min(rows.count, i + 4); ++row) {
          const double weight = rows.weights == nullptr ? 1.0 : static_cast<double>(rows.weights[row]);
          const double u = (static_cast<double>(words[row - i]) + 0.5) * 0x1p-32;
          if (u < rate * weight * static_cast<double>(rows.least[row])) kept[lane].push_back(rows.first + row);
        }
      }
    });
    std::vector<std::size_t> all;
    for (const auto& lane : kept) all.insert(all.end(), lane.begin(), lane.end());
    return gathered(context_.ranks, std::move(all));
  }

  std::vector<std::size_t> race(std::uint64_t seed, std::uint64_t stream, std::size_t count) override {
    const race_monoid order(count);
    std::vector<std::size_t> rows;
    for (const runner& one : order.sorted(fold<Scalar>(context_, data_, order, race_body{&order, seed, stream}))) {
      rows.push_back(one.row);
    }
    return rows;
  }

  std::vector<double> weights_by_point() override {
    struct body {
      using scratch = pass_scratch<Work>;
      host_passes* self;
      void operator()(const row_block<Scalar>& piece, const team_member& member, scratch& memory,
                      std::vector<double>& into) const {
        if (member.rank() != 0) return;
        for (std::size_t begin = 0; begin < piece.rows.rows(); begin += block_rows) {
          const std::size_t count = std::min(block_rows, piece.rows.rows() - begin);
          const block rows = self->brought_up_to_date(piece, begin, count, memory);
          for (std::size_t i = 0; i < count; ++i) {
            into[static_cast<std::size_t>(rows.owner[i])] +=
                rows.weights == nullptr ? 1.0 : static_cast<double>(rows.weights[i]);
          }
        }
      }
    };
    std::vector<double> weights =
        fold<Scalar>(context_, data_, algebra::componentwise_sum<double>(points_), body{this});
    // Of several ranks each has folded these lanes, which need not be those whose rows it remembers.
    if (remembered_ && alone(context_.ranks)) applied_ = batches_.size();
    return weights;
  }

 private:
  // Points that were added together are searched for the nearest; those that came one by one have no index and are all
  // measured.
  struct batch {
    std::size_t first;
    std::size_t count;
    std::vector<Work> points;
    centroid_index<Work> index;
  };

  // Rows whose least distances know all points.
  struct block {
    std::size_t first;
    std::size_t count;
    std::size_t columns;
    const row_block<Scalar>* piece;
    std::size_t begin;  // in the piece
    const Scalar* weights;
    const Work* least;
    const std::int32_t* owner;
    pass_scratch<Work>* scratch;

    matrix_view<const Work> values() const {
      return in_scalar<Work>(piece->rows.middle_rows(begin, count), scratch->rows);
    }
  };

  // What rows remember, before there is a point to remember.
  void begin() {
    if (begun_ || !remembered_) return;
    begun_ = true;
    const std::size_t rows = data_.rows->rows();
    least_.grow(rows);
    owner_.grow(rows);
    std::fill_n(least_.data(), rows, std::numeric_limits<Work>::infinity());
    std::fill_n(owner_.data(), rows, 0);
  }

  // The rank that folds the unit's rows knows their masses; the others hear of them.
  std::vector<double> masses_of_unit(std::size_t unit) {
    std::vector<double> found;
    const std::size_t owner = alone(context_.ranks) ? 0 : units_.rank_of(unit, *context_.ranks);
    if (alone(context_.ranks) || owner == context_.ranks->rank()) {
      for (std::size_t first = units_.first_row(unit); first < units_.end_row(unit); first += block_rows) {
        const std::size_t count = std::min(block_rows, units_.end_row(unit) - first);
        found.resize(found.size() + count);
        masses(first, count, found.data() + found.size() - count);
      }
    }
    return shared_from(context_.ranks, owner, std::move(found));
  }

  // Masses of rows of one block.
  void masses(std::size_t first, std::size_t count, double* out) {
    const row_block<Scalar> piece = reader_.read(first, count);
    // The pass that follows applies the points that wait again; putting the old values back keeps one writer for each.
    Work least[block_rows];
    std::int32_t owner[block_rows];
    if (remembered_) {
      std::copy_n(least_.data() + first, count, least);
      std::copy_n(owner_.data() + first, count, owner);
    }
    const block rows = brought_up_to_date(piece, 0, count, draw_scratch_);
    for (std::size_t i = 0; i < count; ++i) {
      const double weight = rows.weights == nullptr ? 1.0 : static_cast<double>(rows.weights[i]);
      out[i] = weight > 0 ? weight * static_cast<double>(rows.least[i]) : 0.0;
    }
    if (remembered_) {
      std::copy_n(least, count, least_.data() + first);
      std::copy_n(owner, count, owner_.data() + first);
    }
  }

  block brought_up_to_date(const row_block<Scalar>& piece, std::size_t begin, std::size_t count,
                           pass_scratch<Work>& memory) {
    Work* least = least_.data() + piece.first + begin;
    std::int32_t* owner = owner_.data() + piece.first + begin;
    // Rows of other ranks come by where a fold has other lanes than the units have: nothing is remembered of them.
    const std::size_t row = piece.first + begin;
    const bool remembered = remembered_ && own_.first <= row && row < own_.end;
    if (!remembered) {
      memory.least.grow(block_rows);
      memory.owner.grow(block_rows);
      least = memory.least.data();
      owner = memory.owner.data();
      std::fill_n(least, count, std::numeric_limits<Work>::infinity());
      std::fill_n(owner, count, 0);
    }
    const block rows{piece.first + begin,
                     count,
                     columns(),
                     &piece,
                     begin,
                     piece.weights == nullptr ? nullptr : piece.weights + begin,
                     least,
                     owner,
                     &memory};
    const std::size_t applied = remembered ? applied_ : 0;
    if (applied == batches_.size()) return rows;
    const matrix_view<const Work> values = rows.values();
    memory.labels.grow(block_rows);
    memory.distances.grow(points_at_once * block_rows);
    for (std::size_t b = applied; b < batches_.size(); ++b) apply(batches_[b], values, least, owner, memory);
    return rows;
  }

  void apply(const batch& added, matrix_view<const Work> rows, Work* least, std::int32_t* owner,
             pass_scratch<Work>& memory) const {
    const matrix_view<const Work> points(added.points.data(), added.count, columns());
    const auto first = static_cast<std::int32_t>(added.first);
    if (added.index.clusters() == 0) {
      squared_distances<Work>(rows, points, memory.distances.data(), block_rows, memory.nearest);
      for (std::size_t t = 0; t < added.count; ++t) {
        const Work* const distances = memory.distances.data() + t * block_rows;
        for (std::size_t i = 0; i < rows.rows(); ++i) {
          if (!(distances[i] < least[i])) continue;
          least[i] = distances[i];
          owner[i] = first + static_cast<std::int32_t>(t);
        }
      }
      return;
    }
    find_nearest(added.index, rows, memory.labels.data(), memory.nearest);
    distances_to_labels<Work>(rows, points, memory.labels.data(), memory.distances.data());
    for (std::size_t i = 0; i < rows.rows(); ++i) {
      if (!(memory.distances[i] < least[i])) continue;
      least[i] = memory.distances[i];
      owner[i] = first + memory.labels[i];
    }
  }

  // Calls visit(lane, block) for all rows, from several threads.
  template <class Visit>
  void for_each_block(const Visit& visit) {
    for_each_piece<Scalar>(
        context_, data_, units_.plan(), units_.shape(), scratch_,
        [&](std::size_t lane, const row_block<Scalar>& piece, const team_member&, pass_scratch<Work>& memory) {
          for (std::size_t begin = 0; begin < piece.rows.rows(); begin += block_rows) {
            const std::size_t count = std::min(block_rows, piece.rows.rows() - begin);
            visit(lane, brought_up_to_date(piece, begin, count, memory));
          }
        });
    if (remembered_) applied_ = batches_.size();
  }

  fold_context context_;
  weighted_rows<Scalar> data_;
  row_units units_;
  row_range own_;  // that this rank folds
  fetched_rows<Scalar> fetched_;
  weight_draw<Scalar> draw_by_weight_;
  bool remembered_;
  bool begun_ = false;
  aligned_buffer<Work> least_;          // [rows] least squared distance to the batches before applied_
  aligned_buffer<std::int32_t> owner_;  // [rows] the point at that distance
  std::vector<batch> batches_;
  std::size_t applied_ = 0;  // batches that the rows remember
  std::size_t points_ = 0;
  row_reader<Scalar> reader_{data_};
  pass_scratch<Work> draw_scratch_;
  std::vector<padded<pass_scratch<Work>>> scratch_;
};

}  // namespace

template <class Scalar>
std::unique_ptr<seeding_passes> make_host_passes(const fold_context& context, const weighted_rows<Scalar>& data,
                                                 const data_summary& summary) {
  if (squares_need_float64(summary)) return std::make_unique<host_passes<Scalar, double>>(context, data);
  return std::make_unique<host_passes<Scalar, Scalar>>(context, data);
}

template std::unique_ptr<seeding_passes> make_host_passes(const fold_context&, const weighted_rows<float>&,
                                                          const data_summary&);
template std::unique_ptr<seeding_passes> make_host_passes(const fold_context&, const weighted_rows<double>&,
                                                          const data_summary&);

}  // namespace shoal
