#include <shoal/estimation/seeding.hpp>

#include <algorithm>
#include <limits>

#include <shoal/algebra/instances/sums.hpp>
#include <shoal/estimation/nearest.hpp>
#include <shoal/estimation/seed_draw.hpp>

namespace shoal {
namespace {

constexpr std::size_t rounds = 5;
constexpr double oversampling = 2;  // rows kept a round, as a multiple of K

template <class Work>
struct parallel_scratch {
  nearest_scratch<Work> nearest;
  aligned_buffer<Work> rows;
  aligned_buffer<std::int32_t> labels;
  aligned_buffer<Work> distances;
  aligned_buffer<std::int32_t> owner;  // when there is no cache
  aligned_buffer<Work> least;
};

// Rows that were kept because they are far from all kept before. `Work` is the scalar of distances.
template <class Scalar, class Work>
class parallel_candidates {
 public:
  parallel_candidates(const fold_context& context, const weighted_rows<Scalar>& data, const seeding_request& request)
      : context_(context),
        data_(data),
        request_(request),
        columns_(data.rows->columns()),
        units_(data.rows->rows(), columns_, sizeof(Scalar)),
        cached_(data.rows->rows() <= seeding_cache_bytes / (sizeof(Work) + sizeof(std::int32_t))) {
    if (!cached_) return;
    least_.grow(data.rows->rows());
    owner_.grow(data.rows->rows());
    std::fill_n(least_.data(), data.rows->rows(), std::numeric_limits<Work>::infinity());
    std::fill_n(owner_.data(), data.rows->rows(), 0);
  }

  void choose() {
    weight_draw<Scalar> draw(context_, data_);
    std::vector<double> kept;
    append_row(*data_.rows,
               draw(random::uniform_at(request_.seed, seeding_stream(request_, seeding_use::first_row), 0)), kept);
    for (std::size_t round = 0; round < rounds; ++round) {
      add(kept);
      const double total = update_all();
      kept.clear();
      if (!(total > 0) || !(total * 0 == 0)) break;
      for (const std::size_t row : sample(round, total)) append_row(*data_.rows, row, kept);
    }
    add(kept);
  }

  const std::vector<double>& points() const { return points_; }

  // Σ weight of the rows nearest to each candidate.
  std::vector<double> weights() {
    struct weight_body {
      using scratch = parallel_scratch<Work>;
      parallel_candidates* self;
      void operator()(const row_block<Scalar>& piece, const team_member& member, scratch& memory,
                      std::vector<double>& into) const {
        if (member.rank() != 0) return;
        self->for_each_block(piece, memory,
                             [&](std::size_t begin, std::size_t count, const Work*, const std::int32_t* owner) {
                               for (std::size_t i = 0; i < count; ++i) {
                                 into[static_cast<std::size_t>(owner[i])] +=
                                     piece.weights == nullptr ? 1.0 : static_cast<double>(piece.weights[begin + i]);
                               }
                             });
      }
    };
    return fold<Scalar>(context_, data_, algebra::componentwise_sum<double>(points_.size() / columns_),
                        weight_body{this});
  }

 private:
  // Candidates come in batches; the index of a batch finds the nearest of it, and the cache remembers the nearest of
  // all batches before.
  struct batch {
    std::size_t first;
    std::vector<Work> points;
    centroid_index<Work> index;
  };

  void add(const std::vector<double>& points) {
    applied_ = batches_.size();
    if (points.empty()) return;
    batches_.push_back({points_.size() / columns_,
                        {points.begin(), points.end()},
                        centroid_index<Work>(points, points.size() / columns_, columns_)});
    points_.insert(points_.end(), points.begin(), points.end());
  }

  // Calls visit(begin, count, least, owner) for each block of the piece, up to date with all batches.
  template <class Visit>
  void for_each_block(const row_block<Scalar>& piece, parallel_scratch<Work>& memory, const Visit& visit) {
    memory.labels.grow(block_rows);
    memory.distances.grow(block_rows);
    for (std::size_t begin = 0; begin < piece.rows.rows(); begin += block_rows) {
      const std::size_t count = std::min(block_rows, piece.rows.rows() - begin);
      Work* least = least_.data() + piece.first + begin;
      std::int32_t* owner = owner_.data() + piece.first + begin;
      if (!cached_) {
        memory.least.grow(block_rows);
        memory.owner.grow(block_rows);
        least = memory.least.data();
        owner = memory.owner.data();
        std::fill_n(least, count, std::numeric_limits<Work>::infinity());
        std::fill_n(owner, count, 0);
      }
      const std::size_t first_batch = cached_ ? applied_ : 0;
      if (first_batch < batches_.size()) {
        const auto rows = in_scalar<Work>(piece.rows.middle_rows(begin, count), memory.rows);
        for (std::size_t b = first_batch; b < batches_.size(); ++b) apply(batches_[b], rows, least, owner, memory);
      }
      visit(begin, count, least, owner);
    }
  }

