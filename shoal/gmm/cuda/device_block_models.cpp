#include <shoal/gmm/cuda/device_block_models.hpp>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/cuda/block_models.hpp>
#include <shoal/gmm/cuda/device_kept_statistics.hpp>
#include <shoal/gmm/cuda/device_predictor.hpp>

namespace shoal::gmm {
namespace {

template <class Scalar>
class device_block_models final : public device_chunked_fit<Scalar> {
 public:
  device_block_models(const device_fit_rows<Scalar>& fit, const chunk_plan& plan, unsigned tile_rows)
      : device_chunked_fit<Scalar>(fit, plan, plan.rows),
        tile_rows_(tile_rows),
        moved_(fit.rows.group(), this->layout_, 1) {
    const cuda::gpu& only = gpu();
    const cuda::device_scope scope(only.device);
    const std::size_t K = this->layout_.components(), size = this->layout_.size();
    predictor_ = make_device_predictor<Scalar>({this->layout_, plan.rows, only.multiprocessors, only.shared_bytes},
                                               only.compute);
    memberships_.grow(plan.rows * K);
    total_.grow(size);
    total_.fill_with_zeros(only.compute);
    centres_.grow(K * this->layout_.columns());
    scratch_.grow(plan.superchunks() * block_models_scratch(device_layout(this->layout_)));
    deltas_.grow(plan.superchunks() * size);
  }

  void seed(std::size_t restart) override {
    device_chunked_fit<Scalar>::seed(restart);
    ordered_ = false;
    pass_ = 0;
  }

  std::vector<double> save() const override { return this->save_model(); }

  void restore(std::span<const double> state) override {
    this->restore_model(state);
    if (!state.empty()) throw bad_data("the state is of another size");
    ordered_ = false;
    pass_ = 0;
  }

 private:
  void forget() override {
    valid_ = false;
    quiet_ = false;
  }
  const double* total() const override { return total_.data(); }
  const cuda::gpu& gpu() const { return this->fit_.rows.group()[0]; }

