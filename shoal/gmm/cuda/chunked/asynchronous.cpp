#include <shoal/gmm/cuda/chunked/asynchronous.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/graph.hpp>
#include <shoal/execution/cuda/launches_ahead.hpp>
#include <shoal/gmm/cuda/chunked/kept_statistics.hpp>
#include <shoal/gmm/cuda/mixture.hpp>

namespace shoal::gmm {
namespace {

// Graphs that wait for the GPU.
constexpr std::size_t graphs_in_flight = 3;

// Passes of one graph: between two graphs the last superchunk's folding-in hides behind nothing.
constexpr std::size_t graph_passes = 4;

// Multiprocessors without expectation, for everything else.
constexpr std::size_t free_multiprocessors = 2;

// What a worker on one shard works in. All but the accumulator is its own: a GPU does its shards one after another.
template <class Scalar>
struct shard_worker {
  prepared_mixture<Scalar> mixture;           // that its next superchunk meets
  prepared_mixture<Scalar> mixture_on_first;  // the same on the first GPU; unused there
  cuda::device_buffer<double> fresh;
  cuda::device_buffer<double> fresh_on_first;  // unused there
  cuda::stream side;
  cuda::event summed, merged, published;
};

// An accumulator of a GPU, and the merge that must be done before it is used again.
template <class Scalar>
struct shared_accumulator {
  std::unique_ptr<gmm::accumulator<Scalar>> sums;
  const cuda::event* merged = nullptr;
};

template <class Scalar>
class asynchronous final : public device_chunked_fit<Scalar> {
 public:
  asynchronous(const device_fit_rows<Scalar>& fit, std::size_t workers)
      : device_chunked_fit<Scalar>(fit),
        shards_(fit.rows.shards().count()),
        kept_(fit.rows.group(), this->layout_, this->plan_.superchunks() * shards_),
        recordable_(fit.rows.group().size() == 1 && fit.rows.resident()) {
    if (pass_steps() > most_steps) {
      throw bad_argument(
          fmt::format("chunks.superchunks: an asynchronous pass over {} shards of rows on CUDA devices has at most {}; "
                      "got {}",
                      shards_, most_steps / shards_, this->plan_.superchunks()));
    }
    cuda::device_group& group = fit.rows.group();
    const std::size_t free = workers > 1 ? free_multiprocessors : 0;
    const std::size_t most = std::min(this->plan_.superchunk * this->plan_.chunk_rows, fit.rows.most_shard_rows());
    for (std::size_t g = 0; g < group.size(); ++g) {
      const cuda::device_scope scope(group[g].device);
      accumulators_.emplace_back(workers);
      for (shared_accumulator<Scalar>& made : accumulators_[g]) {
        made.sums =
            make_accumulator<Scalar>({this->layout_, most, std::max<std::size_t>(1, group[g].multiprocessors - free),
                                      group[g].shared_bytes, fit.rows.weighted(), group.precision()});
      }
    }
    for (std::size_t s = 0; s < shards_; ++s) {
      const std::size_t g = fit.rows.gpu_of(s);
      workers_.emplace_back();
      for (std::size_t w = 0; w < workers; ++w) {
        const cuda::device_scope scope(group[g].device);
        shard_worker<Scalar>& made = workers_[s].emplace_back();
        made.mixture = prepared_mixture<Scalar>(this->layout_);
        made.fresh.grow(this->layout_.size());
        if (g == 0) continue;
        const cuda::device_scope first(group[0].device);
        made.mixture_on_first = prepared_mixture<Scalar>(this->layout_);
        made.fresh_on_first.grow(this->layout_.size());
      }
    }
    const cuda::device_scope scope(group[0].device);
    consolidation_ = cuda::stream();
  }

  void seed(std::size_t restart) override {
    device_chunked_fit<Scalar>::seed(restart);
    forget_graphs();
    pass_ = 0;
  }

  std::vector<double> save() const override { return this->save_model(); }

  void restore(std::span<const double> state) override {
    state_reader words(state);
    this->restore_model(words);
    words.end();
    forget_graphs();
    pass_ = 0;
  }

 private:
  void forget() override {
    kept_valid_ = false;
    quiet_ = false;
    previous_known_ = false;
  }
  const double* total() const override { return kept_.total(); }

