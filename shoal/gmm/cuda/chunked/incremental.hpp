// Incremental expectation-maximisation on GPUs: the model moves after every superchunk without leaving them.
#pragma once

#include <memory>

#include <shoal/gmm/cuda/chunked/chunked_fit.hpp>

namespace shoal::gmm {

/// By the rules of incremental_fit, with the differences that device_chunked_fit has. On one GPU that holds all rows a
/// pass is a graph, many of which run before the host looks again, and the GPU itself ends them where
/// |Δ objective| < options.tolerance between two passes.
template <class Scalar>
std::unique_ptr<mixture_stepper> make_incremental(const device_fit_rows<Scalar>& fit);
extern template std::unique_ptr<mixture_stepper> make_incremental(const device_fit_rows<float>&);
extern template std::unique_ptr<mixture_stepper> make_incremental(const device_fit_rows<double>&);

}  // namespace shoal::gmm
