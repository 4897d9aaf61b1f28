#include <shoal/estimation/cuda/seeding.hpp>

#include <algorithm>
#include <cmath>

#include <shoal/estimation/cuda/ahead.hpp>
#include <shoal/estimation/cuda/candidates.hpp>
#include <shoal/estimation/cuda/coarse_buffers.hpp>
#include <shoal/estimation/cuda/coarse_share.hpp>
#include <shoal/estimation/cuda/few_rows.hpp>
#include <shoal/estimation/cuda/greedy.hpp>
#include <shoal/estimation/cuda/race.hpp>
#include <shoal/estimation/cuda/rounds.hpp>
#include <shoal/estimation/cuda/seeding_kernels.hpp>
#include <shoal/estimation/race.hpp>

namespace shoal {
namespace {

// Rows of a race from which the GPU puts them in order.
constexpr std::size_t least_winners_on_device = std::size_t{1} << 10;
// Times until which it waits for them, before the host decides.
constexpr int most_attempts = 6;

// Rows in memory of a GPU that is theirs.
class kept_rows final : public row_source<double> {
 public:
  kept_rows(cuda::device_buffer<double> values, std::size_t rows, std::size_t columns, int device)
      : values_(std::move(values)), source_(device_matrix_view<const double>(values_.data(), rows, columns, device)) {}
  std::size_t rows() const override { return source_.rows(); }
  std::size_t columns() const override { return source_.columns(); }
  matrix_view<const double> read(std::size_t first, std::size_t count, aligned_buffer<double>& buffer) const override {
    return source_.read(first, count, buffer);
  }
  bool resident() const override { return source_.resident(); }
  const device_matrix_view<const double>* on_device() const override { return source_.on_device(); }

 private:
  cuda::device_buffer<double> values_;
  device_source<double> source_;
};

template <class Scalar, class Work>
class device_passes final : public seeding_passes {
 public:
  device_passes(cuda::device_rows<Scalar>& rows, const fold_context& context, const data_summary& summary)
      : rows_(&rows),
        context_(context),
        summary_(&summary),
        units_(rows.rows(), rows.columns(), sizeof(Scalar)),
        draw_by_weight_(context, rows.data()),
        alone_(alone(context.ranks)),
        shares_(rows.group().size()) {
    if (!rows.resident()) return;
    rows.for_each_piece([this](std::size_t g, const cuda::device_piece<Scalar>& piece) { shares_[g].all = piece; });
  }

  std::size_t columns() const override { return rows_->columns(); }
  const row_units& units() const override { return units_; }

  void append_rows(std::span<const std::size_t> rows, std::vector<double>& points) override {
    const row_source<Scalar>& source = *rows_->data().rows;
    if (source.on_device() != nullptr && rows_->resident() && alone_) return gather(rows, points);
    if (alone_) {
      for (const std::size_t row : rows) append_row(source, row, points);
      return;
    }
    for (const std::size_t row : rows) {
      const std::vector<Scalar> values = rows_->fetched(row);
      points.insert(points.end(), values.begin(), values.end());
    }
  }
  std::unique_ptr<row_source<double>> keep_rows(std::span<const std::size_t> rows) override {
    if (!alone_ || !rows_->resident() || shares_.size() != 1) return seeding_passes::keep_rows(rows);
    const cuda::device_scope scope(device(0).device);
    // Whoever takes them needs room too, and has other ways with rows of the host.
    if (!has_room(3 * rows.size() * columns() * sizeof(double))) return seeding_passes::keep_rows(rows);
    cuda::device_buffer<std::size_t> indices;
    cuda::device_buffer<double> kept(rows.size() * columns());
    indices.upload(rows, device(0).compute);
    gather_points(shares_[0].all, columns(), indices.data(), rows.size(), kept.data(), device(0).compute);
    device(0).compute.synchronize();
    return std::make_unique<kept_rows>(std::move(kept), rows.size(), columns(), device(0).device);
  }
  std::size_t draw_by_weight(double u) override { return draw_by_weight_(u); }
  double weight_of(std::size_t row) override { return draw_by_weight_.weight_of(row); }
  std::vector<double> distances(std::span<const double> points, std::span<const double> to) const override {
    return distances_as_measured<Work>(points, to);
  }