  void forget_graphs() {
    for (cuda::graph& graph : graphs_) graph = {};
  }

  std::vector<step_record> advance_passes(std::size_t most) override {
    const std::vector<step_record> records = kept_valid_ ? free_passes(most) : full_pass();
    pass_ += records.size();
    if (this->stopped()) gave_newest_ = false;
    previous_known_ = kept_valid_;
    previous_objective_ = records.back().objective;
    return records;
  }

  std::vector<step_record> free_passes(std::size_t most) {
    if (!gave_newest_) give_newest();
    const double threshold = this->fit_.options.chunks.threshold;
    return threshold > 0 ? pass_with_threshold(threshold) : passes(most);
  }

  std::size_t pass_steps() const { return this->plan_.superchunks() * shards_; }
  const cuda::gpu& first() const { return this->fit_.rows.group()[0]; }

  // Workers that begin have the newest model.
  void give_newest() {
    give_model_to_all(first().compute);
    hold_all(first().compute);
    gave_newest_ = true;
  }

  void begin_passes(std::size_t steps, bool compare) {
    this->parts_.set_pass_steps(steps);
    this->parts_.begin_steps(compare ? previous_objective_ : not_known, this->fit_.options.tolerance);
  }

  // The expectation step of batch, which leaves every superchunk's statistics behind.
  std::vector<step_record> full_pass() {
    begin_passes(1, false);
    give_newest();
    const std::size_t superchunks = this->plan_.superchunks();
    run_superchunks(1, [&](std::size_t superchunk, std::size_t s, const fresh_statistics& fresh) {
      const std::size_t slot = superchunk * shards_ + s;
      if (slot + 1 < superchunks * shards_) {
        kept_.keep(slot, fresh, consolidation_);
        return;
      }
      kept_.replace(slot, fresh, present_centres(), stop_word(), consolidation_);
      this->parts_.maximise(kept_.total(), consolidation_);
      give_model_to_all(consolidation_);
    });
    this->parts_.broadcast();
    kept_valid_ = true;
    renewed_ = true;
    return this->records_of(this->end_steps(), 1);
  }

  // Below the threshold old contributions stay. They may hold the fit back, so when none moved, the next pass renews
  // all.
  std::vector<step_record> pass_with_threshold(double threshold) {
    const bool every = quiet_ || pass_ % this->fit_.options.chunks.rebuild_passes == 0;
    begin_passes(pass_steps(), false);
    const cuda::device_scope scope(first().device);
    kept_.begin_count(first().compute);
    if (recordable_) {
      cuda::graph& graph = graphs_[every ? 0 : 1];
      if (!graph) graph = cuda::graph::record(first().compute, [&] { enqueue_passes(1, every ? 0 : threshold); });
      graph.launch(first().compute);
    } else {
      enqueue_whole_pass(every ? 0 : threshold);
    }
    this->parts_.broadcast();
    std::vector<step_record> records = this->records_of(this->end_steps(), pass_steps());
    const bool nothing = kept_valid_ && !every && kept_.folded(first().compute) == 0;
    records.back().settled = nothing && renewed_;
    quiet_ = nothing && !renewed_;
    renewed_ = every;
    return records;
  }

  std::vector<step_record> passes(std::size_t most) {
    begin_passes(pass_steps(), previous_known_);
    const cuda::device_scope scope(first().device);
    if (!recordable_) {
      enqueue_whole_pass(0);
    } else {
      const std::size_t limit = std::min(previous_known_ ? most : 1, std::size_t{most_steps} / pass_steps());
      ahead_.run(
          limit, first().compute, this->fit_.context.stop, [&] { return this->parts_.stopped(); },
          [&](std::size_t rest) {
            const std::size_t some = rest >= graph_passes ? graph_passes : 1;
            cuda::graph& graph = graphs_[some == 1 ? 0 : 2];
            if (!graph) graph = cuda::graph::record(first().compute, [&] { enqueue_passes(some, 0); });
            graph.launch(first().compute);
            return some;
          });
    }
    this->parts_.broadcast();
    return this->records_of(this->end_steps(), pass_steps());
  }

