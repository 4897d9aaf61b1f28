#include <shoal/som/cuda/device_training.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/graph.hpp>
#include <shoal/som/cuda/device_map.hpp>
#include <shoal/som/move_units.hpp>
#include <shoal/som/schedule.hpp>

namespace shoal::som {
namespace {

constexpr double batch_seconds = 0.05;   // between two looks of the host, so that it may stop and report
constexpr std::size_t graph_epochs = 4;  // of one graph: between its kernels there is hardly a gap

// In the caller's weights.
quality quality_of(const std::vector<double>& statistics, std::size_t units, std::size_t columns, double weight_scale,
                   double total_weight) {
  const std::size_t after = units * (columns + 1);
  quality found;
  found.quantization_error = statistics[after] * weight_scale / total_weight;
  found.topographic_error = statistics[after + 1] * weight_scale / total_weight;
  for (std::size_t u = 0; u < units; ++u) found.hits.push_back(statistics[u * (columns + 1) + columns] * weight_scale);
  return found;
}

template <class Scalar>
class device_training final : public map_stepper {
 public:
  device_training(cuda::device_rows<Scalar>& rows, const fold_context& context, const data_summary& summary,
                  const options& options, std::function<std::vector<double>()> seed)
      : context_(context),
        total_weight_(summary.total_weight),
        options_(options),
        seed_(std::move(seed)),
        map_(rows, summary, shape_of(options), options.metric) {
    set_smoothing();
    many_at_once_ = rows.resident() && rows.group().size() == 1 && never_negative();
  }

  void seed(std::size_t) override {
    set_codebook(seed_());
    epoch_ = 0;
  }

  std::vector<step_record> advance(std::size_t most_steps) override {
    if (context_.stop.stop_requested()) throw interrupted("stopped on request");
    const std::size_t epochs = many_at_once_ ? std::min(most_steps, batch_) : 1;
    const auto start = std::chrono::steady_clock::now();
    const cuda::device_scope scope(map_.first_device());
    if (!never_negative()) codebook();  // to go back to
    const auto now = static_cast<unsigned>(epoch_);
    epoch_number_.upload(std::span(&now, 1), map_.stream());
    run(epochs);
    const std::vector<double> history = history_.download(epoch_ + epochs, map_.stream());
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!never_negative()) {
      std::vector<double> moved = map_.download();
      check_moved(moved);
      codebook_ = std::move(moved);
    } else {
      known_ = false;
    }
    measured_ = false;
    std::vector<step_record> records(epochs);
    for (std::size_t e = 0; e < epochs; ++e) {
      records[e].objective = history[epoch_ + e] * weight_scale() / total_weight_;
    }
    epoch_ += epochs;
    const double each = seconds / static_cast<double>(epochs);
    batch_ = static_cast<std::size_t>(std::clamp(batch_seconds / each, 1.0, 1024.0));
    return records;
  }

  double score() override { return -quality().quantization_error; }

  std::vector<double> save() const override {
    std::vector<double> state = codebook();
    state.push_back(static_cast<double>(epoch_));
    return state;
  }
  void restore(std::span<const double> state) override {
    const std::vector<double> saved(state.begin(), state.end() - 1);
    if (!known_ || saved != codebook_) set_codebook(saved);
    epoch_ = static_cast<std::size_t>(state.back());
  }

  const std::vector<double>& codebook() const override {
    if (!known_) codebook_ = map_.download();
    known_ = true;
    return codebook_;
  }

  som::quality quality() override {
    if (!measured_) {
      map_.enqueue(pass::topology);
      quality_ = quality_of(map_.read_statistics(), map_.shape().units(), map_.rows().columns(), weight_scale(),
                            total_weight_);
      measured_ = true;
    }
    return quality_;
  }

 private:
  double weight_scale() const { return map_.rows().data().weight_scale; }
  bool never_negative() const { return neighborhood_function{options_.neighborhood, 0, 0}.never_negative(); }

  void set_smoothing() {
    const cuda::device_scope scope(map_.first_device());
    const std::size_t units = map_.shape().units(), columns = map_.rows().columns();
    std::vector<double> radii;
    for (std::size_t e = 0; e < options_.epochs; ++e) {
      radii.push_back(decayed(options_.radius_decay, radius_range(options_), e, options_.epochs));
    }
    radii_.upload(radii, map_.stream());
    cuda::check(cudaStreamSynchronize(map_.stream()), "finish its work");
    smoothing_.shape = map_.shape();
    smoothing_.kind = options_.neighborhood;
    smoothing_.cutoff = options_.cutoff;
    smoothing_.columns = columns;
    epoch_number_.grow(1);
    history_.grow(options_.epochs);
    history_.fill_with_zeros();  // all of it is read, also what a resumed fit never writes
    tables_.grow(smoothing_.table_doubles());
    along_.grow(smoothing_.along_doubles());
    smoothed_.grow(units * (columns + 1));
    if (!never_negative()) pull_.grow(units);
    smoothing_.radii = radii_.data();
    smoothing_.epoch = epoch_number_.data();
    smoothing_.statistics = map_.statistics();
    smoothing_.tables = tables_.data();
    smoothing_.along = along_.data();
    smoothing_.smoothed = smoothed_.data();
    smoothing_.pull = pull_.data();
    smoothing_.history = history_.data();
    smoothing_.codebook = map_.codebook();
    smoothing_.centre = map_.centre();
  }

