#include <shoal/gmm/cuda/chunked/block_models.hpp>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/cuda/chunked/block_model_kernels.hpp>
#include <shoal/gmm/cuda/chunked/kept_statistics.hpp>
#include <shoal/gmm/cuda/predictor.hpp>

namespace shoal::gmm {
namespace {

template <class Scalar>
class block_models final : public device_chunked_fit<Scalar> {
 public:
  block_models(const device_fit_rows<Scalar>& fit, const chunk_plan& plan)
      : device_chunked_fit<Scalar>(fit, plan, plan.rows), moved_(fit.rows.group(), this->layout_, 1) {
    const std::size_t K = this->layout_.components(), size = this->layout_.size();
    for (std::size_t g = 0; g < group().size(); ++g) {
      const cuda::gpu& gpu = group()[g];
      const cuda::device_scope scope(gpu.device);
      visitor& added = visitors_.emplace_back();
      added.tile = choose_block_models_tile(kernel_layout(this->layout_), sizeof(Scalar), gpu.shared_bytes);
      added.predictor =
          make_predictor<Scalar>({this->layout_, plan.rows, gpu.multiprocessors, gpu.shared_bytes}, gpu.compute);
      added.memberships.grow(fit.rows.share_rows(g) * K);
      added.scratch.grow(plan.superchunks() * block_models_scratch(kernel_layout(this->layout_)));
      added.deltas.grow(plan.superchunks() * size);
      added.total.grow(size);
      added.changes.grow(fit.rows.shards_of(g) * size);
      for (auto* sums : {&added.total, &added.changes}) sums->fill_with_zeros(gpu.compute);
    }
    const cuda::device_scope scope(group()[0].device);
    change_.grow(size);
    centres_.grow(K * this->layout_.columns());
  }

  void seed(std::size_t restart) override {
    device_chunked_fit<Scalar>::seed(restart);
    ordered_ = false;
    pass_ = 0;
  }

  std::vector<double> save() const override { return this->save_model(); }

  void restore(std::span<const double> state) override {
    state_reader words(state);
    this->restore_model(words);
    words.end();
    ordered_ = false;
    pass_ = 0;
  }

 private:
  void forget() override {
    valid_ = false;
    quiet_ = false;
  }
  const double* total() const override { return visitors_[0].total.data(); }
  cuda::device_group& group() const { return this->fit_.rows.group(); }

  std::vector<step_record> advance_passes(std::size_t) override {
    this->parts_.begin_steps(not_known, 0);
    const bool every = !valid_ || quiet_ || pass_ % this->fit_.options.chunks.rebuild_passes == 0;
    if (every) {
      sum_all();
    } else {
      visit_by_blocks();
    }
    this->parts_.maximise(total());
    this->parts_.broadcast();
    move_total();
    ++pass_;
    valid_ = true;
    std::vector<step_record> records = this->records_of(this->end_steps(), 1);
    const bool nothing = valid_ && !every && folded() == 0;
    records.back().settled = nothing && renewed_;
    quiet_ = nothing && !renewed_;
    renewed_ = every;
    return records;
  }

  // What a GPU needs to visit its shards, one after another.
  struct visitor {
    block_models_tile tile;
    std::unique_ptr<gmm::predictor<Scalar>> predictor;
    cuda::device_buffer<Scalar> memberships;  // [rows of the share][K]
    cuda::device_buffer<double> total;        // of all rows, about the centres of the present model
    cuda::device_buffer<double> changes;      // [shards] what a pass adds to it
    cuda::device_buffer<double> scratch, deltas;
    cuda::device_buffer<std::size_t> order;
  };

  // The expectation step of batch, which leaves every row's memberships behind.
  void sum_all() {
    for (std::size_t g = 0; g < group().size(); ++g) {
      const cuda::device_scope scope(group()[g].device);
      visitors_[g].predictor->prepare(this->parts_.parameters(g), group()[g].compute);
    }
    for_each_shard([&](std::size_t g, std::size_t, const cuda::device_piece<Scalar>& shard) {
      visitors_[g].predictor->add(shard, {nullptr, memberships_of(g, shard), nullptr}, group()[g].compute);
    });
    this->expectation_.sum_all_rows(this->parts_);
    const cuda::device_scope scope(group()[0].device);
    copy(visitors_[0].total.data(), this->expectation_.sums(), this->layout_.size());
    copy(centres_.data(), this->parts_.parameters(0).in_double.centres, centres_.size());
  }

  void visit_by_blocks() {
    if (!ordered_) {
      const std::vector<std::size_t> order = chunk_order(this->plan_, this->fit_.options.seed, this->restart(), 0);
      for (std::size_t g = 0; g < group().size(); ++g) {
        const cuda::device_scope scope(group()[g].device);
        visitors_[g].order.upload(order, group()[g].compute);
        group()[g].compute.synchronize();
      }
      ordered_ = true;
    }
    std::vector<void*> totals;
    for (visitor& of : visitors_) totals.push_back(of.total.data());
    group().broadcast(total(), totals, this->layout_.size() * sizeof(double));
    const auto blocks = static_cast<unsigned>(this->plan_.superchunks());
    std::vector<cuda::group_part<double>> changes(this->fit_.rows.shards().count());
    for_each_shard([&](std::size_t g, std::size_t s, const cuda::device_piece<Scalar>& shard) {
      visit_by_block_models(arguments(g, shard), group()[g].compute);
      double* const change = visitors_[g].changes.data() + (s - this->fit_.rows.first_shard(g)) * this->layout_.size();
      sum_blocks(change, visitors_[g].deltas.data(), blocks, this->layout_.size(), this->parts_.parameters(g).stopped,
                 group()[g].compute);
      changes[s] = {g, change};
    });
    group().sum_on_first(changes, change_.data(), this->layout_.size());
    const cuda::device_scope scope(group()[0].device);
    add_block_sums(visitors_[0].total.data(), change_.data(), this->layout_.size(), this->parts_.parameters(0).stopped,
                   group()[0].compute);
  }

