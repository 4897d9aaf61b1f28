// Rows drawn from a mixture, on the host or on CUDA devices.
#pragma once

#include <cstddef>
#include <cstdint>

#include <shoal/core/matrix_view.hpp>
#include <shoal/execution/device_choice.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/random/normal_method.hpp>

namespace shoal::gmm {

/// Draws rows [first, first + count) of the endless sequence that (model, seed, method) defines, so that row i is the
/// same whoever draws it, in whatever pieces: component k with probability weights[k], then μ_k + L_k·η with L_k the
/// Cholesky factor of its covariance and η standard normals. `rows` is [count][d], in the model's units, computed in
/// float64 and rounded once; `labels`, [count], takes the components and may be null. Each call factorises the
/// covariances, so draw thousands of rows at a time. Threads may draw separate ranges at once. Throws bad_argument when
/// the columns of `rows` or the sizes of the model's arrays are not those that it states, numerical_error for a
/// covariance that is not positive definite, by component.
void sample(const model& model, std::uint64_t seed, std::size_t first, matrix_view<float> rows, std::int32_t* labels,
            random::normal_method method = random::normal_method::ziggurat);
void sample(const model& model, std::uint64_t seed, std::size_t first, matrix_view<double> rows, std::int32_t* labels,
            random::normal_method method = random::normal_method::ziggurat);

/// The same on the devices of a choice: the same labels and, computed in float64, the same bits, but where a
/// normal comes from the tail of the ziggurat or the ratio of uniforms tests a point by logarithm (one in thousands):
/// there the device's logarithm may differ in its last bit, and elements that the normal enters by as much. On CUDA
/// devices `rows` and `labels` may be memory of the host or of any device; they have been written when the call
/// returns. Throws what sample() throws, not_built and out_of_memory.
void sample(const model& model, std::uint64_t seed, std::size_t first, matrix_view<float> rows, std::int32_t* labels,
            random::normal_method method, const device_choice& device);
void sample(const model& model, std::uint64_t seed, std::size_t first, matrix_view<double> rows, std::int32_t* labels,
            random::normal_method method, const device_choice& device);

}  // namespace shoal::gmm
