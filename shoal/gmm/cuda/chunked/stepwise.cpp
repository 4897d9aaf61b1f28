#include <shoal/gmm/cuda/chunked/stepwise.hpp>

#include <cmath>

#include <shoal/core/error.hpp>
#include <shoal/gmm/cuda/chunked/kept_kernels.hpp>

namespace shoal::gmm {
namespace {

template <class Scalar>
class stepwise final : public device_chunked_fit<Scalar> {
 public:
  explicit stepwise(const device_fit_rows<Scalar>& fit) : device_chunked_fit<Scalar>(fit) {
    const cuda::gpu& first = fit.rows.group()[0];
    const cuda::device_scope scope(first.device);
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
    position_ = words.take_count("the superchunks done", this->plan_.superchunks());
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

  void visit(std::size_t superchunk) {
    const options& options = this->fit_.options;
    const auto done = static_cast<double>(pass_ * this->plan_.superchunks() + superchunk);
    this->expectation_.sum_rows(this->ranges(superchunk, pass_), this->parts_);
    const cuda::gpu& first = this->fit_.rows.group()[0];
    const cuda::device_scope scope(first.device);
    mix_arguments arguments;
    arguments.layout = kernel_layout(this->layout_);
    arguments.fresh = this->expectation_.sums();
    arguments.centres = this->parts_.parameters(0).in_double.centres;
    arguments.model = this->parts_.model_on_device();
    arguments.regularization = options.regularization;
    arguments.step_size = std::pow(done + options.step_delay, -options.step_exponent);
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
  std::size_t pass_ = 0;
  std::size_t position_ = 0;  // superchunks of this pass that have been visited
};

}  // namespace

template <class Scalar>
std::unique_ptr<mixture_stepper> make_stepwise(const device_fit_rows<Scalar>& fit) {
  return std::make_unique<stepwise<Scalar>>(fit);
}
template std::unique_ptr<mixture_stepper> make_stepwise(const device_fit_rows<float>&);
template std::unique_ptr<mixture_stepper> make_stepwise(const device_fit_rows<double>&);

}  // namespace shoal::gmm
