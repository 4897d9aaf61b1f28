// k-means on CUDA devices.
#include <shoal/kmeans/cuda/backend.hpp>

#include <algorithm>
#include <cmath>

#include <shoal/estimation/seeding.hpp>
#include <shoal/kmeans/cuda/distances.hpp>
#include <shoal/kmeans/cuda/lloyd.hpp>
#include <shoal/kmeans/first_model.hpp>

namespace shoal::kmeans {
namespace {

template <class Scalar>
class cuda_backend final : public backend<Scalar> {
 public:
  explicit cuda_backend(std::shared_ptr<device_data<Scalar>> data) : data_(std::move(data)) {}

  const data_summary& summary() const override { return data_->summary(); }

  std::unique_ptr<clustering_stepper> fit(const options& options) override {
    const auto seed = [this, &options](std::size_t restart) {
      return first_centroids(data_->context(), data_->rows().data(), summary(), options, restart, data_->seeding());
    };
    return make_device_lloyd<Scalar>(data_->rows(), data_->context(), options.clusters, seed,
                                     limits_of(options, summary()), summary().mean, extent_of(summary()));
  }

  statistics predict(const model& model, std::int32_t* labels) override {
    return predict_on_device(data_->rows(), model, labels);
  }

  void distances(const model& model, Scalar* distances) override {
    distances_on_device(data_->rows(), model, distances);
  }

  std::vector<std::size_t> choose_rows(const seeding_request& request) override {
    return choose_plus_plus(data_->context(), data_->rows().data(), summary(), request, data_->seeding());
  }

  std::string hardware() const override { return data_->hardware(); }

 private:
  static rows_extent extent_of(const data_summary& summary) {
    rows_extent extent;
    double squares = 0;
    for (std::size_t j = 0; j < summary.columns; ++j) {
      extent.largest =
          std::max({extent.largest, summary.highest[j] - summary.mean[j], summary.mean[j] - summary.lowest[j]});
      squares += summary.variance[j];
    }
    extent.norm = std::sqrt(squares);
    return extent;
  }
  static stop_limits limits_of(const options& options, const data_summary& summary) {
    stop_limits limits;
    if (!(options.tolerance > 0)) return limits;
    if (options.stop == stop_rule::scikit_learn) {
      limits.absolute = options.tolerance * mean_variance(summary);
    } else {
      limits.relative = options.tolerance;
    }
    return limits;
  }

  std::shared_ptr<device_data<Scalar>> data_;
};

}  // namespace

template <class Scalar>
std::unique_ptr<backend<Scalar>> make_cuda_backend(std::shared_ptr<device_data<Scalar>> data) {
  return std::make_unique<cuda_backend<Scalar>>(std::move(data));
}

template <class Scalar>
std::unique_ptr<backend<Scalar>> make_cuda_backend(const device_choice& device, const backend_rows<Scalar>& rows) {
  return make_cuda_backend(
      std::make_shared<device_data<Scalar>>(rows.context, device, *rows.rows, rows.weights, rows.fingerprint));
}

template std::unique_ptr<backend<float>> make_cuda_backend(std::shared_ptr<device_data<float>>);
template std::unique_ptr<backend<double>> make_cuda_backend(std::shared_ptr<device_data<double>>);
template std::unique_ptr<backend<float>> make_cuda_backend(const device_choice&, const backend_rows<float>&);
template std::unique_ptr<backend<double>> make_cuda_backend(const device_choice&, const backend_rows<double>&);

}  // namespace shoal::kmeans
