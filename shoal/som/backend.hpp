// What an executor does for maps: it holds checked rows, trains a map on them, finds their units and measures quality.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <shoal/estimation/backend_rows.hpp>
#include <shoal/estimation/data_check.hpp>
#include <shoal/execution/device_choice.hpp>
#include <shoal/som/model.hpp>
#include <shoal/som/options.hpp>
#include <shoal/som/quality.hpp>
#include <shoal/som/stepper.hpp>

namespace shoal::som {

template <class Scalar>
class backend {
 public:
  virtual ~backend() = default;

  virtual const data_summary& summary() const = 0;
  /// Training on all rows; `options` have been checked and must outlive it.
  virtual std::unique_ptr<map_stepper> fit(const options& options) = 0;
  /// The best-matching unit of each row in units[rows], unless that is null. Returns the quantization error. The model
  /// must be valid and have the rows' columns.
  virtual double predict(const model& model, std::int32_t* units) = 0;
  /// How well the map stands for the rows; `units` and the model are as for predict().
  virtual quality score(const model& model, std::int32_t* units = nullptr) = 0;
  /// As distances() of som.hpp; the model must be as for predict().
  virtual void distances(const model& model, Scalar* distances) = 0;
  /// As update() of som.hpp; the model must be as for predict(), and the options have been checked.
  virtual double update(model& model, const update_options& options, std::int32_t* units) = 0;
  /// What else the bits of a result depend on, after the data and the options: an instruction set, or the kind of GPUs.
  virtual std::string hardware() const = 0;
};

/// Checks the rows where they will be used; throws what check_data throws.
template <class Scalar>
std::unique_ptr<backend<Scalar>> make_backend(const device_choice& device, const backend_rows<Scalar>& rows);
extern template std::unique_ptr<backend<float>> make_backend(const device_choice&, const backend_rows<float>&);
extern template std::unique_ptr<backend<double>> make_backend(const device_choice&, const backend_rows<double>&);

/// CUDA's, for choices that are not on the host. Its fit() refuses online training by name.
template <class Scalar>
std::unique_ptr<backend<Scalar>> make_cuda_backend(const device_choice& device, const backend_rows<Scalar>& rows);
extern template std::unique_ptr<backend<float>> make_cuda_backend(const device_choice&, const backend_rows<float>&);
extern template std::unique_ptr<backend<double>> make_cuda_backend(const device_choice&, const backend_rows<double>&);

}  // namespace shoal::som