  void set_codebook(std::vector<double> codebook) {
    codebook_ = std::move(codebook);
    known_ = true;
    measured_ = false;
    map_.upload(codebook_);
  }

  // Leaves the codebook on the devices as it was when the new one is refused.
  void check_moved(const std::vector<double>& moved) {
    try {
      check_finite(moved, map_.rows().columns());
    } catch (...) {
      map_.upload(codebook_);
      throw;
    }
  }

  void enqueue_epoch() {
    map_.enqueue(pass::sums);
    const cuda::device_scope scope(map_.first_device());
    smooth_and_move(smoothing_, map_.stream());
    map_.enqueue_broadcast();
  }

  void run(std::size_t epochs) {
    if (!many_at_once_) return enqueue_epoch();
    if (!epoch_graph_) {
      epoch_graph_ = cuda::graph::record(map_.stream(), [&] { enqueue_epoch(); });
      some_epochs_ = cuda::graph::record(map_.stream(), [&] {
        for (std::size_t i = 0; i < graph_epochs; ++i) enqueue_epoch();
      });
    }
    for (std::size_t i = 0; i < epochs / graph_epochs; ++i) some_epochs_.launch(map_.stream());
    for (std::size_t i = 0; i < epochs % graph_epochs; ++i) epoch_graph_.launch(map_.stream());
  }

  fold_context context_;
  double total_weight_;
  const options& options_;
  std::function<std::vector<double>()> seed_;
  device_map<Scalar> map_;
  smoothing smoothing_;
  cuda::device_buffer<double> radii_, history_, tables_, along_, smoothed_, pull_;
  cuda::device_buffer<unsigned> epoch_number_;
  cuda::graph epoch_graph_, some_epochs_;
  bool many_at_once_ = false;
  std::size_t batch_ = 1;
  std::size_t epoch_ = 0;  // epochs done
  mutable std::vector<double> codebook_;
  mutable bool known_ = false;  // codebook_ is what the devices have
  som::quality quality_;
  bool measured_ = false;  // quality_ is of the present codebook
};

}  // namespace

template <class Scalar>
std::unique_ptr<map_stepper> make_device_training(cuda::device_rows<Scalar>& rows, const fold_context& context,
                                                  const data_summary& summary, const options& options,
                                                  std::function<std::vector<double>()> seed) {
  return std::make_unique<device_training<Scalar>>(rows, context, summary, options, std::move(seed));
}
template std::unique_ptr<map_stepper> make_device_training(cuda::device_rows<float>&, const fold_context&,
                                                           const data_summary&, const options&,
                                                           std::function<std::vector<double>()>);
template std::unique_ptr<map_stepper> make_device_training(cuda::device_rows<double>&, const fold_context&,
                                                           const data_summary&, const options&,
                                                           std::function<std::vector<double>()>);

template <class Scalar>
double predict_on_device(cuda::device_rows<Scalar>& rows, const data_summary& summary, const model& model,
                         std::int32_t* units) {
  device_map<Scalar> map(rows, summary, shape_of(model), model.metric);
  map.upload(model.codebook);
  typename device_map<Scalar>::labels_visitor visit;
  if (units != nullptr) {
    visit = [&](std::size_t first, std::size_t count, const std::int32_t* labels, cudaStream_t stream) {
      cuda::check(cudaMemcpyAsync(units + first, labels, count * sizeof(std::int32_t), cudaMemcpyDefault, stream),
                  "copy units from the device");
    };
  }
  map.enqueue(pass::units, visit);
  const std::vector<double> statistics = map.read_statistics();
  rows.group().synchronize();
  return quality_of(statistics, model.units(), model.columns, rows.data().weight_scale, summary.total_weight)
      .quantization_error;
}
template double predict_on_device(cuda::device_rows<float>&, const data_summary&, const model&, std::int32_t*);
template double predict_on_device(cuda::device_rows<double>&, const data_summary&, const model&, std::int32_t*);

template <class Scalar>
quality score_on_device(cuda::device_rows<Scalar>& rows, const data_summary& summary, const model& model) {
  device_map<Scalar> map(rows, summary, shape_of(model), model.metric);
  map.upload(model.codebook);
  map.enqueue(pass::topology);
  return quality_of(map.read_statistics(), model.units(), model.columns, rows.data().weight_scale,
                    summary.total_weight);
}
template quality score_on_device(cuda::device_rows<float>&, const data_summary&, const model&);
template quality score_on_device(cuda::device_rows<double>&, const data_summary&, const model&);

}  // namespace shoal::som
