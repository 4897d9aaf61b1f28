#include <shoal/gmm/cuda/chunked/stepwise.hpp>

#include <algorithm>
#include <cmath>

#include <shoal/core/error.hpp>
#include <shoal/gmm/chunked/stepwise.hpp>
#include <shoal/gmm/cuda/chunked/kept_kernels.hpp>

namespace shoal::gmm {
namespace {

template <class Scalar>
class stepwise final : public device_chunked_fit<Scalar> {
 public:
  explicit stepwise(const device_fit_rows<Scalar>& fit) : device_chunked_fit<Scalar>(fit) {
    const cuda::gpu& first = fit.rows.group()[0];
    const cuda::device_scope scope(first.device);
    const cuda::shard_plan& shards = fit.rows.shards();
    for (std::size_t s = 0; s < shards.count(); ++s) {
      whole_rows_ += std::min(shards.rows_of(s), this->plan_.superchunk * this->plan_.chunk_rows);
    }
    total_.grow(this->layout_.size());
    course_.grow(2);
    total_.fill_with_zeros(first.compute);
    course_.fill_with_zeros(first.compute);
  }

  void seed(std::size_t restart) override {
    pass_ = 0;
    device_chunked_fit<Scalar>::seed(restart);
  }

  std::vector<double> save() const override {
    const cuda::gpu& first = this->fit_.rows.group()[0];
    const cuda::device_scope scope(first.device);
    std::vector<double> state = this->save_model();
    const std::vector<double> course = course_.download(2, first.compute);
    state.insert(state.end(), {static_cast<double>(pass_), static_cast<double>(position_), course[0], course[1]});
    return state;
  }

  void restore(std::span<const double> state) override {
    state_reader words(state);
    this->restore_model(words);
    pass_ = words.take_count("the pass");
    position_ = words.take_count("the superchunks done", this->plan_.superchunks() - 1);
    const std::span<const double> course = words.take_finite(2, "the sums of the rows visited");
    words.end();
    const cuda::gpu& first = this->fit_.rows.group()[0];
    const cuda::device_scope scope(first.device);
    course_.upload(course, first.compute);
    first.compute.synchronize();
  }

 private:
  void forget() override { position_ = 0; }
  const double* total() const override { return total_.data(); }

  std::vector<step_record> advance_passes(std::size_t) override {
    const std::size_t steps = this->plan_.superchunks() - position_;
    first_step_ = pass_ * this->plan_.superchunks() + position_;
    this->parts_.begin_steps(not_known, 0);
    try {
      for (; position_ < this->plan_.superchunks(); ++position_) visit(position_);
    } catch (const interrupted&) {
      this->end_steps();
      throw;
    }
    position_ = 0;
    ++pass_;
    return this->records_of(this->end_steps(), steps);
  }

  // η of a whole superchunk.
  double step_size(std::size_t step) const {
    const options& options = this->fit_.options;
    return std::pow(static_cast<double>(step) + options.step_delay, -options.step_exponent);
  }

  // The step that a jump stopped, with all rows in the place of its superchunk's.
  statistics statistics_about(const model& start, std::span<const double> centres) override {
    const statistics rows = device_fit<Scalar>::statistics_about(start, centres);
    return mixture_of(start, rows, centres, step_size(first_step_ + this->last_steps() - 1),
                      this->fit_.options.regularization);
  }

  void visit(std::size_t superchunk) {
    const options& options = this->fit_.options;
    this->expectation_.sum_rows(this->ranges(superchunk, pass_), this->parts_);
    const cuda::gpu& first = this->fit_.rows.group()[0];
    const cuda::device_scope scope(first.device);
    mix_arguments arguments;
    arguments.layout = kernel_layout(this->layout_);
    arguments.fresh = this->expectation_.sums();
    arguments.centres = this->parts_.parameters(0).in_double.centres;
    arguments.model = this->parts_.model_on_device();
    arguments.regularization = options.regularization;
    arguments.step_size = step_size(pass_ * this->plan_.superchunks() + superchunk);
    arguments.usual_weight = superchunk_weight(this->fit_.summary, whole_rows_);
    arguments.course = course_.data();
    arguments.begins_pass = superchunk == 0;
    arguments.total = total_.data();
    arguments.stopped = this->parts_.parameters(0).stopped;
    mix_with_model(arguments, first.compute);
    this->parts_.maximise(total_.data());
    this->parts_.broadcast();
  }

  cuda::device_buffer<double> total_;
  cuda::device_buffer<double> course_;  // Σ w ln p and Σ w of the rows visited in this pass, under the models they met
  std::size_t whole_rows_ = 0;          // of a superchunk of whole chunks, in all shards
  std::size_t pass_ = 0;
  std::size_t first_step_ = 0;  // of those since begin_steps()
  std::size_t position_ = 0;    // superchunks of this pass that have been visited
};

}  // namespace

template <class Scalar>
std::unique_ptr<mixture_stepper> make_stepwise(const device_fit_rows<Scalar>& fit) {
  return std::make_unique<stepwise<Scalar>>(fit);
}
template std::unique_ptr<mixture_stepper> make_stepwise(const device_fit_rows<float>&);
template std::unique_ptr<mixture_stepper> make_stepwise(const device_fit_rows<double>&);

}  // namespace shoal::gmm
