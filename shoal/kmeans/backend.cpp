#include <shoal/kmeans/backend.hpp>

#include <shoal/estimation/seeding.hpp>
#include <shoal/execution/device_ranks.hpp>
#include <shoal/kmeans/first_model.hpp>
#include <shoal/kmeans/host_distances.hpp>
#include <shoal/kmeans/lloyd.hpp>
#include <shoal/nearest/nearest.hpp>

namespace shoal::kmeans {
namespace {

template <class Scalar>
class host_backend final : public backend<Scalar> {
 public:
  explicit host_backend(const backend_rows<Scalar>& rows)
      : context_(rows.context),
        summary_(check_data(rows.context, *rows.rows, rows.weights, rows.fingerprint)),
        scaled_(*rows.rows, rows.weights, summary_) {}

  const data_summary& summary() const override { return summary_; }

  std::unique_ptr<clustering_stepper> fit(const options& options) override {
    return std::make_unique<lloyd<Scalar>>(
        context_, scaled_.data(), options.clusters, [this, &options](std::size_t restart) {
          return first_centroids(context_, scaled_.data(), summary_, options, restart);
        });
  }

  statistics predict(const model& model, std::int32_t* labels) override {
    prepared_centroids<Scalar> centroids;
    centroids.set(model.centroids, model.clusters, model.columns, scaled_.data().rows->rows(), context_.workers);
    return in_callers_weights(fold<Scalar>(context_, scaled_.data(), statistics_monoid{model.clusters, model.columns},
                                           accumulate_body<Scalar>{&centroids, labels}),
                              scaled_.data().weight_scale);
  }

  void distances(const model& model, Scalar* distances) override {
    distances_on_host(context_, *scaled_.data().rows, model, distances);
  }

  std::vector<std::size_t> choose_rows(const seeding_request& request) override {
    return choose_plus_plus(context_, scaled_.data(), summary_, request);
  }

  std::string hardware() const override { return simd_target(); }

 private:
  fold_context context_;
  data_summary summary_;
  scaled_rows<Scalar> scaled_;
};

}  // namespace

template <class Scalar>
std::unique_ptr<backend<Scalar>> make_plain_backend(const device_choice& device, const backend_rows<Scalar>& rows) {
  check_precision(device, sizeof(Scalar) == 8);
  check_ranks(device, rows.context.ranks);
  if (device.on_host()) return std::make_unique<host_backend<Scalar>>(rows);
  return make_cuda_backend<Scalar>(device, rows);
}

template std::unique_ptr<backend<float>> make_plain_backend(const device_choice&, const backend_rows<float>&);
template std::unique_ptr<backend<double>> make_plain_backend(const device_choice&, const backend_rows<double>&);

}  // namespace shoal::kmeans
