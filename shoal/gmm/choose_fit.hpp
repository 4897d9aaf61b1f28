// The fit of rows on the host by whichever algorithm is asked for.
#pragma once

#include <memory>

#include <shoal/execution/communicator.hpp>
#include <shoal/gmm/chunked/chunked_fit.hpp>
#include <shoal/gmm/stepper.hpp>

namespace shoal::gmm {

/// Throws bad_argument when several ranks choose an algorithm that is no fold.
void check_algorithm(algorithm chosen, const communicator* ranks);

template <class Scalar>
std::unique_ptr<mixture_stepper> make_host_fit(const host_rows<Scalar>& rows);
extern template std::unique_ptr<mixture_stepper> make_host_fit(const host_rows<float>&);
extern template std::unique_ptr<mixture_stepper> make_host_fit(const host_rows<double>&);

}  // namespace shoal::gmm
