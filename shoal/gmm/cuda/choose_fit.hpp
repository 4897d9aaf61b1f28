// The fit of rows on GPUs by whichever algorithm is asked for.
#pragma once

#include <memory>

#include <shoal/gmm/cuda/fit_rows.hpp>
#include <shoal/gmm/stepper.hpp>

namespace shoal::gmm {

/// Throws bad_argument for what the algorithm does not do on GPUs.
template <class Scalar>
std::unique_ptr<mixture_stepper> make_device_fit(const device_fit_rows<Scalar>& rows);
extern template std::unique_ptr<mixture_stepper> make_device_fit(const device_fit_rows<float>&);
extern template std::unique_ptr<mixture_stepper> make_device_fit(const device_fit_rows<double>&);

}  // namespace shoal::gmm
