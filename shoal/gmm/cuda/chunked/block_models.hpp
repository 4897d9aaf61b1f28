// Asynchronous expectation-maximisation on a GPU by blocks with models of their own, as Altinigneli, Plant & Böhm
// (2013) did it.
#pragma once

#include <memory>

#include <shoal/gmm/cuda/chunked/chunked_fit.hpp>

namespace shoal::gmm {

/// By the rules of asynchronous_fit with memberships: every GPU cuts its share as the host cuts all rows, every
/// superchunk is a thread block's, and all blocks begin a pass with the newest model, move their own after every chunk
/// (with chunks.local_models) and are consolidated at its end, in order; so results are the same bits run after run.
/// Every chunks.rebuild_passes passes, and after one that folded nothing in, a pass of batch makes all statistics and
/// memberships anew.
///
/// Throws bad_argument when there are no memberships, for rows that are not resident, and for tied and spherical
/// covariances.
template <class Scalar>
std::unique_ptr<mixture_stepper> make_block_models(const device_fit_rows<Scalar>& fit);
extern template std::unique_ptr<mixture_stepper> make_block_models(const device_fit_rows<float>&);
extern template std::unique_ptr<mixture_stepper> make_block_models(const device_fit_rows<double>&);

}  // namespace shoal::gmm
