// Rows and options of one fit of a mixture on GPUs.
#pragma once

#include <cstddef>
#include <functional>

#include <shoal/estimation/data_check.hpp>
#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/options.hpp>

namespace shoal::gmm {

/// The first model of a restart.
using first_model_function = std::function<model(std::size_t restart)>;

/// What a fit borrows; `data` are the rows of `rows` as the host reads them, and an empty `first_model` stands for the
/// host's.
template <class Scalar>
struct device_fit_rows {
  cuda::device_rows<Scalar>& rows;
  fold_context context;
  const weighted_rows<Scalar>& data;
  const data_summary& summary;
  const gmm::options& options;
  first_model_function first_model;
};

}  // namespace shoal::gmm
