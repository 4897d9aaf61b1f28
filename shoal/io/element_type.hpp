// The element types of binary files and their conversion to the scalar of a fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace shoal {

/// What one element of a little-endian binary file is. `float16` is IEEE 754 binary16.
enum class element_type {
  boolean,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  float32,
  float64
};

/// Bytes of one element.
std::size_t element_size(element_type type);

/// NumPy's name: "bool", "int16", "float32"…
std::string_view element_name(element_type type);

/// Consecutive records of one element type in memory: record i starts at data + i · record_bytes, and element j of it
/// element_size bytes after element j − 1.
struct record_batch {
  const std::byte* data = nullptr;
  std::size_t record_bytes = 0;
  std::size_t records = 0;
};

/// The elements of a record that are kept: [first, first + count), or those that `chosen` lists when it is not empty.
struct kept_elements {
  std::size_t first = 0;
  std::size_t count = 0;
  std::span<const std::size_t> chosen;
};

/// Converts the kept elements of each record into out[record · out_stride …]. Values are rounded to nearest where
/// Scalar cannot hold them exactly.
template <class Scalar>
void convert_records(element_type type, const record_batch& batch, const kept_elements& kept, Scalar* out,
                     std::size_t out_stride);
extern template void convert_records<float>(element_type, const record_batch&, const kept_elements&, float*,
                                            std::size_t);
extern template void convert_records<double>(element_type, const record_batch&, const kept_elements&, double*,
                                             std::size_t);

}  // namespace shoal