  // Whoever is stopped within a pass goes on with one of batch, because only whole passes can be counted.
  void enqueue_whole_pass(double threshold) {
    try {
      enqueue_passes(1, threshold);
    } catch (const interrupted&) {
      this->end_steps();
      forget();
      throw;
    }
  }

  void enqueue_passes(std::size_t count, double threshold) {
    run_superchunks(count, [&](std::size_t superchunk, std::size_t s, const fresh_statistics& fresh) {
      const std::size_t slot = superchunk * shards_ + s;
      if (threshold > 0) {
        kept_.replace_moved(slot, fresh, present_centres(), stop_word(), threshold, consolidation_);
      } else {
        kept_.replace(slot, fresh, present_centres(), stop_word(), consolidation_);
      }
      this->parts_.maximise(kept_.total(), consolidation_);
      give_model(s, workers_[s][superchunk % workers_[s].size()], consolidation_);
    });
  }

  // Enqueues passes over all superchunks. `consolidate` is called for each and each shard, in order, when what it says
  // is ready in the stream of consolidations.
  template <class Consolidate>
  void run_superchunks(std::size_t count, const Consolidate& consolidate) {
    try {
      enqueue_superchunks(count, consolidate);
    } catch (...) {
      hold_all(consolidation_);
      throw;
    }
    hold_all(consolidation_);
  }

  template <class Consolidate>
  void enqueue_superchunks(std::size_t count, const Consolidate& consolidate) {
    cuda::device_group& group = this->fit_.rows.group();
    const std::size_t workers = workers_[0].size();
    const std::size_t all = count * this->plan_.superchunks();
    for (std::size_t visit = 0; visit < all; ++visit) {
      const std::size_t superchunk = visit % this->plan_.superchunks();
      const std::size_t w = superchunk % workers;
      // The model that this worker is given is the one that its last superchunk led to; before the first of these
      // passes all work in these streams is done.
      const bool given_before = visit >= workers || visit > superchunk;
      sum(superchunk, w, given_before);
      for (std::size_t s = 0; s < shards_; ++s) {
        shard_worker<Scalar>& worker = workers_[s][w];
        const bool on_first = this->fit_.rows.gpu_of(s) == 0;
        const cuda::device_scope scope(group[0].device);
        worker.merged.hold(consolidation_);
        const auto& mixture = on_first ? worker.mixture : worker.mixture_on_first;
        consolidate(
            superchunk, s,
            {on_first ? worker.fresh.data() : worker.fresh_on_first.data(), mixture.arrays().in_double.centres});
        worker.published.record(consolidation_);
      }
    }
    // The next passes begin when all of this is done.
    for (auto& of_gpu : accumulators_) {
      for (shared_accumulator<Scalar>& one : of_gpu) one.merged = nullptr;
    }
  }

  // The sums of a superchunk of each shard under its worker's model, on the first GPU.
  void sum(std::size_t superchunk, std::size_t w, bool given_before) {
    cuda::device_rows<Scalar>& rows = this->fit_.rows;
    cuda::device_group& group = rows.group();
    for (std::size_t turn = 0; turn < rows.turns(); ++turn) {
      const auto for_each_gpu = [&](const auto& call) {
        for (std::size_t g = 0; g < group.size(); ++g) {
          if (turn >= rows.shards_of(g)) continue;
          const cuda::device_scope scope(group[g].device);
          call(g, workers_[rows.first_shard(g) + turn][w]);
        }
      };
      // The accumulators of a GPU in rotation: one is merged while another takes the rows of the next shard.
      std::vector<shared_accumulator<Scalar>*> taken(group.size());
      for_each_gpu([&](std::size_t g, shard_worker<Scalar>& worker) {
        std::rotate(accumulators_[g].begin(), accumulators_[g].begin() + 1, accumulators_[g].end());
        taken[g] = &accumulators_[g].back();
        if (taken[g]->merged != nullptr) taken[g]->merged->hold(group[g].compute);
        if (given_before) worker.published.hold(group[g].compute);
        taken[g]->sums->clear(worker.mixture.parameters(), group[g].compute);
      });
      std::size_t before = 0;  // rows of the ranges that are done, in whole units
      for (const cuda::shard_range& range : this->ranges(superchunk, 0)) {
        rows.for_each_piece_of(turn, range, [&](std::size_t g, std::size_t s, cuda::device_piece<Scalar> piece) {
          piece.share_first = before + (piece.share_first - range.first);
          taken[g]->sums->add(piece, workers_[s][w].mixture.parameters(), group[g].compute);
        });
        before += (range.count + cuda::piece_unit - 1) / cuda::piece_unit * cuda::piece_unit;
      }
      for_each_gpu([&](std::size_t g, shard_worker<Scalar>& worker) {
        worker.summed.record(group[g].compute);
        worker.summed.hold(worker.side);
        taken[g]->sums->merge(worker.fresh.data(), worker.mixture.parameters(), worker.side);
        if (g > 0) {
          cuda::check(cudaMemcpyPeerAsync(worker.fresh_on_first.data(), group[0].device, worker.fresh.data(),
                                          group[g].device, this->layout_.size() * sizeof(double), worker.side),
                      "copy between devices");
        }
        worker.merged.record(worker.side);
        taken[g]->merged = &worker.merged;
      });
    }
  }

