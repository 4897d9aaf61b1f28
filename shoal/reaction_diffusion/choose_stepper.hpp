// The stepper of each scheme.
#pragma once

#include <memory>

#include <shoal/execution/executor.hpp>
#include <shoal/reaction_diffusion/options.hpp>
#include <shoal/reaction_diffusion/parameters.hpp>
#include <shoal/reaction_diffusion/stepper.hpp>

namespace shoal::reaction_diffusion {

/// For a problem and options that were checked.
template <class Scalar>
std::unique_ptr<stepper<Scalar>> choose_stepper(const problem& wave, const options& how, executor& executor);

}  // namespace shoal::reaction_diffusion
