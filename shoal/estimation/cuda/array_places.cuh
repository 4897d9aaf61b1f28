// Arrays that follow each other in the shared memory of a block.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace shoal {

/// Where they are, and how many bytes they need: each begins where the one before ends. The host, which asks for no
/// more than the bytes, begins anywhere.
class array_places {
 public:
  __host__ __device__ explicit array_places(char* first) : first_(first) {}
  static array_places anywhere() { return array_places(reinterpret_cast<char*>(std::uintptr_t{16})); }

  template <class Element>
  __host__ __device__ Element* place(std::size_t count) {
    char* const where = first_ + bytes_;
    bytes_ += count * sizeof(Element);
    return reinterpret_cast<Element*>(where);
  }
  __host__ __device__ std::size_t bytes() const { return bytes_; }

 private:
  char* first_;
  std::size_t bytes_ = 0;
};

}  // namespace shoal
