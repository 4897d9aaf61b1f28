// Self-organizing maps on CUDA devices.
#include <utility>

#include <shoal/core/error.hpp>
#include <shoal/som/cuda/backend.hpp>
#include <shoal/som/cuda/covariance.hpp>
#include <shoal/som/cuda/distances.hpp>
#include <shoal/som/cuda/training.hpp>
#include <shoal/som/first_model.hpp>

namespace shoal::som {
namespace {

template <class Scalar>
class cuda_backend final : public backend<Scalar> {
 public:
  explicit cuda_backend(std::shared_ptr<device_data<Scalar>> data) : data_(std::move(data)) {}

  const data_summary& summary() const override { return data_->summary(); }

  std::unique_ptr<map_stepper> fit(const options& options) override {
    if (options.training == training::online) {
      throw bad_argument(
          "online training runs on the host, one row after another; choose --device cpu or batch training");
    }
    const auto seed = [this, &options] {
      return first_codebook(
          data_->context(), data_->rows().data(), summary(), options,
          [this] { return covariance_on_devices(data_->rows(), summary()); }, data_->seeding());
    };
    return make_device_training<Scalar>(data_->rows(), data_->context(), summary(), options, seed);
  }

  double predict(const model& model, std::int32_t* units) override {
    return predict_on_device(data_->rows(), summary(), model, units);
  }

  quality score(const model& model, std::int32_t* units) override {
    return score_on_device(data_->rows(), summary(), model, units);
  }

  void distances(const model& model, Scalar* distances) override {
    distances_on_device(data_->rows(), model, distances);
  }

  double update(model& model, const update_options& options, std::int32_t* units) override {
    return update_on_device(data_->rows(), summary(), model, options, units);
  }

  std::string hardware() const override { return data_->hardware(); }

 private:
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

}  // namespace shoal::som
