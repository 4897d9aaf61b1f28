// Mixtures on CUDA devices.
#include <shoal/gmm/cuda/backend.hpp>

#include <utility>
#include <vector>

#include <shoal/gmm/cuda/choose_fit.hpp>
#include <shoal/gmm/cuda/expectation.hpp>
#include <shoal/gmm/cuda/first_model/given_moments.hpp>
#include <shoal/gmm/cuda/moments_about.hpp>
#include <shoal/gmm/cuda/predict.hpp>
#include <shoal/gmm/first_model.hpp>
#include <shoal/kmeans/backend_fit.hpp>
#include <shoal/kmeans/cuda/backend.hpp>
#include <shoal/kmeans/cuda/lloyd.hpp>

namespace shoal::gmm {
namespace {

template <class Scalar>
class cuda_backend final : public backend<Scalar> {
 public:
  explicit cuda_backend(std::shared_ptr<device_data<Scalar>> data) : data_(std::move(data)) {}

  const data_summary& summary() const override { return data_->summary(); }

  std::unique_ptr<mixture_stepper> fit(const options& options) override {
    const auto first_model = [this, &options](std::size_t restart) {
      return initial_model(data_->context(), data_->rows().data(), summary(), options, restart, first_steps());
    };
    return make_device_fit<Scalar>(
        {data_->rows(), data_->context(), data_->rows().data(), summary(), options, first_model});
  }

  double predict(const model& model, const prediction<Scalar>& out) override {
    return predict_on_device(data_->rows(), model, out);
  }

  statistics expectation(const model& model) override { return expectation_on_device(data_->rows(), model); }

  statistics expectation_about(const model& model, const parameters<Scalar>& centres) override {
    const statistics_layout layout(model.covariance_type, model.components, model.columns);
    device_parts<Scalar> parts(data_->rows().group(), layout, 0);
    parts.prepare(model);
    return moments_about(data_->rows(), parts, centres.centres);
  }

  std::string hardware() const override { return data_->hardware(); }

 private:
  first_model_steps first_steps() {
    first_model_steps steps;
    steps.seeding = data_->seeding();
    steps.cluster = [this](const kmeans::options& options) {
      return kmeans::fit(*kmeans::make_cuda_backend(data_), options,
                         while_seeding(data_->context(), summary(), options.clusters), kmeans::vanishing_rows::accepted)
          .model.centroids;
    };
    steps.labelled = [this](const statistics_layout& layout, std::span<const double> centres,
                            const std::vector<double>& centroids) {
      given_moments<Scalar> moments(data_->rows(), layout, centres);
      kmeans::label_on_device<Scalar>(data_->rows(), {layout.components(), layout.columns(), centroids, {}},
                                      [&](const cuda::device_piece<Scalar>& piece, const std::int32_t* labels,
                                          cudaStream_t) { moments.add(piece, labels); });
      return moments.total();
    };
    steps.random = [this](const statistics_layout& layout, std::span<const double> centres, std::uint64_t seed,
                          std::uint64_t id) {
      given_moments<Scalar> moments(data_->rows(), layout, centres);
      data_->rows().for_each_piece([&](std::size_t, const cuda::device_piece<Scalar>& piece) {
        moments.add(piece, random_responsibilities{seed, id});
      });
      return moments.total();
    };
    return steps;
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
  return make_cuda_backend(std::make_shared<device_data<Scalar>>(rows.context, device, *rows.rows, rows.weights,
                                                                 rows.fingerprint, nullptr, rows.every_row_as_it_is));
}

template std::unique_ptr<backend<float>> make_cuda_backend(std::shared_ptr<device_data<float>>);
template std::unique_ptr<backend<double>> make_cuda_backend(std::shared_ptr<device_data<double>>);
template std::unique_ptr<backend<float>> make_cuda_backend(const device_choice&, const backend_rows<float>&);
template std::unique_ptr<backend<double>> make_cuda_backend(const device_choice&, const backend_rows<double>&);

}  // namespace shoal::gmm
