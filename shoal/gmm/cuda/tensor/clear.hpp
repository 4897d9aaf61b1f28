// Sums begin with zeros: one launch for all of a mixture's, since each of several copies of zeros waits for the one
// before, and five took as long as a small fit's moments.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/execution/cuda/buffers.hpp>

namespace shoal::gmm::tensor {

/// Memory of one GPU, by its beginnings, which are multiples of sixteen bytes, and its sizes, multiples of four.
class cleared_memory {
 public:
  static constexpr int most = 5;

  template <class Element>
  void add(Element* begin, std::size_t size) {
    static_assert(sizeof(Element) % 4 == 0);
    at[count] = begin;
    bytes[count++] = size * sizeof(Element);
  }
  template <class Element>
  void add(cuda::device_buffer<Element>& buffer) {
    add(buffer.data(), buffer.size());
  }

  void* at[most] = {};
  std::size_t bytes[most] = {};
  int count = 0;
};

/// Sets it to zero unless *stopped; null: always.
void clear(const cleared_memory& cleared, const int* stopped, cudaStream_t stream);

}  // namespace shoal::gmm::tensor
