// Batch training on GPUs, of all rows and of rows that come in parts, and the quality of a map there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <shoal/estimation/data_check.hpp>
#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/som/model.hpp>
#include <shoal/som/options.hpp>
#include <shoal/som/quality.hpp>
#include <shoal/som/stepper.hpp>
#include <shoal/som/update.hpp>

namespace shoal::som {

/// Batch training in progress, with the semantics of batch_training. Rows that stay on one GPU see many epochs between
/// two looks of the host. Borrows everything; `summary` is of the rows, and `seed` gives the first codebook.
template <class Scalar>
std::unique_ptr<map_stepper> make_device_training(cuda::device_rows<Scalar>& rows, const fold_context& context,
                                                  const data_summary& summary, const options& options,
                                                  std::function<std::vector<double>()> seed);
extern template std::unique_ptr<map_stepper> make_device_training(cuda::device_rows<float>&, const fold_context&,
                                                                  const data_summary&, const options&,
                                                                  std::function<std::vector<double>()>);
extern template std::unique_ptr<map_stepper> make_device_training(cuda::device_rows<double>&, const fold_context&,
                                                                  const data_summary&, const options&,
                                                                  std::function<std::vector<double>()>);

/// The best-matching units into units[rows], memory of the host or of any device, unless that is null; returns the
/// quantization error.
template <class Scalar>
double predict_on_device(cuda::device_rows<Scalar>& rows, const data_summary& summary, const model& model,
                         std::int32_t* units);
extern template double predict_on_device(cuda::device_rows<float>&, const data_summary&, const model&, std::int32_t*);
extern template double predict_on_device(cuda::device_rows<double>&, const data_summary&, const model&, std::int32_t*);

/// update() of som.hpp; `units` is as for predict_on_device().
template <class Scalar>
double update_on_device(cuda::device_rows<Scalar>& rows, const data_summary& summary, model& model,
                        const update_options& options, std::int32_t* units);
extern template double update_on_device(cuda::device_rows<float>&, const data_summary&, model&, const update_options&,
                                        std::int32_t*);
extern template double update_on_device(cuda::device_rows<double>&, const data_summary&, model&, const update_options&,
                                        std::int32_t*);

/// `units` is as for predict_on_device().
template <class Scalar>
quality score_on_device(cuda::device_rows<Scalar>& rows, const data_summary& summary, const model& model,
                        std::int32_t* units);
extern template quality score_on_device(cuda::device_rows<float>&, const data_summary&, const model&, std::int32_t*);
extern template quality score_on_device(cuda::device_rows<double>&, const data_summary&, const model&, std::int32_t*);

}  // namespace shoal::som