  plus_plus_result choose_greedily(const greedy_draws& draws, const seeding_report& report) override {
    if (!alone_) return {};  // the device has but some of the rows
    const greedy_draws first = steps_before_ahead(draws);
    const bool here = rows_->resident() && shares_.size() == 1;
    plus_plus_result chosen;
    if (here) {
      chosen = choose_among_few<Scalar, Work>(device(0), shares_[0].all, nullptr, summary_, columns(), first, report);
    }
    if (chosen.rows.empty()) {
      chosen.rows = choose_greedily_on_device<Scalar, Work>(*rows_, *summary_, units_, first, report);
      append_rows(chosen.rows, chosen.points);
      chosen.ran_out = !chosen.rows.empty() && chosen.rows.size() < first.clusters;
    }
    if (here && !chosen.rows.empty() && !chosen.ran_out && chosen.rows.size() < draws.clusters) {
      choose_ahead<Scalar, Work>(device(0), shares_[0].all, nullptr, *summary_, columns(), draws, chosen, report);
    }
    return chosen;
  }

  std::optional<weighted_points> choose_in_rounds(const round_draws& draws) override {
    const bool here = alone_ && rows_->resident() && shares_.size() == 1 && units_.count() == blocks_of(rows_->rows());
    if (!here) return {};
    auto chosen = choose_rounds_on_device<Scalar, Work>(device(0), shares_[0].all, *summary_, total_weight(), draws);
    if (!chosen) return {};
    candidates_ = chosen->rows;
    return weighted_points{{}, chosen->rows, std::move(chosen->weights)};
  }

  std::optional<plus_plus_result> run_among(const weighted_rows<double>& candidates, const seeding_request& request,
                                            const seeding_report& report) override {
    const auto* const there = candidates.rows == candidates_.get() ? candidates_.get() : nullptr;
    return run_plus_plus_among<Scalar>(candidates, *summary_, there, device(0), context_, request, report,
                                       [this](cuda::device_rows<double>& rows, const fold_context& context) {
                                         return make_device_passes(rows, context, *summary_);
                                       });
  }

  // The points wait for the next pass, which may as well apply them.
  void add(std::span<const double> points) override {
    begin();
    pending_.insert(pending_.end(), points.begin(), points.end());
    upload(pending_, &share::points);
  }

  std::vector<double> masses_by_unit() override {
    std::vector<double> blocks(blocks_of(rows_->rows()));
    pass(true, [&](std::size_t g, const cuda::device_piece<Scalar>& piece) {
      share& mine = shares_[g];
      sum_masses<Scalar, Work>(piece, mine.least.data() + piece.share_first, mine.sums.data(), device(g).compute);
      fetch(g, mine.sums.data(), blocks_of(piece.count), blocks.data() + piece.first / block_rows);
    });
    return by_unit(blocks, 1);
  }

  std::vector<double> trial_masses_by_unit(std::span<const double> trials) override {
    begin();
    const std::size_t count = trials.size() / columns();
    std::vector<double> all(units_.count() * count);
    for (std::size_t from = 0; from < count; from += most_trials) {
      const std::size_t some = std::min(most_trials, count - from);
      const std::span<const double> wanted = trials.subspan(from * columns(), some * columns());
      // The points that wait are applied on the way where they have room.
      const std::size_t waiting = pending_.size() / columns();
      const std::size_t added = waiting + some <= most_trials ? waiting : 0;
      std::vector<double> points(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(added * columns()));
      points.insert(points.end(), wanted.begin(), wanted.end());
      upload(points, &share::trials);
      landing_.grow(blocks_of(rows_->rows()) * some);
      pass(added == 0, [&](std::size_t g, const cuda::device_piece<Scalar>& piece) {
        share& mine = shares_[g];
        sum_trials<Scalar, Work>(piece, columns(), mine.trials.data(), added, some, static_cast<std::int32_t>(points_),
                                 mine.least.data() + piece.share_first, mine.owner.data() + piece.share_first,
                                 mine.sums.data(), device(g).compute);
        fetch(g, mine.sums.data(), blocks_of(piece.count) * some, landing_.data() + piece.first / block_rows * some);
      });
      if (added > 0) applied(added);
      const std::vector<double> sums = by_unit({landing_.data(), blocks_of(rows_->rows()) * some}, some);
      for (std::size_t unit = 0; unit < units_.count(); ++unit) {
        std::copy_n(sums.begin() + static_cast<std::ptrdiff_t>(unit * some), some,
                    all.begin() + static_cast<std::ptrdiff_t>(unit * count + from));
      }
    }
    return all;
  }

