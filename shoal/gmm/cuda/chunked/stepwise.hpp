// Stepwise expectation-maximisation on GPUs.
#pragma once

#include <memory>

#include <shoal/gmm/cuda/chunked/chunked_fit.hpp>

namespace shoal::gmm {

/// By the rules of stepwise_fit, with the differences that device_chunked_fit has. The host looks after every pass.
template <class Scalar>
std::unique_ptr<mixture_stepper> make_stepwise(const device_fit_rows<Scalar>& fit);
extern template std::unique_ptr<mixture_stepper> make_stepwise(const device_fit_rows<float>&);
extern template std::unique_ptr<mixture_stepper> make_stepwise(const device_fit_rows<double>&);

}  // namespace shoal::gmm
