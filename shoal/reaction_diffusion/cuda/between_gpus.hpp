// Copies between the GPUs of a group.
#pragma once

#include <cstddef>
#include <cstdint>

#include <shoal/execution/cuda/device_group.hpp>
#include <shoal/execution/cuda/elementwise.hpp>

namespace shoal::reaction_diffusion {

/// Copies whole words from the memory of member `from` to that of member `to`, whose compute stream it is ordered in
/// and whose device is current: read over the link between the two where there is one.
inline void copy_between(const cuda::device_group& group, std::size_t to, void* into, std::size_t from,
                         const void* lent, std::size_t bytes) {
  const cuda::gpu& reader = group[to];
  if (group.direct()) {
    cuda::copy_words(static_cast<std::uint32_t*>(into), static_cast<const std::uint32_t*>(lent),
                     bytes / sizeof(std::uint32_t), reader.compute);
  } else {
    cuda::check(cudaMemcpyPeerAsync(into, reader.device, lent, group[from].device, bytes, reader.compute),
                "copy between GPUs");
  }
}

}  // namespace shoal::reaction_diffusion