  // Only the rows of these units are measured against the points that wait.
  std::vector<double> masses_of_units(std::span<const std::size_t> wanted) override {
    for (share& mine : shares_) mine.measured.clear();
    std::vector<row_range> blocks;  // in the order of the result
    std::vector<std::size_t> gpus;  // of those that are here
    for (const std::size_t unit : wanted) {
      for (std::size_t first = units_.first_row(unit); first < units_.end_row(unit); first += block_rows) {
        blocks.push_back({first, std::min(block_rows, units_.end_row(unit) - first)});
        if (!is_here(first)) continue;
        gpus.push_back(gpu_of(first));
        shares_[gpus.back()].measured.push_back(blocks.back());
      }
    }
    for (std::size_t g = 0; g < shares_.size(); ++g) measure(g);
    rows_->group().synchronize();
    std::vector<double> own;
    std::vector<std::size_t> next(shares_.size(), 0);
    for (const std::size_t g : gpus) {
      const std::size_t block = next[g]++;
      const double* const from = shares_[g].landing.data() + block * block_rows;
      own.insert(own.end(), from, from + shares_[g].measured[block].count);
    }
    return in_order_of(blocks, rows_->gathered(std::move(own)));
  }

  std::vector<std::size_t> sample(std::uint64_t seed, std::uint64_t stream, double rate) override {
    std::vector<std::size_t> rows;
    for (const weighted_row& kept :
         keep(false, [&](share&mine, const cuda::device_piece<Scalar>&piece, std::size_t capacity, cudaStream_t on) {
           sample_rows<Scalar, Work>(piece, mine.least.data() + piece.share_first, rate, seed, stream, mine.kept.data(),
                                     capacity, mine.counter.data(), on);
         })) {
      rows.push_back(kept.row);
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  // The GPUs find rows that arrive early enough; their times, which decide, are the host's to the last bit.
  std::vector<std::size_t> race(std::uint64_t seed, std::uint64_t stream, std::size_t count) override {
    const std::size_t winners = std::min(count, summary_->positive_rows);
    const std::size_t runners_in_all = summary_->positive_rows;
    const double weight = total_weight() / static_cast<double>(std::max<std::size_t>(1, runners_in_all));
    // Enough, with a margin, when no weight stands out.
    double latest = time_of_arrivals(enough_runners(winners), runners_in_all, weight);
    if (alone_ && rows_->resident() && shares_.size() == 1 && winners >= least_winners_on_device &&
        winners < runners_in_all) {
      const cuda::device_scope scope(device(0).device);
      // Where weights differ, fewer or more arrive than those of equal weight would: another time tells.
      for (int attempt = 0; attempt < most_attempts; ++attempt) {
        device_race race = race_on_device(shares_[0].all, winners, latest, seed, stream, device(0).compute);
        if (!race.first.empty()) return std::move(race.first);
        if (!race.decided) break;
        const auto arrived = static_cast<double>(std::max<std::size_t>(1, race.arrived));
        latest *= time_of_arrivals(enough_runners(winners), runners_in_all, weight) /
                  time_of_arrivals(arrived, runners_in_all, weight);
      }
    }
    while (true) {
      const std::vector<weighted_row> early =
          keep(true, [&](share& mine, const cuda::device_piece<Scalar>& piece, std::size_t capacity, cudaStream_t on) {
            mine.kept_weights.grow(capacity);
            keep_arrivals(piece, latest, seed, stream, mine.kept.data(), mine.kept_weights.data(), capacity,
                          mine.counter.data(), on);
          });
      std::vector<runner> runners(early.size());
      in_parts(early.size(), [&](std::size_t i) {
        runners[i] = {-std::log(random::uniform_at(seed, stream, early[i].row)) / early[i].weight, early[i].row};
      });
      // A time so near to the last is another for another logarithm.
      std::erase_if(runners, [safe = latest * (1 - 1e-9)](const runner& one) { return one.time > safe; });
      if (runners.size() >= winners) {
        sort_runners(runners, latest);
        std::vector<std::size_t> rows;
        for (std::size_t i = 0; i < winners; ++i) rows.push_back(runners[i].row);
        return rows;
      }
      latest *= 16;
    }
  }

  std::vector<double> weights_by_point() override {
    if (!pending_.empty()) pass(true, [](std::size_t, const cuda::device_piece<Scalar>&) {});
    const int exponent = exponent_of_weights(total_weight());
    for (std::size_t g = 0; g < shares_.size(); ++g) {
      const cuda::device_scope scope(device(g).device);
      shares_[g].totals.grow(points_);
      shares_[g].totals.fill_with_zeros(device(g).compute);
    }
    pass(false, [&](std::size_t g, const cuda::device_piece<Scalar>& piece) {
      add_owner_weights(piece, shares_[g].owner.data() + piece.share_first, exponent, points_, shares_[g].totals.data(),
                        device(g).compute);
    });
    std::vector<unsigned long long> sums(points_);
    std::vector<unsigned long long> parts;  // of each GPU, of all ranks
    for (std::size_t g = 0; g < shares_.size(); ++g) {
      const cuda::device_scope scope(device(g).device);
      const auto part = shares_[g].totals.download(points_, device(g).compute);
      parts.insert(parts.end(), part.begin(), part.end());
    }
    parts = rows_->gathered(std::move(parts));
    for (std::size_t i = 0; i < parts.size(); ++i) sums[i % points_] += parts[i];
    std::vector<double> weights(points_);
    for (std::size_t p = 0; p < points_; ++p) weights[p] = std::ldexp(static_cast<double>(sums[p]), -exponent);
    return weights;
  }

 private:
  struct row_range {
    std::size_t first;
    std::size_t count;
  };
  struct share {
    cuda::device_piece<Scalar> all;           // the share, when it is resident
    cuda::device_buffer<Work> least;          // [rows] of the share, squared distance to the points applied
    cuda::device_buffer<std::int32_t> owner;  // [rows] the point at that distance
    cuda::device_buffer<Work> points;         // that this pass applies
    cuda::device_buffer<Work> trials;
    cuda::device_buffer<double> sums;
    cuda::device_buffer<unsigned long long> kept;
    cuda::device_buffer<double> kept_weights;
    cuda::device_buffer<unsigned long long> counter;
    cuda::device_buffer<unsigned long long> totals;
    std::vector<row_range> measured;  // blocks whose masses are asked for
    cuda::device_buffer<row_masses<Scalar, Work>> blocks;
    cuda::device_buffer<Scalar> drawn_rows, drawn_weights;  // theirs, when the share is not resident
    cuda::device_buffer<double> masses;
    cuda::pinned_buffer<double> landing;
    coarse_share<Scalar, Work> coarse;
  };

  double total_weight() const { return summary_->total_weight / rows_->data().weight_scale; }

  static std::size_t blocks_of(std::size_t rows) { return (rows + block_rows - 1) / block_rows; }
  const cuda::gpu& device(std::size_t g) const { return rows_->group()[g]; }

  void upload(std::span<const double> points, cuda::device_buffer<Work> share::*where) {
    if (points.empty()) return;
    const std::vector<Work> converted(points.begin(), points.end());
    for (std::size_t g = 0; g < shares_.size(); ++g) {
      const cuda::device_scope scope(device(g).device);
      // Pageable memory has been read when the call returns.
      (shares_[g].*where).upload(converted, device(g).compute);
    }
  }

  template <class Element>
  void fetch(std::size_t g, const Element* from, std::size_t count, Element* to) {
    cuda::check(cudaMemcpyAsync(to, from, count * sizeof(Element), cudaMemcpyDeviceToHost, device(g).compute),
                "copy from the device");
  }

  std::size_t first_row() const { return rows_->share_first(0); }
  std::size_t end_row() const { return rows_->share_first(shares_.size() - 1) + rows_->share_rows(shares_.size() - 1); }
  bool is_here(std::size_t row) const { return first_row() <= row && row < end_row(); }

  // Masses of blocks that the ranks have gathered, each those of its own rows in the order of `blocks`.
  std::vector<double> in_order_of(const std::vector<row_range>& blocks, std::vector<double> gathered) const {
    if (alone_) return gathered;
    std::vector<std::size_t> owners, next;  // the rank of each block, and where a rank's next masses begin
    for (const row_range& block : blocks) {
      owners.push_back(rows_->rank_of_shard(rows_->shards().shard_of(block.first)));
      if (next.size() < owners.back() + 2) next.resize(owners.back() + 2);
      next[owners.back() + 1] += block.count;
    }
    for (std::size_t rank = 1; rank < next.size(); ++rank) next[rank] += next[rank - 1];
    std::vector<double> all;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const auto from = gathered.begin() + static_cast<std::ptrdiff_t>(next[owners[b]]);
      all.insert(all.end(), from, from + static_cast<std::ptrdiff_t>(blocks[b].count));
      next[owners[b]] += blocks[b].count;
    }
    return all;
  }

  std::size_t gpu_of(std::size_t row) const {
    std::size_t g = 0;
    while (row >= rows_->share_first(g) + rows_->share_rows(g)) ++g;
    return g;
  }

  struct weighted_row {
    std::size_t row;
    double weight;  // when the kernel keeps weights
  };

  static constexpr std::size_t part_size = 4096;

  // Calls visit(i) for every i < count, on the context's workers where there are many.
  template <class Visit>
  void in_parts(std::size_t count, const Visit& visit) {
    context_.workers->run((count + part_size - 1) / part_size, 1, [&](std::size_t part, const team_member&) {
      for (std::size_t i = part * part_size; i < std::min(count, (part + 1) * part_size); ++i) visit(i);
    });
  }

  // By their times, all below `latest` and about evenly spread: by intervals of time first, and then each of these.
  void sort_runners(std::vector<runner>& runners, double latest) {
    const std::size_t intervals = runners.size() / part_size + 1;
    std::vector<std::vector<runner>> apart(intervals);
    for (const runner& one : runners) {
      const auto interval = static_cast<std::size_t>(one.time / latest * static_cast<double>(intervals));
      apart[std::min(interval, intervals - 1)].push_back(one);
    }
    context_.workers->run(intervals, 1, [&](std::size_t interval, const team_member&) {
      std::sort(apart[interval].begin(), apart[interval].end(), arrives_before{});
    });
    runners.clear();
    for (const std::vector<runner>& some : apart) runners.insert(runners.end(), some.begin(), some.end());
  }

  // What a kernel that keeps some rows of each piece keeps, in any order: `visit` is called again with more room where
  // there was too little.
  template <class Visit>
  std::vector<weighted_row> keep(bool with_weights, const Visit& visit) {
    std::size_t capacity = std::size_t{1} << 16;
    while (true) {
      for (std::size_t g = 0; g < shares_.size(); ++g) {
        const cuda::device_scope scope(device(g).device);
        shares_[g].kept.grow(capacity);
        shares_[g].counter.grow(1);
        shares_[g].counter.fill_with_zeros(device(g).compute);
      }
      pass(true, [&](std::size_t g, const cuda::device_piece<Scalar>& piece) {
        visit(shares_[g], piece, capacity, device(g).compute);
      });
      std::vector<weighted_row> all;
      std::size_t most = 0;
      for (std::size_t g = 0; g < shares_.size(); ++g) {
        const cuda::device_scope scope(device(g).device);
        const std::size_t found = shares_[g].counter.download(1, device(g).compute)[0];
        most = std::max(most, found);
        if (found > capacity) continue;
        const auto rows = shares_[g].kept.download(found, device(g).compute);
        std::vector<double> weights(found);
        if (with_weights) weights = shares_[g].kept_weights.download(found, device(g).compute);
        for (std::size_t i = 0; i < found; ++i) all.push_back({rows[i], weights[i]});
      }
      if (most <= capacity) return rows_->gathered(std::move(all));
      capacity = most;
    }
  }

  // Enqueues the masses of a share's measured blocks, and their way to its landing place.
  void measure(std::size_t g) {
    share& mine = shares_[g];
    if (mine.measured.empty()) return;
    const cuda::device_scope scope(device(g).device);
    const cuda::stream& stream = device(g).compute;
    if (!rows_->resident()) bring_measured(mine, stream);
    std::vector<row_masses<Scalar, Work>> blocks;
    for (std::size_t b = 0; b < mine.measured.size(); ++b) {
      const std::size_t at = mine.measured[b].first - rows_->share_first(g);
      const bool here = rows_->resident();
      const Scalar* const weights = here ? mine.all.weights : mine.drawn_weights.data();
      blocks.push_back({here ? mine.all.rows + at * columns() : mine.drawn_rows.data() + b * block_rows * columns(),
                        rows_->weighted() ? weights + (here ? at : b * block_rows) : nullptr, mine.least.data() + at,
                        mine.measured[b].count});
    }
    mine.blocks.upload(blocks, stream);
    mine.masses.grow(blocks.size() * block_rows);
    mine.landing.grow(blocks.size() * block_rows);
    measure_masses<Scalar, Work>(mine.blocks.data(), blocks.size(), columns(), mine.points.data(),
                                 pending_.size() / columns(), mine.masses.data(), stream);
    fetch(g, mine.masses.data(), blocks.size() * block_rows, mine.landing.data());
  }

  void bring_measured(share& mine, const cuda::stream& stream) {
    const weighted_rows<Scalar>& data = rows_->data();
    std::vector<Scalar> rows(mine.measured.size() * block_rows * columns());
    std::vector<Scalar> weights(data.weights == nullptr ? 0 : mine.measured.size() * block_rows);
    aligned_buffer<Scalar> buffer;
    for (std::size_t b = 0; b < mine.measured.size(); ++b) {
      const auto [first, count] = mine.measured[b];
      const matrix_view<const Scalar> values = data.rows->read(first, count, buffer);
      for (std::size_t i = 0; i < count; ++i) {
        std::copy_n(values.row(i), columns(), rows.data() + (b * block_rows + i) * columns());
      }
      if (data.weights == nullptr) continue;
      const matrix_view<const Scalar> column = data.weights->read(first, count, buffer);
      for (std::size_t i = 0; i < count; ++i) weights[b * block_rows + i] = column(i, 0);
    }
    mine.drawn_rows.upload(rows, stream);
    if (data.weights != nullptr) mine.drawn_weights.upload(weights, stream);
    stream.synchronize();  // `rows` and `weights` die here
  }

  // Rows of shares that are resident, without the host's reading them one by one.
  void gather(std::span<const std::size_t> rows, std::vector<double>& points) {
    const std::size_t before = points.size();
    points.resize(before + rows.size() * columns());
    if (shares_.size() == 1) {
      const cuda::device_scope scope(device(0).device);
      cuda::device_buffer<std::size_t> indices;
      cuda::device_buffer<double> found(rows.size() * columns());
      indices.upload(rows, device(0).compute);
      gather_points(shares_[0].all, columns(), indices.data(), rows.size(), found.data(), device(0).compute);
      fetch(0, found.data(), rows.size() * columns(), points.data() + before);
      device(0).compute.synchronize();
      return;
    }
    for (std::size_t g = 0; g < shares_.size(); ++g) {
      std::vector<std::size_t> wanted, places;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (gpu_of(rows[i]) != g) continue;
        wanted.push_back(rows[i] - rows_->share_first(g));
        places.push_back(i);
      }
      if (wanted.empty()) continue;
      const cuda::device_scope scope(device(g).device);
      cuda::device_buffer<std::size_t> indices;
      cuda::device_buffer<double> found(wanted.size() * columns());
      indices.upload(wanted, device(g).compute);
      gather_points(shares_[g].all, columns(), indices.data(), wanted.size(), found.data(), device(g).compute);
      const std::vector<double> values = found.download(wanted.size() * columns(), device(g).compute);
      for (std::size_t i = 0; i < places.size(); ++i) {
        std::copy_n(values.data() + i * columns(), columns(), points.data() + before + places[i] * columns());
      }
    }
  }