  // Gives a worker the first GPU's model, in the order of a stream of that GPU.
  void give_model(std::size_t s, shard_worker<Scalar>& worker, cudaStream_t stream) {
    cuda::device_group& group = this->fit_.rows.group();
    const std::size_t g = this->fit_.rows.gpu_of(s);
    prepared_mixture<Scalar>& newest = this->parts_.mixture(0);
    prepared_mixture<Scalar>& here = g == 0 ? worker.mixture : worker.mixture_on_first;
    const cuda::device_scope scope(group[0].device);
    cuda::check(cudaMemcpyAsync(here.data(), newest.data(), newest.bytes(), cudaMemcpyDeviceToDevice, stream),
                "copy on the device");
    if (g == 0) return;
    cuda::check(cudaMemcpyPeerAsync(worker.mixture.data(), group[g].device, here.data(), group[0].device,
                                    newest.bytes(), stream),
                "copy between devices");
  }

  void give_model_to_all(cudaStream_t stream) {
    for (std::size_t s = 0; s < shards_; ++s) {
      for (shard_worker<Scalar>& worker : workers_[s]) give_model(s, worker, stream);
    }
  }

  // What follows in the compute streams finds what is in the first GPU's stream done.
  void hold_all(cudaStream_t stream) {
    cuda::device_group& group = this->fit_.rows.group();
    {
      const cuda::device_scope scope(group[0].device);
      joined_.record(stream);
    }
    for (std::size_t g = 0; g < group.size(); ++g) {
      const cuda::device_scope scope(group[g].device);
      joined_.hold(group[g].compute);
    }
  }

  const double* present_centres() const { return this->parts_.parameters(0).in_double.centres; }
  const int* stop_word() const { return this->parts_.parameters(0).stopped; }

  std::size_t shards_;
  device_kept_statistics kept_;  // superchunk c of shard s at c · shards + s
  bool recordable_;
  std::vector<std::vector<shared_accumulator<Scalar>>> accumulators_;  // [GPU][worker]
  std::vector<std::vector<shard_worker<Scalar>>> workers_;             // [shard][worker]
  cuda::stream consolidation_;                                         // of the first GPU
  cuda::event joined_;
  cuda::graph graphs_[3];  // a pass, one with a threshold, some passes
  cuda::launches_ahead ahead_{graphs_in_flight};
  bool gave_newest_ = false;  // no kernel has been told to stop since
  bool kept_valid_ = false;   // what is kept is of this fit; if not, the next pass is one of batch
  bool quiet_ = false;        // the last pass folded nothing in, and old statistics may be what held it back
  bool renewed_ = false;      // the last pass made all statistics anew
  std::size_t pass_ = 0;
  bool previous_known_ = false;
  double previous_objective_ = 0;
};

}  // namespace

template <class Scalar>
std::unique_ptr<mixture_stepper> make_asynchronous(const device_fit_rows<Scalar>& fit, std::size_t workers) {
  return std::make_unique<asynchronous<Scalar>>(fit, workers);
}
template std::unique_ptr<mixture_stepper> make_asynchronous(const device_fit_rows<float>&, std::size_t);
template std::unique_ptr<mixture_stepper> make_asynchronous(const device_fit_rows<double>&, std::size_t);

}  // namespace shoal::gmm
