#include <shoal/som/backend.hpp>

#include <shoal/execution/device_ranks.hpp>
#include <shoal/nearest/nearest.hpp>
#include <shoal/som/batch_training.hpp>
#include <shoal/som/first_model.hpp>
#include <shoal/som/host_distances.hpp>
#include <shoal/som/host_update.hpp>
#include <shoal/som/online_training.hpp>

namespace shoal::som {
namespace {

template <class Scalar>
class host_backend final : public backend<Scalar> {
 public:
  explicit host_backend(const backend_rows<Scalar>& rows)
      : context_(rows.context),
        summary_(check_data(rows.context, *rows.rows, rows.weights, rows.fingerprint)),
        scaled_(*rows.rows, rows.weights, summary_) {}

  const data_summary& summary() const override { return summary_; }

  std::unique_ptr<map_stepper> fit(const options& options) override {
    const auto seed = [this, &options] {
      return first_codebook(context_, scaled_.data(), summary_, options,
                            [this] { return covariance_of(context_, scaled_.data(), summary_); });
    };
    if (options.training == training::online) {
      require_one_rank(context_.ranks, "training='online'", "use training='batch'");
      return std::make_unique<online_training<Scalar>>(context_, scaled_.data(), summary_, options, seed);
    }
    return std::make_unique<batch_training<Scalar>>(context_, scaled_.data(), summary_, options, seed);
  }

  double predict(const model& model, std::int32_t* units) override {
    return measure(model, units, false).quantization_error;
  }

  quality score(const model& model, std::int32_t* units) override { return measure(model, units, true); }

  void distances(const model& model, Scalar* distances) override {
    distances_on_host(context_, *scaled_.data().rows, model, distances);
  }

  double update(model& model, const update_options& options, std::int32_t* units) override {
    return update_on_host(context_, scaled_.data(), summary_, model, options, units);
  }

  std::string hardware() const override { return simd_target(); }

 private:
  quality measure(const model& model, std::int32_t* units, bool torn) {
    codebook_index<Scalar> index;
    index.set(model.metric, model.codebook, model.units(), model.columns);
    const quality_body<Scalar> body{&index, shape_of(model), units, torn};
    return quality_of(fold<Scalar>(context_, scaled_.data(), quality_monoid{model.units()}, body),
                      summary_.total_weight, scaled_.data().weight_scale);
  }

  fold_context context_;
  data_summary summary_;
  scaled_rows<Scalar> scaled_;
};

}  // namespace

template <class Scalar>
std::unique_ptr<backend<Scalar>> make_backend(const device_choice& device, const backend_rows<Scalar>& rows) {
  check_precision(device, sizeof(Scalar) == 8);
  check_ranks(device, rows.context.ranks);
  if (device.on_host()) return std::make_unique<host_backend<Scalar>>(rows);
  return make_cuda_backend<Scalar>(device, rows);
}

template std::unique_ptr<backend<float>> make_backend(const device_choice&, const backend_rows<float>&);
template std::unique_ptr<backend<double>> make_backend(const device_choice&, const backend_rows<double>&);

}  // namespace shoal::som