  // Calls visit(GPU, shard, its rows), which are resident.
  template <class Visit>
  void for_each_shard(const Visit& visit) {
    cuda::device_rows<Scalar>& rows = this->fit_.rows;
    for (std::size_t turn = 0; turn < rows.turns(); ++turn) {
      rows.for_each_piece_of(turn, {0, rows.most_shard_rows()}, visit);
    }
  }

  Scalar* memberships_of(std::size_t g, const cuda::device_piece<Scalar>& shard) {
    const std::size_t before = shard.first - this->fit_.rows.share_first(g);
    return visitors_[g].memberships.data() + before * this->layout_.components();
  }

  block_models_arguments<Scalar> arguments(std::size_t g, const cuda::device_piece<Scalar>& piece) {
    visitor& of = visitors_[g];
    const prepared_parameters<Scalar> parameters = this->parts_.parameters(g);
    block_models_arguments<Scalar> made;
    made.layout = kernel_layout(this->layout_);
    made.size = this->layout_.size();
    made.rows = piece.rows;
    made.weights = piece.weights;
    made.row_count = piece.count;
    made.memberships = memberships_of(g, piece);
    made.order = of.order.data();
    made.chunk_rows = this->plan_.chunk_rows;
    made.chunks = static_cast<unsigned>(this->plan_.chunks);
    made.superchunk = static_cast<unsigned>(this->plan_.superchunk);
    made.total = of.total.data();
    made.components = parameters.in_double;
    made.threshold = this->fit_.options.chunks.threshold;
    made.regularization = this->fit_.options.regularization;
    made.local_models = this->fit_.options.chunks.local_models;
    made.tile_rows = of.tile.rows;
    made.part = of.tile.part;
    made.shared_work = of.tile.shared_work;
    made.scratch = of.scratch.data();
    made.deltas = of.deltas.data();
    made.stopped = parameters.stopped;
    return made;
  }

  // What has been maximised, to the centres that this led to; stays where it is when the steps have stopped.
  void move_total() {
    const prepared_parameters<Scalar> parameters = this->parts_.parameters(0);
    const cuda::device_scope scope(group()[0].device);
    moved_.replace(0, {total(), centres_.data()}, parameters.in_double.centres, parameters.stopped, group()[0].compute);
    copy(visitors_[0].total.data(), moved_.total(), this->layout_.size());
    copy(centres_.data(), parameters.in_double.centres, centres_.size());
  }

  void copy(double* to, const double* from, std::size_t count) {
    cuda::check(cudaMemcpyAsync(to, from, count * sizeof(double), cudaMemcpyDeviceToDevice, group()[0].compute),
                "copy on the device");
  }

  std::size_t folded() const {
    const cuda::device_scope scope(group()[0].device);
    return static_cast<std::size_t>(
        visitors_[0].total.download(this->layout_.component(0), group()[0].compute)[far_rows_at]);
  }

  std::vector<visitor> visitors_;        // of each GPU
  cuda::device_buffer<double> change_;   // of all shards, on the first GPU
  device_kept_statistics moved_;         // takes statistics from centres to centres
  cuda::device_buffer<double> centres_;  // of the present model
  bool ordered_ = false;                 // the orders are of this restart
  bool valid_ = false;                   // memberships and statistics are of this fit
  bool quiet_ = false;    // the last pass folded nothing in, and old memberships may be what held it back
  bool renewed_ = false;  // the last pass made everything anew
  std::size_t pass_ = 0;
};

}  // namespace

template <class Scalar>
std::unique_ptr<mixture_stepper> make_block_models(const device_fit_rows<Scalar>& fit) {
  const statistics_layout layout(fit.options.covariance_type, fit.options.components, fit.rows.columns());
  const auto refuse = [](const std::string& what) {
    throw bad_argument(
        fmt::format("asynchronous fits with memberships or local models run on CUDA devices with all rows and "
                    "memberships in their memory and with full or diag covariances; {}: choose the device cpu",
                    what));
  };
  if (!fit.options.chunks.memberships) refuse("these are without memberships");
  if (!fit.rows.resident()) refuse("these rows are streamed");
  if (layout.type() != covariance_type::full && layout.type() != covariance_type::diag) refuse("these are others");
  return std::make_unique<block_models<Scalar>>(
      fit, make_chunk_plan(fit.rows.most_shard_rows(), layout, sizeof(Scalar), fit.options));
}
template std::unique_ptr<mixture_stepper> make_block_models(const device_fit_rows<float>&);
template std::unique_ptr<mixture_stepper> make_block_models(const device_fit_rows<double>&);

}  // namespace shoal::gmm
