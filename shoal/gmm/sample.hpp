// Rows drawn from a mixture on CUDA devices as on the host.
#pragma once

#include <cstddef>
#include <cstdint>

#include <shoal/execution/device_choice.hpp>
#include <shoal/gmm/gmm.hpp>

namespace shoal::gmm {

/// sample() of gmm.hpp on the devices of a choice: the same labels and, computed in float64, the same bits, but where a
/// normal comes from the tail of the ziggurat or the ratio of uniforms tests a point by logarithm (one in thousands):
/// there the device's logarithm may differ in its last bit, and elements that the normal enters by as much. On CUDA
/// devices `rows` and `labels` may be memory of the host or of any device; they have been written when the call
/// returns. Throws what sample() throws, not_built and out_of_memory.
void sample(const model& model, std::uint64_t seed, std::size_t first, matrix_view<float> rows, std::int32_t* labels,
            random::normal_method method, const device_choice& device);
void sample(const model& model, std::uint64_t seed, std::size_t first, matrix_view<double> rows, std::int32_t* labels,
            random::normal_method method, const device_choice& device);

}  // namespace shoal::gmm
