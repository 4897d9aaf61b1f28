#include <shoal/kmeans/cuda/lloyd.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
#include <limits>
#include <utility>

#include <shoal/core/error.hpp>
#include <shoal/estimation/saved_state.hpp>
#include <shoal/execution/cuda/batch.hpp>
#include <shoal/execution/cuda/launches_ahead.hpp>
#include <shoal/execution/rank_rows.hpp>
#include <shoal/kmeans/cuda/far_rows.hpp>
#include <shoal/kmeans/cuda/fold.hpp>
#include <shoal/kmeans/cuda/tuning.hpp>
#include <shoal/kmeans/maximise.hpp>

namespace shoal::kmeans {
namespace {

constexpr std::size_t graph_steps = 8;  // of one graph
// Of so few rows so many steps go before they are recorded, since fits often end within them, in less time than graphs
// take to make. Of rows of so many columns the host looks after the first step, and then after so many times those that
// are done: fits of few wide rows often end in two steps, and those launched after the end cost more than a look.
constexpr std::size_t most_unrecorded_rows = 4096, unrecorded_steps = 24;
constexpr std::size_t least_looked_at_columns = most_tensor_columns + 1, unrecorded_growth = 2;
// So many graphs wait for the GPU, so that few are launched in vain after the end of a fit.
constexpr std::size_t graphs_in_flight = 2;
constexpr double never = std::numeric_limits<double>::quiet_NaN();

template <class Scalar>
class device_lloyd final : public clustering_stepper {
 public:
  device_lloyd(cuda::device_rows<Scalar>& rows, const fold_context& context, std::size_t clusters,
               first_centroids_function seed, const stop_limits& limits, std::vector<double> rows_mean,
               const rows_extent& extent)
      : context_(context),
        clusters_(clusters),
        seed_(std::move(seed)),
        limits_(limits),
        rows_mean_(std::move(rows_mean)),
        fold_(rows, clusters, extent),
        on_device_loop_(rows.resident() && rows.group().size() == 1 && alone(context.ranks)),
        unrecorded_(rows.rows() <= most_unrecorded_rows ? unrecorded_steps : 0) {
    if (on_device_loop_) fold_.expect_to_be_told();
  }

  void seed(std::size_t restart) override {
    set_centroids(seed_(restart));
    labelled_ = false;
    fingerprint_ = 0;
    change_ = never;
    relocated_ = 0;
  }

  std::vector<step_record> advance(std::size_t most_steps) override {
    if (context_.stop.stop_requested()) throw interrupted("stopped on request");
    const std::size_t steps = on_device_loop_ ? std::min({most_steps, batch_.steps(), most_at_once()}) : 1;
    loop_state state;
    state.labelled = labelled_;
    state.most_steps = static_cast<unsigned>(steps);
    state.change_before = change_;
    state.fingerprint_before = fingerprint_;
    folded_ = false;
    if (moves_origin()) fold_.set_origin(mean_of_centroids(centroids(), clusters_));
    fold_.begin(state);
    const auto start = std::chrono::steady_clock::now();
    run(steps);
    const auto finished = fold_.finish(steps);
    state = finished.state;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

    std::vector<step_record> records;
    if (state.steps > 0) {
      for (const device_record& one : finished.records) {
        records.push_back({one.inertia * scale(), one.change, one.settled != 0});
      }
      known_ = false;
      labelled_ = true;
      fingerprint_ = state.fingerprint_before;
      change_ = state.change_before;
    }
    if (state.stopped == found_empty_cluster) {
      records.push_back(step_of_host());
    } else {
      // A step without a move leaves the statistics of the present centroids.
      folded_ = records.back().settled && records.back().change == 0;
      batch_.took(seconds, records.size());
    }
    return records;
  }

  double score() override { return -inertia(); }

  std::vector<double> save() const override {
    std::vector<double> state = centroids();
    state.push_back(std::bit_cast<double>(fingerprint_));
    state.push_back(labelled_ ? 1.0 : 0.0);
    state.push_back(static_cast<double>(relocated_));
    state.push_back(change_);
    return state;
  }
  void restore(std::span<const double> state) override {
    state_reader words(state);
    const std::span<const double> saved = words.take_finite(clusters_ * fold_.rows().columns(), "the centroids");
    fingerprint_ = std::bit_cast<std::uint64_t>(words.take(1, "the fingerprint of the labels")[0]);
    labelled_ = words.take_flag("whether rows are labelled");
    relocated_ = words.take_count("the count of relocated centroids");
    change_ = words.take(1, "the last change")[0];  // may be none
    words.end();
    set_centroids({saved.begin(), saved.end()});
  }

  const std::vector<double>& centroids() const override {
    if (!known_) centroids_ = fold_.download();
    known_ = true;
    return centroids_;
  }
  std::size_t relocated() const override { return relocated_; }
  double inertia() override { return fold_rows().inertia * scale(); }
  std::vector<double> cluster_weights() override {
    std::vector<double> weights = fold_rows().weights;
    for (double& weight : weights) weight *= scale();
    return weights;
  }

 private:
  double scale() const { return fold_.rows().data().weight_scale; }

  void set_centroids(std::vector<double> centroids) {
    centroids_ = std::move(centroids);
    known_ = true;
    folded_ = false;
    batches_ = 0;
    fold_.rough() ? fold_.upload(centroids_, rows_mean_) : fold_.upload(centroids_);
  }

  // Whether the search gets another origin before the next batch. The first has what came with the centroids, and few
  // rows keep it as long as their steps go one by one: to fetch centroids costs more than a doubtful row. Where
  // it makes rows into operands anew it moves ever more seldom. Labels by rough products depend on it, and how
  // many steps a batch has is a matter of the clock: there it stays.
  bool moves_origin() {
    if (fold_.rough() || ++batches_ == 1 || unrecorded_ > 0) return false;
    return !fold_.keeps_operands() || std::has_single_bit(batches_);
  }

