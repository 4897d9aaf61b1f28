#include <shoal/gmm/backend.hpp>

#include <shoal/execution/device_ranks.hpp>
#include <shoal/gmm/accumulate.hpp>
#include <shoal/gmm/choose_fit.hpp>
#include <shoal/gmm/parameters.hpp>

namespace shoal::gmm {
namespace {

template <class Scalar>
class host_backend final : public backend<Scalar> {
 public:
  explicit host_backend(const backend_rows<Scalar>& rows)
      : context_(rows.context),
        summary_(check_data<Scalar>(rows.context, *rows.rows, rows.weights, rows.fingerprint)),
        scaled_(*rows.rows, rows.weights, summary_, rows.every_row_as_it_is) {}

  const data_summary& summary() const override { return summary_; }

  std::unique_ptr<mixture_stepper> fit(const options& options) override {
    return make_host_fit<Scalar>({context_, scaled_.data(), summary_, options});
  }

  double predict(const model& model, const prediction<Scalar>& out) override {
    const parameters<Scalar> components = prepare<Scalar>(model, context_.workers);
    const score sums =
        fold<Scalar>(context_, scaled_.data(), score_monoid{}, prediction_body<Scalar>{&components, out});
    return sums.log_likelihood / sums.weight;
  }

  statistics expectation(const model& model) override {
    const parameters<Scalar> components = prepare<Scalar>(model, context_.workers);
    return sums_of(accumulation<Scalar>{&components});
  }

  statistics expectation_about(const model& model, const parameters<Scalar>& centres) override {
    const parameters<Scalar> components = prepare<Scalar>(model, context_.workers);
    return sums_of(accumulation<Scalar>{&components, nullptr, &centres});
  }

  std::string hardware() const override { return instruction_set(); }

 private:
  statistics sums_of(const accumulation<Scalar>& body) const {
    const parameters<Scalar>& of = *body.components;
    return fold<Scalar>(context_, scaled_.data(),
                        statistics_group(statistics_layout(of.covariance_type, of.components, of.columns)), body);
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

}  // namespace shoal::gmm
