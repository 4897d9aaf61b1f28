#include <shoal/som/cuda/training.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

#include <shoal/core/error.hpp>
#include <shoal/estimation/saved_state.hpp>
#include <shoal/execution/cuda/batch.hpp>
#include <shoal/som/cuda/map.hpp>
#include <shoal/som/cuda/smoother.hpp>
#include <shoal/som/maximise.hpp>
#include <shoal/som/schedule.hpp>

namespace shoal::som {
namespace {

constexpr std::size_t most_batch = 1024;  // epochs between two looks of the host
constexpr std::size_t graph_epochs = 4;   // of one graph

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

// Copies units to memory of the host or of any device; nothing for null.
template <class Scalar>
typename device_map<Scalar>::labels_visitor copying_to(std::int32_t* units) {
  if (units == nullptr) return {};
  return [units](std::size_t first, std::size_t count, const std::int32_t* labels, cudaStream_t stream) {
    cuda::check(cudaMemcpyAsync(units + first, labels, count * sizeof(std::int32_t), cudaMemcpyDefault, stream),
                "copy units from the device");
  };
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
        map_(rows, summary, shape_of(options), options.metric),
        smoother_(map_, options.neighborhood, options.cutoff, radii()) {
    if (!never_negative()) map_.expect_far_units();
    many_at_once_ = rows.resident() && rows.group().size() == 1 && alone(context.ranks) && never_negative();
  }

  void seed(std::size_t) override {
    set_codebook(seed_());
    epoch_ = 0;
  }

  std::vector<step_record> advance(std::size_t most_steps) override {
    if (context_.stop.stop_requested()) throw interrupted("stopped on request");
    const std::size_t epochs = many_at_once_ ? std::min(most_steps, batch_.steps()) : 1;
    const auto start = std::chrono::steady_clock::now();
    const cuda::device_scope scope(map_.first_device());
    smoother_.set_epoch(epoch_);
    run(epochs);
    const std::vector<double> history = smoother_.history(epoch_ + epochs);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!smoother_.stayed_finite()) refuse();
    known_ = false;
    measured_ = false;
    std::vector<step_record> records(epochs);
    for (std::size_t e = 0; e < epochs; ++e) {
      records[e].objective = history[epoch_ + e] * weight_scale() / total_weight_;
    }
    epoch_ += epochs;
    batch_.took(seconds, epochs);
    return records;
  }

  double score() override { return -quality().quantization_error; }

  std::vector<double> save() const override {
    std::vector<double> state = codebook();
    state.push_back(static_cast<double>(epoch_));
    return state;
  }
  void restore(std::span<const double> state) override {
    state_reader words(state);
    const std::span<const double> codebook =
        words.take_finite(map_.shape().units() * map_.rows().columns(), "the codebook");
    epoch_ = words.take_count("the epochs done", options_.epochs);
    words.end();
    const std::vector<double> saved(codebook.begin(), codebook.end());
    if (!known_ || saved != codebook_) set_codebook(saved);
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

  std::vector<double> radii() const {
    std::vector<double> all;
    for (std::size_t e = 0; e < options_.epochs; ++e) {
      all.push_back(decayed(options_.radius_decay, radius_range(options_), e, options_.epochs));
    }
    return all;
  }

  void set_codebook(std::vector<double> codebook) {
    codebook_ = std::move(codebook);
    known_ = true;
    measured_ = false;
    map_.upload(codebook_);
  }

  // Leaves the codebook on the devices as it was.
  void refuse() {
    const std::vector<double> moved = map_.download();
    smoother_.put_back();
    check_finite(moved, map_.rows().columns());
  }

  void enqueue_epoch() {
    map_.enqueue(pass::sums);
    smoother_.enqueue();
  }

  void run(std::size_t epochs) {
    if (!many_at_once_) return enqueue_epoch();
    if (!recorded_) recorded_.record(map_.stream(), [&] { enqueue_epoch(); });
    recorded_.launch_all(epochs, map_.stream());
  }

  fold_context context_;
  double total_weight_;
  const options& options_;
  std::function<std::vector<double>()> seed_;
  device_map<Scalar> map_;
  device_smoother<Scalar> smoother_;
  cuda::recorded_steps recorded_{graph_epochs};
  bool many_at_once_ = false;
  cuda::batch_size batch_{most_batch};
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
  map.enqueue(pass::units, copying_to<Scalar>(rows.owns_shards() ? units : nullptr));
  const std::vector<double> statistics = map.read_statistics();
  rows.group().synchronize();
  return quality_of(statistics, model.units(), model.columns, rows.data().weight_scale, summary.total_weight)
      .quantization_error;
}
template double predict_on_device(cuda::device_rows<float>&, const data_summary&, const model&, std::int32_t*);
template double predict_on_device(cuda::device_rows<double>&, const data_summary&, const model&, std::int32_t*);

template <class Scalar>
double update_on_device(cuda::device_rows<Scalar>& rows, const data_summary& summary, model& model,
                        const update_options& options, std::int32_t* units) {
  device_map<Scalar> map(rows, summary, shape_of(model), model.metric);
  device_smoother<Scalar> smoother(map, options.neighborhood, options.cutoff, {options.radius}, options.rate);
  if (!neighborhood_function{options.neighborhood, 0, 0}.never_negative()) map.expect_far_units();
  map.upload(model.codebook);
  map.enqueue(pass::sums, copying_to<Scalar>(units));
  smoother.set_epoch(0);
  smoother.enqueue();
  std::vector<double> moved = map.download();
  rows.group().synchronize();
  check_finite(moved, model.columns);
  model.codebook = std::move(moved);
  return smoother.history(1)[0] * rows.data().weight_scale / summary.total_weight;
}
template double update_on_device(cuda::device_rows<float>&, const data_summary&, model&, const update_options&,
                                 std::int32_t*);
template double update_on_device(cuda::device_rows<double>&, const data_summary&, model&, const update_options&,
                                 std::int32_t*);

template <class Scalar>
quality score_on_device(cuda::device_rows<Scalar>& rows, const data_summary& summary, const model& model,
                        std::int32_t* units) {
  device_map<Scalar> map(rows, summary, shape_of(model), model.metric);
  map.upload(model.codebook);
  map.enqueue(pass::topology, copying_to<Scalar>(rows.owns_shards() ? units : nullptr));
  const std::vector<double> statistics = map.read_statistics();
  rows.group().synchronize();
  return quality_of(statistics, model.units(), model.columns, rows.data().weight_scale, summary.total_weight);
}
template quality score_on_device(cuda::device_rows<float>&, const data_summary&, const model&, std::int32_t*);
template quality score_on_device(cuda::device_rows<double>&, const data_summary&, const model&, std::int32_t*);

}  // namespace shoal::som
