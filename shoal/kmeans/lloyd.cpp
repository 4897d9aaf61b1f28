#include <shoal/kmeans/lloyd.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include <shoal/estimation/saved_state.hpp>
#include <shoal/execution/rank_rows.hpp>
#include <shoal/kmeans/maximise.hpp>
#include <shoal/nearest/bounded_search.hpp>
#include <shoal/nearest/nearest.hpp>

namespace shoal::kmeans {

template <class Scalar>
lloyd<Scalar>::lloyd(const fold_context& context, const weighted_rows<Scalar>& data, std::size_t clusters,
                     seed_function seed, std::size_t memory)
    : context_(context),
      data_(data),
      clusters_(clusters),
      columns_(data.rows->columns()),
      seed_(std::move(seed)),
      folder_(data, statistics_monoid{clusters, columns_}),
      statistics_(statistics_monoid{clusters, columns_}.identity()) {
  const bool may_keep = data.rows->resident() || context.memory_limit == 0;
  if (sizeof(Scalar) == 4 && may_keep && has_bounded_search() && pairs_pay(clusters, columns_)) {
    const std::size_t rows = data.rows->rows();
    by_pairs_ =
        rows <= kept_bytes_factor * memory / (sizeof(std::int32_t) + bounded_rows::bytes_of_row(clusters, columns_));
    if (by_pairs_) return;
  }
  if (sizeof(Scalar) == 4 && may_keep && has_byte_search()) {
    const std::size_t room = kept_bytes_factor * memory / byte_rows::bytes_of_row(columns_);
    most_byte_rows_ = std::min(data.rows->rows(), room / block_rows * block_rows);
  }
  if (worthwhile_share(clusters, columns_) > most_worthwhile_share) return;
  rows_.rows = std::min(data.rows->rows(), memory / (sizeof(std::int32_t) + sizeof(Scalar)));
}

template <class Scalar>
void lloyd<Scalar>::seed(std::size_t restart) {
  centroids_ = seed_(restart);
  labelled_ = false;
  fingerprint_ = 0;
  relocated_ = 0;
}

template <class Scalar>
const statistics& lloyd<Scalar>::fold_rows() {
  if (folded_ != centroids_) {
    folded_.clear();  // nothing is known if the fold is interrupted
    choose_origin();
    // Where rows have labels and bounds, few will be compared with all centroids.
    const bool labelled = by_pairs_ && !rows_about_.empty();
    prepared_.set(centroids_, clusters_, columns_, data_.rows->rows(), context_.workers, origin_, labelled);
    const bool keeps_bytes = most_byte_rows_ > 0 && prepared_.index().has_bytes();
    if (keeps_bytes) bytes_.grow(most_byte_rows_, columns_);
    // A search among cells takes less time than looking up what is remembered.
    const bool remembers = rows_.rows > 0 && !prepared_.index().cells().any();
    if (remembers) measure_drifts();
    const bool pairs = by_pairs_ && byte_centroids::may_be(prepared_.index());
    if (pairs) prepare_pairs();
    rows_about_.clear();
    statistics_ = folder_(context_, {&prepared_, nullptr, remembers ? &rows_ : nullptr, keeps_bytes ? &bytes_ : nullptr,
                                     pairs ? &pairs_ : nullptr});
    folded_ = centroids_;
    if (remembers || pairs) rows_about_ = centroids_;
  }
  return statistics_;
}

// Rows that are kept as bytes have an origin that stays as long as the centroids lie about it.
template <class Scalar>
void lloyd<Scalar>::choose_origin() {
  if (most_byte_rows_ == 0 && !by_pairs_) return;
  std::vector<double> mean(columns_, 0.0);
  const double share = 1 / static_cast<double>(clusters_);
  for (std::size_t k = 0; k < clusters_; ++k) {
    for (std::size_t j = 0; j < columns_; ++j) mean[j] += centroids_[k * columns_ + j] * share;
  }
  // Column by column, so that no sum waits for the one before it.
  std::vector<double> squares(columns_, 0.0);
  for (std::size_t k = 0; k < clusters_; ++k) {
    for (std::size_t j = 0; j < columns_; ++j) {
      const double difference = centroids_[k * columns_ + j] - mean[j];
      squares[j] += difference * difference;
    }
  }
  double apart = 0, spread = 0;
  for (const double square : squares) spread += square * share;
  for (std::size_t j = 0; j < origin_.size(); ++j) {
    const double difference = mean[j] - static_cast<double>(origin_[j]);
    apart += difference * difference;
  }
  if (!origin_.empty() && apart <= spread / 16) return;
  origin_.resize(columns_);
  for (std::size_t j = 0; j < columns_; ++j) {
    const auto rounded = static_cast<Scalar>(mean[j]);
    origin_[j] = std::isfinite(rounded) ? rounded : Scalar{0};
  }
  bytes_.forget();
  pairs_.rows.forget_bytes();
}

// How far centroid k has moved since the rows were last folded.
template <class Scalar>
double lloyd<Scalar>::moved_by(std::size_t k) const {
  constexpr std::size_t chains = 4;  // so that no sum waits for the one before it
  double squared[chains] = {};
  const double* const now = centroids_.data() + k * columns_;
  const double* const then = rows_about_.data() + k * columns_;
  for (std::size_t j = 0; j < columns_; ++j) squared[j % chains] += (now[j] - then[j]) * (now[j] - then[j]);
  return std::sqrt(squared[0] + squared[1] + (squared[2] + squared[3]));
}

// How far each centroid's rivals may have come nearer since the rows were last folded.
template <class Scalar>
void lloyd<Scalar>::measure_drifts() {
  rows_.labels.grow(rows_.rows);
  rows_.others.grow(rows_.rows);
  rows_.known = !rows_about_.empty();
  if (!rows_.known) return;
  double farthest = 0, second = 0;
  rows_.runner = 0;
  for (std::size_t k = 0; k < clusters_; ++k) {
    const double moved = moved_by(k);
    if (moved > farthest) {
      second = farthest;
      farthest = moved;
      rows_.runner = static_cast<std::int32_t>(k);
    } else {
      second = std::max(second, moved);
    }
  }
  // Rounded up: a little too much drift is safe, and covers squares that were lost below the normal numbers.
  const auto up = [](double drift) { return static_cast<Scalar>(drift * (1 + 1e-6) + 1e-150); };
  rows_.farthest = up(farthest);
  rows_.second = up(second);
}

// What has moved since rows were last folded, and the unit of their bounds once the rows' distances are known.
template <class Scalar>
void lloyd<Scalar>::prepare_pairs() {
  if constexpr (sizeof(Scalar) == 4) {
    const std::size_t rows = data_.rows->rows();
    pairs_.labels.grow(rows);
    pairs_.rows.grow(rows, clusters_, columns_);
    pairs_.labelled = !rows_about_.empty();
    if (!pairs_.labelled) {
      pairs_.rows.forget_bounds(0);
      return;
    }
    pairs_.centroids.set(prepared_.index(), context_.workers);
    const double weight = std::accumulate(statistics_.weights.begin(), statistics_.weights.end(), 0.0);
    const double unit = most_mean_distances * std::sqrt(statistics_.inertia / weight) / bounded_rows::most_bound;
    const auto present = static_cast<double>(pairs_.rows.unit());
    if (unit <= 2 * present && present <= 4 * unit) {
      pairs_.rows.keep_bounds();
    } else {
      pairs_.rows.forget_bounds(unit > 1e-15 && unit < 1e15 ? static_cast<float>(unit) : 0);
    }
    if (!(pairs_.rows.unit() > 0)) return;
    std::vector<double> moved(clusters_);
    for (std::size_t k = 0; k < clusters_; ++k) moved[k] = moved_by(k);
    pairs_.rows.set_drifts(moved);
  }
}

template <class Scalar>
std::vector<step_record> lloyd<Scalar>::advance(std::size_t) {
  fold_rows();
  step_record record;
  record.objective = statistics_.inertia * data_.weight_scale;
  record.settled = labelled_ && statistics_.fingerprint == fingerprint_;
  if (record.settled) return {record};
  moved_centroids moved =
      move_centroids<Scalar>(centroids_, statistics_, fetched_rows<Scalar>(context_, *data_.rows),
                             [this](std::size_t count) { return farthest_rows(context_, data_, prepared_, count); });
  record.change = moved.change;
  centroids_ = std::move(moved.centroids);
  relocated_ += moved.relocated;
  fingerprint_ = statistics_.fingerprint;
  labelled_ = true;
  record.settled = record.change == 0;  // the same centroids would give the same labels
  return {record};
}

template <class Scalar>
double lloyd<Scalar>::inertia() {
  return fold_rows().inertia * data_.weight_scale;
}

template <class Scalar>
double lloyd<Scalar>::score() {
  return -inertia();
}

template <class Scalar>
std::vector<double> lloyd<Scalar>::cluster_weights() {
  std::vector<double> weights = fold_rows().weights;
  for (double& weight : weights) weight *= data_.weight_scale;
  return weights;
}

template <class Scalar>
std::vector<double> lloyd<Scalar>::save() const {
  std::vector<double> state = centroids_;
  state.push_back(std::bit_cast<double>(fingerprint_));
  state.push_back(labelled_ ? 1.0 : 0.0);
  state.push_back(static_cast<double>(relocated_));
  return state;
}

template <class Scalar>
void lloyd<Scalar>::restore(std::span<const double> state) {
  state_reader words(state);
  const std::span<const double> centroids = words.take_finite(clusters_ * columns_, "the centroids");
  fingerprint_ = std::bit_cast<std::uint64_t>(words.take(1, "the fingerprint of the labels")[0]);
  labelled_ = words.take_flag("whether rows are labelled");
  relocated_ = words.take_count("the count of relocated centroids");
  words.end();
  centroids_.assign(centroids.begin(), centroids.end());
}

template class lloyd<float>;
template class lloyd<double>;

}  // namespace shoal::kmeans
