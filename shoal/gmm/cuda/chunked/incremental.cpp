#include <shoal/gmm/cuda/chunked/incremental.hpp>

#include <algorithm>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/group_graph.hpp>
#include <shoal/execution/cuda/launches_ahead.hpp>
#include <shoal/gmm/cuda/chunked/kept_statistics.hpp>

namespace shoal::gmm {
namespace {

// Passes that wait for the GPU.
constexpr std::size_t passes_in_flight = 3;

template <class Scalar>
class incremental final : public device_chunked_fit<Scalar> {
 public:
  explicit incremental(const device_fit_rows<Scalar>& fit)
      : device_chunked_fit<Scalar>(fit),
        kept_(fit.rows.group(), this->layout_, this->plan_.superchunks()),
        recordable_(fit.rows.resident() && cuda::recordable(fit.rows.group())) {}

  void seed(std::size_t restart) override {
    device_chunked_fit<Scalar>::seed(restart);
    pass_graph_ = {};  // of another order
    previous_ = previous_pass::none;
  }

  std::vector<double> save() const override {
    std::vector<double> state = this->save_model();
    state.push_back(static_cast<double>(position_));
    if (kept_valid_) kept_.append_to(state);
    return state;
  }

  void restore(std::span<const double> state) override {
    state_reader words(state);
    this->restore_model(words);
    const std::size_t position = words.take_count("the superchunks done", this->plan_.superchunks() - 1);
    pass_graph_ = {};
    // The loop may know an objective from before, and compare with it: only it can tell whether the next pass is the
    // last.
    previous_ = previous_pass::unknown;
    if (words.left() == 0) return;
    kept_.restore(words);
    words.end();
    kept_valid_ = true;
    position_ = position;
  }

 private:
  enum class previous_pass { none, known, unknown };

  void forget() override {
    kept_valid_ = false;
    position_ = 0;
  }
  const double* total() const override { return kept_.total(); }

  std::vector<step_record> advance_passes(std::size_t most) override {
    std::vector<step_record> records;
    if (!kept_valid_) {
      records = full_pass();
    } else if (recordable_ && position_ == 0) {
      records = recorded_passes(previous_ == previous_pass::unknown ? 1 : most);
    } else {
      records = pass();
    }
    previous_ = previous_pass::known;
    previous_objective_ = records.back().objective;
    return records;
  }

  fresh_statistics fresh() const { return {this->expectation_.sums(), this->parts_.parameters(0).in_double.centres}; }

  void replace(std::size_t superchunk) {
    const cuda::gpu& first = this->fit_.rows.group()[0];
    const cuda::device_scope scope(first.device);
    kept_.replace(superchunk, fresh(), fresh().centres, this->parts_.parameters(0).stopped, first.compute);
  }

  void begin_passes(std::size_t pass_steps, bool compare) {
    this->parts_.set_pass_steps(pass_steps);
    this->parts_.begin_steps(compare ? previous_objective_ : not_known, this->fit_.options.tolerance);
  }

  // The expectation step of batch, which leaves every superchunk's statistics behind.
  std::vector<step_record> full_pass() {
    begin_passes(1, previous_ == previous_pass::known);
    const std::size_t superchunks = this->plan_.superchunks();
    for (std::size_t s = 0; s < superchunks; ++s) {
      this->expectation_.sum_rows(this->ranges(s, 0), this->parts_);
      if (s + 1 < superchunks) {
        const cuda::device_scope scope(this->fit_.rows.group()[0].device);
        kept_.keep(s, fresh(), this->fit_.rows.group()[0].compute);
      } else {
        replace(s);
      }
    }
    maximise();
    kept_valid_ = true;
    return this->records_of(this->end_steps(), 1);
  }

  void visit(std::size_t superchunk) {
    this->expectation_.sum_rows(this->ranges(superchunk, 0), this->parts_);
    replace(superchunk);
    maximise();
  }

  void maximise() {
    this->parts_.maximise(kept_.total());
    this->parts_.broadcast();
  }

  // What is left of a pass. Whoever stops it finds whole superchunks only.
  std::vector<step_record> pass() {
    const std::size_t steps = this->plan_.superchunks() - position_;
    begin_passes(steps, false);
    try {
      for (; position_ < this->plan_.superchunks(); ++position_) visit(position_);
    } catch (const interrupted&) {
      this->end_steps();
      throw;
    }
    position_ = 0;
    return this->records_of(this->end_steps(), steps);
  }

  std::vector<step_record> recorded_passes(std::size_t most) {
    const cuda::stream& stream = this->fit_.rows.group()[0].compute;
    const std::size_t superchunks = this->plan_.superchunks();
    if (!pass_graph_) {
      pass_graph_ = cuda::record(this->fit_.rows.group(), [&] {
        for (std::size_t s = 0; s < superchunks; ++s) visit(s);
      });
    }
    const std::size_t limit = std::min(most, std::size_t{most_steps} / superchunks);
    begin_passes(superchunks, previous_ == previous_pass::known);
    cuda::launch_in_order(this->fit_.rows.group(), [&] {
      ahead_.run(
          limit, stream, this->fit_.context.stop, [&] { return this->parts_.stopped(); },
          [&](std::size_t) -> std::size_t {
            pass_graph_.launch(stream);
            return 1;
          });
    });
    return this->records_of(this->end_steps(), superchunks);
  }

  device_kept_statistics kept_;
  bool recordable_;
  bool kept_valid_ = false;   // what is kept is of this fit; if not, the next pass is one of batch
  std::size_t position_ = 0;  // superchunks of this pass that have been visited
  cuda::graph pass_graph_;
  cuda::launches_ahead ahead_{passes_in_flight};
  previous_pass previous_ = previous_pass::none;
  double previous_objective_ = 0;
};

}  // namespace

template <class Scalar>
std::unique_ptr<mixture_stepper> make_incremental(const device_fit_rows<Scalar>& fit) {
  return std::make_unique<incremental<Scalar>>(fit);
}
template std::unique_ptr<mixture_stepper> make_incremental(const device_fit_rows<float>&);
template std::unique_ptr<mixture_stepper> make_incremental(const device_fit_rows<double>&);

}  // namespace shoal::gmm
