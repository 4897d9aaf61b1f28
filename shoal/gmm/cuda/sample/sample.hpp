// sample() on CUDA devices.
#pragma once

#include <cstddef>
#include <cstdint>

#include <shoal/core/matrix_view.hpp>
#include <shoal/execution/device_choice.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/random/normal_method.hpp>

namespace shoal::gmm {

/// For choices that are not on the host.
template <class Scalar>
void sample_on_devices(const model& model, std::uint64_t seed, std::size_t first, matrix_view<Scalar> rows,
                       std::int32_t* labels, random::normal_method method, const device_choice& device);
extern template void sample_on_devices(const model&, std::uint64_t, std::size_t, matrix_view<float>, std::int32_t*,
                                       random::normal_method, const device_choice&);
extern template void sample_on_devices(const model&, std::uint64_t, std::size_t, matrix_view<double>, std::int32_t*,
                                       random::normal_method, const device_choice&);

}  // namespace shoal::gmm