  void applied(std::size_t count) {
    points_ += count;
    pending_.clear();
  }

  // What rows remember, before there is a point to remember.
  void begin() {
    if (begun_) return;
    begun_ = true;
    for (std::size_t g = 0; g < shares_.size(); ++g) {
      const cuda::device_scope scope(device(g).device);
      const std::size_t count = rows_->share_rows(g);
      shares_[g].least.grow(count);
      shares_[g].owner.grow(count);
      begin_least(shares_[g].least.data(), shares_[g].owner.data(), count, device(g).compute);
      shares_[g].sums.grow(blocks_of(rows_->most_piece_rows()) * most_trials);
    }
  }

  // One pass over all rows, which first applies the points that wait when `applying`. Waits for the devices.
  template <class Visit>
  void pass(bool applying, const Visit& visit) {
    const std::size_t count = applying ? pending_.size() / columns() : 0;
    rows_->for_each_piece([&](std::size_t g, const cuda::device_piece<Scalar>& piece) {
      share& mine = shares_[g];
      if (count > 0) {
        const auto first = static_cast<std::int32_t>(points_);
        Work* const least = mine.least.data() + piece.share_first;
        std::int32_t* const owner = mine.owner.data() + piece.share_first;
        const cuda::stream& stream = device(g).compute;
        if (!rows_->resident() ||
            !mine.coarse.apply(piece, *summary_, mine.points.data(), count, first, least, owner, stream)) {
          apply_points<Scalar, Work>(piece, columns(), mine.points.data(), count, first, least, owner, stream);
        }
      }
      visit(g, piece);
    });
    rows_->group().synchronize();
    if (count > 0) applied(count);
  }

