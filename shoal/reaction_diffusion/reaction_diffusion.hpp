// FitzHugh–Nagumo waves by finite differences. The door to this room.
#pragma once

#include <functional>

#include <shoal/core/progress.hpp>
#include <shoal/reaction_diffusion/device_state.hpp>
#include <shoal/reaction_diffusion/initial_state.hpp>
#include <shoal/reaction_diffusion/options.hpp>
#include <shoal/reaction_diffusion/parameters.hpp>
#include <shoal/reaction_diffusion/result.hpp>
#include <shoal/reaction_diffusion/wave_speed.hpp>

namespace shoal::reaction_diffusion {

/// Called with each state that is kept, as soon as it is there: time, v and w, [rows][columns] each.
template <class Scalar>
using observer = std::function<void(double time, const Scalar* v, const Scalar* w)>;

/// Computes the wave from `begin` at time 0 and keeps it at each of `how.times`, in the scalar that is asked for:
/// solve<float>() or solve<double>(). The bits do not depend on the threads, nor on whether the run was resumed;
/// explicit steps have the same on any number of CUDA devices, where the host has fused multiply-adds. Throws
/// bad_argument for what cannot be computed, an explicit step above its bound among it; bad_data for an initial value
/// that is not finite, and for a damaged checkpoint; bad_argument for a checkpoint of another run; numerical_error when
/// Newton's method or the step control fails, with the time, and when a state that is kept is not finite (of
/// source_2016 it may be); interrupted.
template <class Scalar>
result<Scalar> solve(const problem& wave, const initial_state& begin, const options& how,
                     const observer<Scalar>& observe = {}, const control& control = {});
extern template result<double> solve<double>(const problem&, const initial_state&, const options&,
                                             const observer<double>&, const control&);
extern template result<float> solve<float>(const problem&, const initial_state&, const options&, const observer<float>&,
                                           const control&);

/// The same from a state in the memory of a CUDA device, on the devices of `how`, with the states written to memory of
/// that device, [times][2][rows][columns]; those of the result stay empty. Nothing passes through the host. Throws
/// bad_argument for a checkpoint too, which holds states of the host, and where `how.device` is the host.
template <class Scalar>
result<Scalar> solve(const problem& wave, const device_state<Scalar>& begin, const options& how, Scalar* states,
                     const control& control = {});
extern template result<double> solve<double>(const problem&, const device_state<double>&, const options&, double*,
                                             const control&);
extern template result<float> solve<float>(const problem&, const device_state<float>&, const options&, float*,
                                           const control&);

}  // namespace shoal::reaction_diffusion
