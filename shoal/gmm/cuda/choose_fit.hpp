// The fit of rows on GPUs by an algorithm whose model moves within a pass.
#pragma once

#include <memory>

#include <shoal/gmm/cuda/chunked/chunked_fit.hpp>

namespace shoal::gmm {

/// By fit.options.algorithm. Throws bad_argument for batch, and for what the algorithm does not do on GPUs.
template <class Scalar>
std::unique_ptr<mixture_stepper> make_device_chunked_fit(const device_fit_rows<Scalar>& fit);
extern template std::unique_ptr<mixture_stepper> make_device_chunked_fit(const device_fit_rows<float>&);
extern template std::unique_ptr<mixture_stepper> make_device_chunked_fit(const device_fit_rows<double>&);

}  // namespace shoal::gmm
