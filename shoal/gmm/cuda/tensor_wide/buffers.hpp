// The memory of the kernels for wide rows, on one GPU.
#pragma once

#include <cstddef>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/gmm/cuda/tensor_wide/layout.hpp>

namespace shoal::gmm::tensor_wide {

/// Whether such a mixture is taken on the current GPU, whose blocks may have so much shared memory.
bool takes(const statistics_layout& layout, std::size_t shared_bytes);

/// Whether rows of such a share are moved into one frame where the components are near enough to each other: for their
/// densities, and for their moments.
bool frames_densities(const statistics_layout& layout, int products, std::size_t share_rows);
bool frames_moments(const statistics_layout& layout, std::size_t share_rows);

/// The mixture as it is packed, and what is known of a chunk's rows.
class density_buffers {
 public:
  density_buffers(const statistics_layout& layout, int products, std::size_t chunk_rows, std::size_t processors,
                  bool densities_framed = false, bool moments_framed = false);

  const problem& sizes() const { return problem_; }
  problem with(const prepared_parameters<float>& parameters) const {
    problem mixture = problem_;
    mixture.parameters = parameters;
    return mixture;
  }

 private:
  problem problem_;
  cuda::device_buffer<int> exponents_, coupled_, far_tiles_, any_far_, apart_, near_, frame_exponents_;
  cuda::device_buffer<double> corrections_;
  cuda::device_buffer<float> norms_, offsets_, origin_, frame_offsets_;
  cuda::device_buffer<float2> scales_, frame_scales_;
  cuda::device_buffer<std::uint16_t> factors_;
};

}  // namespace shoal::gmm::tensor_wide