  void apply(const batch& added, matrix_view<const Work> rows, Work* least, std::int32_t* owner,
             parallel_scratch<Work>& memory) const {
    find_nearest(added.index, rows, memory.labels.data(), memory.nearest);
    distances_to_labels<Work>(rows, {added.points.data(), added.points.size() / columns_, columns_},
                              memory.labels.data(), memory.distances.data());
    for (std::size_t i = 0; i < rows.rows(); ++i) {
      if (memory.distances[i] < least[i]) {
        least[i] = memory.distances[i];
        owner[i] = static_cast<std::int32_t>(added.first) + memory.labels[i];
      }
    }
  }

  // Σ weight · least squared distance, with the cache brought up to date.
  double update_all() {
    std::vector<double> sums(units_.count());
    for_each_piece<Scalar>(
        context_, data_, units_.plan(), units_.shape(), scratch_,
        [&](std::size_t, const row_block<Scalar>& piece, const team_member&, parallel_scratch<Work>& memory) {
          for_each_block(piece, memory,
                         [&](std::size_t begin, std::size_t count, const Work* least, const std::int32_t*) {
                           const Scalar* weights = piece.weights == nullptr ? nullptr : piece.weights + begin;
                           sums[units_.unit_of(piece.first + begin)] += sum_of_minima(least, least, weights, count);
                         });
        });
    applied_ = batches_.size();
    return total_of(sums);
  }

  // Each row on its own, with the probability oversampling · K · weight · distance / total.
  std::vector<std::size_t> sample(std::size_t round, double total) {
    const double rate = oversampling * static_cast<double>(request_.clusters) / total;
    const std::uint64_t stream = seeding_stream(request_, seeding_use::oversample, round);
    std::vector<std::vector<std::size_t>> kept(units_.plan().lanes);
    for_each_piece<Scalar>(
        context_, data_, units_.plan(), units_.shape(), scratch_,
        [&](std::size_t lane, const row_block<Scalar>& piece, const team_member&, parallel_scratch<Work>& memory) {
          for_each_block(
              piece, memory, [&](std::size_t begin, std::size_t count, const Work* least, const std::int32_t*) {
                for (std::size_t i = 0; i < count; i += 4) {  // one block of random words for four rows
                  const std::size_t row = piece.first + begin + i;
                  const auto words = random::philox4x32::block(request_.seed, stream, row / 4);
                  for (std::size_t lane_row = i; lane_row < std::min(count, i + 4); ++lane_row) {
                    const double weight =
                        piece.weights == nullptr ? 1.0 : static_cast<double>(piece.weights[begin + lane_row]);
                    const double u = (static_cast<double>(words[lane_row - i]) + 0.5) * 0x1p-32;
                    if (u < rate * weight * static_cast<double>(least[lane_row])) {
                      kept[lane].push_back(piece.first + begin + lane_row);
                    }
                  }
                }
              });
        });
    std::vector<std::size_t> all;
    for (const auto& lane : kept) all.insert(all.end(), lane.begin(), lane.end());
    return all;
  }

  fold_context context_;
  weighted_rows<Scalar> data_;
  seeding_request request_;
  std::size_t columns_;
  row_units units_;
  bool cached_;
  aligned_buffer<Work> least_;          // [rows] least squared distance to the batches before applied_
  aligned_buffer<std::int32_t> owner_;  // [rows] the candidate at that distance
  std::vector<double> points_;
  std::vector<batch> batches_;
  std::size_t applied_ = 0;
  std::vector<parallel_scratch<Work>> scratch_;
};

template <class Scalar, class Work>
std::vector<double> run_parallel(const fold_context& context, const weighted_rows<Scalar>& data,
                                 const data_summary& summary, const seeding_request& request) {
  parallel_candidates<Scalar, Work> candidates(context, data, request);
  candidates.choose();
  const std::size_t columns = data.rows->columns();
  const std::size_t count = candidates.points().size() / columns;
  if (count >= request.clusters) {
    const std::vector<double> weights = candidates.weights();
    const view_source<double> rows({candidates.points().data(), count, columns});
    const view_source<double> row_weights({weights.data(), count, 1});
    seeding_request among = request;
    among.stream = seeding_stream(request, seeding_use::candidates);
    plus_plus_result chosen = run_plus_plus<double>(context, {&rows, &row_weights, 1}, summary, among);
    if (!chosen.ran_out) return std::move(chosen.points);
  }
  // Too few distinct candidates: the data are small or nearly all alike, and k-means++ sees every row of them.
  return seed_plus_plus(context, data, summary, request);
}

}  // namespace

template <class Scalar>
std::vector<double> seed_parallel(const fold_context& context, const weighted_rows<Scalar>& data,
                                  const data_summary& summary, const seeding_request& request) {
  if (squares_need_float64(summary)) return run_parallel<Scalar, double>(context, data, summary, request);
  return run_parallel<Scalar, Scalar>(context, data, summary, request);
}

template std::vector<double> seed_parallel(const fold_context&, const weighted_rows<float>&, const data_summary&,
                                           const seeding_request&);
template std::vector<double> seed_parallel(const fold_context&, const weighted_rows<double>&, const data_summary&,
                                           const seeding_request&);

}  // namespace shoal