  // Sums of blocks [blocks][stride], of which each rank has set those of its own rows, into sums of units, in order.
  std::vector<double> by_unit(std::span<const double> blocks, std::size_t stride) const {
    std::vector<double> of_all_ranks;
    if (!alone_) {
      const std::size_t first = first_row() / block_rows * stride, end = blocks_of(end_row()) * stride;
      const std::span<const double> own = blocks.subspan(first, end - first);
      of_all_ranks = rows_->gathered(std::vector<double>(own.begin(), own.end()));
      blocks = of_all_ranks;
    }
    std::vector<double> sums(units_.count() * stride);
    for (std::size_t block = 0; block * stride < blocks.size(); ++block) {
      const std::size_t unit = units_.unit_of(block * block_rows);
      for (std::size_t t = 0; t < stride; ++t) sums[unit * stride + t] += blocks[block * stride + t];
    }
    return sums;
  }

  cuda::device_rows<Scalar>* rows_;
  fold_context context_;
  const data_summary* summary_;
  row_units units_;
  weight_draw<Scalar> draw_by_weight_;
  bool alone_;
  std::vector<share> shares_;
  cuda::pinned_buffer<double> landing_;
  bool begun_ = false;
  std::shared_ptr<const device_candidates<Work>> candidates_;  // of k-means‖
  std::vector<double> pending_;                                // points that wait for a pass
  std::size_t points_ = 0;                                     // points applied
};

}  // namespace

template <class Scalar>
std::unique_ptr<seeding_passes> make_device_passes(cuda::device_rows<Scalar>& rows, const fold_context& context,
                                                   const data_summary& summary) {
  if (squares_need_float64(summary)) return std::make_unique<device_passes<Scalar, double>>(rows, context, summary);
  return std::make_unique<device_passes<Scalar, Scalar>>(rows, context, summary);
}

template std::unique_ptr<seeding_passes> make_device_passes(cuda::device_rows<float>&, const fold_context&,
                                                            const data_summary&);
template std::unique_ptr<seeding_passes> make_device_passes(cuda::device_rows<double>&, const fold_context&,
                                                            const data_summary&);

}  // namespace shoal
