// A mixture of many columns on one GPU: its sizes, and the memory of the expectation step.
#pragma once

#include <cstddef>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/gmm/cuda/tensor/clear.hpp>
#include <shoal/gmm/cuda/tensor_matrix/layout.hpp>
#include <shoal/gmm/statistics_layout.hpp>

namespace shoal::gmm::tensor_matrix {

/// The sizes of a mixture and of the chunks in which `most_rows` rows pass.
problem sizes_of(const statistics_layout& layout, int products, std::size_t most_rows);

/// The problem with the mixture's arrays.
inline problem with(problem sizes, const prepared_parameters<float>& parameters) {
  sizes.parameters = parameters;
  return sizes;
}

/// What pack_mixture(), expectation() and far_responsibilities() write.
class expectation_buffers {
 public:
  /// Points `mixture` to them.
  explicit expectation_buffers(problem& mixture);

  /// Says that there have been no far rows.
  void clear(cudaStream_t stream) { any_far_.fill_with_zeros(stream); }
  /// Names that beside others.
  void name(tensor::cleared_memory& cleared) { cleared.add(any_far_); }

 private:
  cuda::device_buffer<int> exponents_, peaks_, apart_, moments_apart_, coarse_, any_far_;
  cuda::device_buffer<float2> frame_, moment_scales_, shifts_;
  cuda::device_buffer<uint4> records_;
  cuda::device_buffer<float> deviations_, terms_;
  cuda::device_buffer<unsigned> far_masks_;
  cuda::device_buffer<double2> word_sums_;
  cuda::device_buffer<double> scratch_;
};

}  // namespace shoal::gmm::tensor_matrix
