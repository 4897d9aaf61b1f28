// A diagonal or spherical mixture of many columns on one GPU: its sizes, and the memory of the expectation step.
#pragma once

#include <cstddef>
#include <cstdint>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/gmm/cuda/tensor/clear.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/layout.hpp>
#include <shoal/gmm/statistics_layout.hpp>

namespace shoal::gmm::tensor_diagonal {

/// The sizes of a mixture and of the chunks in which `most_rows` rows pass.
problem sizes_of(const statistics_layout& layout, int products, std::size_t most_rows);

/// The problem with the mixture's arrays.
inline problem with(problem sizes, const prepared_parameters<float>& parameters) {
  sizes.parameters = parameters;
  return sizes;
}

/// What pack_mixture(), the expectation steps and far_responsibilities() write.
class expectation_buffers {
 public:
  /// Points `mixture` to them.
  explicit expectation_buffers(problem& mixture);

  /// Says that there have been no far rows.
  void clear(cudaStream_t stream) { any_far_.fill_with_zeros(stream); }
  /// Names that beside others, and the arrangement for pack_cleared_mixture().
  void name(tensor::cleared_memory& cleared) {
    cleared.add(any_far_);
    cleared.add(arrangement_);
  }

 private:
  cuda::device_buffer<float2> frame_;
  cuda::device_buffer<float> mean_curve_, constants_, common_constants_, own_constants_, norm_factors_, terms_, shifts_,
      norms_;
  cuda::device_buffer<float> tile_greatest_;
  cuda::device_buffer<int> arrangement_, exponents_, any_far_;
  cuda::device_buffer<std::uint16_t> operands_;
  cuda::device_buffer<unsigned> far_masks_, candidates_, kept_;
  cuda::device_buffer<unsigned char> crowded_;
  cuda::device_buffer<double2> tile_sums_;
  cuda::device_buffer<double> scratch_;
};

}  // namespace shoal::gmm::tensor_diagonal
