// One mixture fit in progress on GPUs: rows, statistics and model stay there from step to step.
#pragma once

#include <functional>
#include <memory>

#include <shoal/estimation/data_check.hpp>
#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/gmm/options.hpp>
#include <shoal/gmm/stepper.hpp>

namespace shoal::gmm {

/// The first model of a restart.
using first_model_function = std::function<model(std::size_t restart)>;

/// Expectation-maximisation on the GPUs of `rows`, by the rules of expectation_maximization. Each GPU sums its
/// shards, the first adds all shards up, maximises, and gives the others the new parameters. When all rows are
/// resident, advance() runs many steps before the host looks again: it asks for them a few at a time, so that a request
/// to stop is answered within about 50 ms, and the GPU itself ends them by the stop rule of options.tolerance. With
/// options.acceleration the first GPU extrapolates by the rule of squarem_fit, between two steps, without the host.
///
/// `data` are the rows of `rows` as the host reads them: the rows for empty components come from there by folds
/// on the context's workers, and so do first models when `first_model` is empty. Borrows everything it is given.
template <class Scalar>
std::unique_ptr<mixture_stepper> make_device_expectation_maximization(
    cuda::device_rows<Scalar>& rows, const fold_context& context, const weighted_rows<Scalar>& data,
    const data_summary& summary, const options& options, first_model_function first_model = {});
extern template std::unique_ptr<mixture_stepper> make_device_expectation_maximization(
    cuda::device_rows<float>&, const fold_context&, const weighted_rows<float>&, const data_summary&, const options&,
    first_model_function);
extern template std::unique_ptr<mixture_stepper> make_device_expectation_maximization(
    cuda::device_rows<double>&, const fold_context&, const weighted_rows<double>&, const data_summary&, const options&,
    first_model_function);

}  // namespace shoal::gmm
