// Asynchronous expectation-maximisation on GPUs: expectation of one superchunk while another is folded in.
#pragma once

#include <cstddef>
#include <memory>

#include <shoal/gmm/cuda/chunked/chunked_fit.hpp>

namespace shoal::gmm {

/// By the rules of asynchronous_fit. Each shard has `workers` that take its superchunks in turn. A worker's expectation
/// uses the model that was the newest when its last superchunk had been folded in, so that GPUs go on multiplying
/// while what they found is merged, folded in, maximised and factorised on a few multiprocessors that they leave free.
/// The order in which deltas are folded in is fixed, first by superchunk, then by shard: unlike on the host, results
/// are the same bits run after run, for any number of GPUs. With one worker and no threshold it does on rows of one
/// shard what incremental does.
///
/// A checkpoint holds the model alone: the first pass after it is one of batch again.
template <class Scalar>
std::unique_ptr<mixture_stepper> make_asynchronous(const device_fit_rows<Scalar>& fit, std::size_t workers = 2);
extern template std::unique_ptr<mixture_stepper> make_asynchronous(const device_fit_rows<float>&, std::size_t);
extern template std::unique_ptr<mixture_stepper> make_asynchronous(const device_fit_rows<double>&, std::size_t);

}  // namespace shoal::gmm
