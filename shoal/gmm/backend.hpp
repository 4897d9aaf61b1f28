// What an executor does for mixtures: it holds checked rows, steps a fit over them and predicts them.
#pragma once

#include <memory>
#include <string>

#include <shoal/estimation/backend_rows.hpp>
#include <shoal/estimation/data_check.hpp>
#include <shoal/execution/device_choice.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/options.hpp>
#include <shoal/gmm/parameters.hpp>
#include <shoal/gmm/prediction.hpp>
#include <shoal/gmm/statistics.hpp>
#include <shoal/gmm/stepper.hpp>

namespace shoal::gmm {

template <class Scalar>
class backend {
 public:
  virtual ~backend() = default;

  virtual const data_summary& summary() const = 0;
  /// A fit of all rows; `options` must outlive it.
  virtual std::unique_ptr<mixture_stepper> fit(const options& options) = 0;
  /// Writes what `out` asks for and returns the mean log-likelihood. The model must be valid and have the rows'
  /// columns.
  virtual double predict(const model& model, const prediction<Scalar>& out) = 0;
  /// The statistics of all rows under the model, in units of the stored weights, about its means rounded to Scalar. The
  /// model must be as for predict().
  virtual statistics expectation(const model& model) = 0;
  /// The same about other centres; of the header only the weight means anything.
  virtual statistics expectation_about(const model& model, const parameters<Scalar>& centres) = 0;
  /// What else the bits of a result depend on, after the data and the options: an instruction set, or the kind of GPUs.
  virtual std::string hardware() const = 0;
};

/// Checks the rows where they will be used; throws what check_data throws.
template <class Scalar>
std::unique_ptr<backend<Scalar>> make_backend(const device_choice& device, const backend_rows<Scalar>& rows);
extern template std::unique_ptr<backend<float>> make_backend(const device_choice&, const backend_rows<float>&);
extern template std::unique_ptr<backend<double>> make_backend(const device_choice&, const backend_rows<double>&);

/// CUDA's, for choices that are not on the host.
template <class Scalar>
std::unique_ptr<backend<Scalar>> make_cuda_backend(const device_choice& device, const backend_rows<Scalar>& rows);
extern template std::unique_ptr<backend<float>> make_cuda_backend(const device_choice&, const backend_rows<float>&);
extern template std::unique_ptr<backend<double>> make_cuda_backend(const device_choice&, const backend_rows<double>&);

}  // namespace shoal::gmm