  void enqueue_step() { fold_.enqueue_step(limits_); }

  std::size_t most_at_once() const {
    if (unrecorded_ > 0) {
      if (fold_.rows().columns() < least_looked_at_columns) return unrecorded_;
      const std::size_t done = unrecorded_steps - unrecorded_;
      return std::clamp<std::size_t>(unrecorded_growth * done, 1, unrecorded_);
    }
    return most_batch;
  }

  void run(std::size_t steps) {
    if (!on_device_loop_) return enqueue_step();
    const cuda::device_scope scope(fold_.first_device());
    if (unrecorded_ > 0) {
      unrecorded_ -= steps;
      for (std::size_t step = 0; step < steps && !fold_.known_to_have_stopped(); ++step) enqueue_step();
      return;
    }
    if (!recorded_) recorded_.record(fold_.stream(), [&] { enqueue_step(); });
    ahead_.run(
        steps, fold_.stream(), context_.stop, [&] { return fold_.known_to_have_stopped(); },
        [&](std::size_t rest) { return recorded_.launch(rest, fold_.stream()); });
  }

  statistics fold_rows() {
    if (!folded_) {
      fold_.begin({});
      fold_.enqueue();
      folded_ = true;
    }
    return fold_.read_statistics();
  }

  // A step whose rows the device has folded, and which left a cluster empty.
  step_record step_of_host() {
    const statistics folded = fold_.read_statistics();
    const fetched_rows<Scalar> rows(context_, *fold_.rows().data().rows);
    moved_centroids moved = move_centroids(
        centroids(), folded, rows, [this](std::size_t count) { return farthest_rows_on_devices(fold_, count); });
    step_record record;
    record.objective = folded.inertia * scale();
    record.change = moved.change;
    record.settled = moved.change == 0;
    set_centroids(std::move(moved.centroids));
    relocated_ += moved.relocated;
    fingerprint_ = folded.fingerprint;
    labelled_ = true;
    change_ = moved.change;
    return record;
  }

  fold_context context_;
  std::size_t clusters_;
  first_centroids_function seed_;
  stop_limits limits_;
  std::vector<double> rows_mean_;
  device_fold<Scalar> fold_;
  bool on_device_loop_;
  cuda::recorded_steps recorded_{graph_steps};
  cuda::launches_ahead ahead_{graphs_in_flight};
  std::size_t unrecorded_;  // still to be enqueued one by one
  cuda::batch_size batch_{most_batch};
  mutable std::vector<double> centroids_;
  mutable bool known_ = false;  // centroids_ is what the device has
  bool folded_ = false;         // the device's statistics are those of the present centroids
  std::uint64_t fingerprint_ = 0;
  bool labelled_ = false;
  double change_ = never;
  std::size_t relocated_ = 0;
  std::size_t batches_ = 0;  // since the centroids were given
};

}  // namespace

template <class Scalar>
std::unique_ptr<clustering_stepper> make_device_lloyd(cuda::device_rows<Scalar>& rows, const fold_context& context,
                                                      std::size_t clusters, first_centroids_function seed,
                                                      const stop_limits& limits, std::vector<double> rows_mean,
                                                      const rows_extent& extent) {
  return std::make_unique<device_lloyd<Scalar>>(rows, context, clusters, std::move(seed), limits, std::move(rows_mean),
                                                extent);
}
template std::unique_ptr<clustering_stepper> make_device_lloyd(cuda::device_rows<float>&, const fold_context&,
                                                               std::size_t, first_centroids_function,
                                                               const stop_limits&, std::vector<double>,
                                                               const rows_extent&);
template std::unique_ptr<clustering_stepper> make_device_lloyd(cuda::device_rows<double>&, const fold_context&,
                                                               std::size_t, first_centroids_function,
                                                               const stop_limits&, std::vector<double>,
                                                               const rows_extent&);

template <class Scalar>
void label_on_device(cuda::device_rows<Scalar>& rows, const model& model,
                     const typename device_fold<Scalar>::labels_visitor& visit) {
  device_fold<Scalar> fold(rows, model.clusters);
  fold.upload(model.centroids);
  fold.begin({});
  fold.enqueue(visit);
  rows.group().synchronize();
}
template void label_on_device(cuda::device_rows<float>&, const model&, const device_fold<float>::labels_visitor&);
template void label_on_device(cuda::device_rows<double>&, const model&, const device_fold<double>::labels_visitor&);

template <class Scalar>
statistics predict_on_device(cuda::device_rows<Scalar>& rows, const model& model, std::int32_t* labels) {
  device_fold<Scalar> fold(rows, model.clusters);
  fold.upload(model.centroids);
  fold.begin({});
  fold.enqueue([&](const cuda::device_piece<Scalar>& piece, const std::int32_t* from, cudaStream_t stream) {
    if (labels == nullptr || !rows.owns_shards()) return;
    cuda::check(
        cudaMemcpyAsync(labels + piece.first, from, piece.count * sizeof(std::int32_t), cudaMemcpyDefault, stream),
        "copy labels from the device");
  });
  statistics sums = fold.read_statistics();
  rows.group().synchronize();
  return in_callers_weights(std::move(sums), rows.data().weight_scale);
}
template statistics predict_on_device(cuda::device_rows<float>&, const model&, std::int32_t*);
template statistics predict_on_device(cuda::device_rows<double>&, const model&, std::int32_t*);

}  // namespace shoal::kmeans
