// What an executor does for k-means: it holds checked rows, steps a fit over them and labels them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <shoal/estimation/backend_rows.hpp>
#include <shoal/estimation/data_check.hpp>
#include <shoal/estimation/seeding_request.hpp>
#include <shoal/execution/device_choice.hpp>
#include <shoal/kmeans/model.hpp>
#include <shoal/kmeans/options.hpp>
#include <shoal/kmeans/statistics.hpp>
#include <shoal/kmeans/stepper.hpp>

namespace shoal::kmeans {

template <class Scalar>
class backend {
 public:
  virtual ~backend() = default;

  virtual const data_summary& summary() const = 0;
  /// A fit of all rows; `options` must outlive it.
  virtual std::unique_ptr<clustering_stepper> fit(const options& options) = 0;
  /// The nearest centroid of each row in labels[rows], unless that is null. Returns what the rows sum up to about these
  /// centroids, in the caller's weights. The model must be valid and have the rows' columns.
  virtual statistics predict(const model& model, std::int32_t* labels) = 0;
  /// As distances() of kmeans.hpp; the model must be as for predict().
  virtual void distances(const model& model, Scalar* distances) = 0;
  /// The rows that greedy k-means++ chooses.
  virtual std::vector<std::size_t> choose_rows(const seeding_request& request) = 0;
  /// What else the bits of a result depend on, after the data and the options: an instruction set, or the kind of GPUs.
  virtual std::string hardware() const = 0;
};

/// Checks the rows where they will be used; throws what check_data throws.
template <class Scalar>
std::unique_ptr<backend<Scalar>> make_backend(const device_choice& device, const backend_rows<Scalar>& rows);
extern template std::unique_ptr<backend<float>> make_backend(const device_choice&, const backend_rows<float>&);
extern template std::unique_ptr<backend<double>> make_backend(const device_choice&, const backend_rows<double>&);

/// The same of the rows as they are, whatever digits their offset leaves (see offset_backend.hpp).
template <class Scalar>
std::unique_ptr<backend<Scalar>> make_plain_backend(const device_choice& device, const backend_rows<Scalar>& rows);
extern template std::unique_ptr<backend<float>> make_plain_backend(const device_choice&, const backend_rows<float>&);
extern template std::unique_ptr<backend<double>> make_plain_backend(const device_choice&, const backend_rows<double>&);

/// CUDA's, for choices that are not on the host.
template <class Scalar>
std::unique_ptr<backend<Scalar>> make_cuda_backend(const device_choice& device, const backend_rows<Scalar>& rows);
extern template std::unique_ptr<backend<float>> make_cuda_backend(const device_choice&, const backend_rows<float>&);
extern template std::unique_ptr<backend<double>> make_cuda_backend(const device_choice&, const backend_rows<double>&);

}  // namespace shoal::kmeans