  std::vector<step_record> advance_passes(std::size_t) override {
    this->parts_.begin_steps(not_known, 0);
    const bool every = !valid_ || quiet_ || pass_ % this->fit_.options.chunks.rebuild_passes == 0;
    if (every) {
      sum_all();
    } else {
      visit_by_blocks();
    }
    this->parts_.maximise(total_.data());
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

  // The expectation step of batch, which leaves every row's memberships behind.
  void sum_all() {
    const device_parameters<Scalar> parameters = this->parts_.parameters(0);
    predictor_->prepare(parameters, gpu().compute);
    this->fit_.rows.for_each_piece([&](std::size_t, const cuda::device_piece<Scalar>& piece) {
      predictor_->add(piece, {nullptr, memberships_.data(), nullptr}, gpu().compute);
    });
    this->expectation_.sum_all_rows(this->parts_);
    copy(total_.data(), this->expectation_.sums(), this->layout_.size());
    copy(centres_.data(), parameters.in_double.centres, centres_.size());
  }

  void visit_by_blocks() {
    if (!ordered_) {
      const std::vector<std::size_t> order = chunk_order(this->plan_, this->fit_.options.seed, this->restart(), 0);
      order_.upload(order, gpu().compute);
      gpu().compute.synchronize();
      ordered_ = true;
    }
    block_models_arguments<Scalar> arguments;
    arguments.layout = device_layout(this->layout_);
    arguments.size = this->layout_.size();
    arguments.row_count = this->plan_.rows;
    arguments.memberships = memberships_.data();
    arguments.order = order_.data();
    arguments.chunk_rows = this->plan_.chunk_rows;
    arguments.chunks = static_cast<unsigned>(this->plan_.chunks);
    arguments.superchunk = static_cast<unsigned>(this->plan_.superchunk);
    arguments.total = total_.data();
    arguments.components = this->parts_.parameters(0).in_double;
    arguments.threshold = this->fit_.options.chunks.threshold;
    arguments.regularization = this->fit_.options.regularization;
    arguments.local_models = this->fit_.options.chunks.local_models;
    arguments.tile_rows = tile_rows_;
    arguments.scratch = scratch_.data();
    arguments.deltas = deltas_.data();
    arguments.stopped = this->parts_.parameters(0).stopped;
    this->fit_.rows.for_each_piece([&](std::size_t, const cuda::device_piece<Scalar>& piece) {
      arguments.rows = piece.rows;
      arguments.weights = piece.weights;
      visit_by_block_models(arguments, gpu().compute);
    });
    consolidate_blocks(total_.data(), deltas_.data(), static_cast<unsigned>(this->plan_.superchunks()),
                       this->layout_.size(), arguments.stopped, gpu().compute);
  }

  // What has been maximised, to the centres that this led to; stays where it is when the steps have stopped.
  void move_total() {
    const device_parameters<Scalar> parameters = this->parts_.parameters(0);
    moved_.replace(0, {total_.data(), centres_.data()}, parameters.in_double.centres, parameters.stopped,
                   gpu().compute);
    copy(total_.data(), moved_.total(), this->layout_.size());
    copy(centres_.data(), parameters.in_double.centres, centres_.size());
  }

  void copy(double* to, const double* from, std::size_t count) {
    cuda::check(cudaMemcpyAsync(to, from, count * sizeof(double), cudaMemcpyDeviceToDevice, gpu().compute),
                "copy on the device");
  }

  std::size_t folded() const {
    return static_cast<std::size_t>(total_.download(this->layout_.component(0), gpu().compute)[far_rows_at]);
  }

  unsigned tile_rows_;
  device_kept_statistics moved_;  // takes statistics from centres to centres
  std::unique_ptr<device_predictor<Scalar>> predictor_;
  cuda::device_buffer<Scalar> memberships_;  // [N][K]
  cuda::device_buffer<double> total_;        // of all rows, about the centres of the present model
  cuda::device_buffer<double> centres_;      // these
  cuda::device_buffer<double> scratch_, deltas_;
  cuda::device_buffer<std::size_t> order_;
  bool ordered_ = false;  // order_ is of this restart
  bool valid_ = false;    // memberships and statistics are of this fit
  bool quiet_ = false;    // the last pass folded nothing in, and old memberships may be what held it back
  bool renewed_ = false;  // the last pass made everything anew
  std::size_t pass_ = 0;
};

}  // namespace

template <class Scalar>
std::unique_ptr<mixture_stepper> make_device_block_models(const device_fit_rows<Scalar>& fit) {
  const statistics_layout layout(fit.options.covariance_type, fit.options.components, fit.rows.columns());
  const cuda::device_group& group = fit.rows.group();
  const auto refuse = [](const std::string& what) {
    throw bad_argument(fmt::format(
        "asynchronous fits with memberships or local models run on one CUDA device with all rows and memberships in "
        "its "
        "memory, with full or diag covariances of at most {} columns and {} components; {}: choose the device cpu",
        most_block_model_columns, most_block_model_components, what));
  };
  if (!fit.options.chunks.memberships) refuse("these are without memberships");
  if (group.size() != 1) refuse(fmt::format("here are {} devices", group.size()));
  if (!fit.rows.resident()) refuse("these rows are streamed");
  if (layout.type() != covariance_type::full && layout.type() != covariance_type::diag) refuse("these are others");
  if (layout.columns() > most_block_model_columns || layout.components() > most_block_model_components) {
    refuse(fmt::format("here are {} columns and {} components", layout.columns(), layout.components()));
  }
  const unsigned tile_rows = block_models_tile<Scalar>(device_layout(layout), group[0].shared_bytes);
  if (tile_rows == 0) refuse("a block of this device has not memory enough for them");
  const chunk_plan plan = make_chunk_plan(fit.rows.rows(), layout, sizeof(Scalar), fit.options);
  return std::make_unique<device_block_models<Scalar>>(fit, plan, tile_rows);
}
template std::unique_ptr<mixture_stepper> make_device_block_models(const device_fit_rows<float>&);
template std::unique_ptr<mixture_stepper> make_device_block_models(const device_fit_rows<double>&);

}  // namespace shoal::gmm
