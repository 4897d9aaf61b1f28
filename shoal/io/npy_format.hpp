// The header of a .npy file (NumPy Enhancement Proposal 1; format versions 1.0, 2.0 and 3.0).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <shoal/io/element_type.hpp>

namespace shoal {

inline constexpr std::string_view npy_magic = "\x93NUMPY";

/// A header longer than this is refused; NumPy's own are 128 bytes.
inline constexpr std::size_t npy_header_limit = std::size_t{1} << 16;

struct npy_layout {
  element_type element = element_type::float64;
  bool fortran_order = false;
  std::size_t rows = 0;
  std::size_t columns = 0;   ///< 1 for a one-dimensional array
  std::uint64_t offset = 0;  ///< of the first element
  std::uint64_t end = 0;     ///< offset + the bytes of all elements
};

/// An array of any shape.
struct npy_array {
  element_type element = element_type::float64;
  bool fortran_order = false;
  std::vector<std::size_t> shape;
  std::uint64_t offset = 0;  ///< of the first element
  std::uint64_t end = 0;     ///< offset + the bytes of all elements
};

/// Reads the header of an array of any shape; `prefix` as below. Throws bad_data for anything else than little-endian
/// real numbers, and for a shape of no elements.
npy_array parse_npy_array(const std::string& name, std::span<const std::byte> prefix);

/// Reads the header. `prefix` holds the first bytes of the file: all of them, or at least npy_header_limit + 12.
/// Throws bad_data, which starts with `name`, for anything that is not a matrix of little-endian real numbers.
npy_layout parse_npy_header(const std::string& name, std::span<const std::byte> prefix);

/// The whole header, padded to a multiple of 64 bytes, of a C-order array; `columns` 0 makes it one-dimensional.
std::string make_npy_header(element_type element, std::size_t rows, std::size_t columns);

/// Of an array of any shape, of at least one dimension.
std::string make_npy_header(element_type element, std::span<const std::size_t> shape);

/// Of what is written: float, double or std::int32_t.
template <class Element>
constexpr element_type element_of = std::is_same_v<Element, float>    ? element_type::float32
                                    : std::is_same_v<Element, double> ? element_type::float64
                                                                      : element_type::int32;

}  // namespace shoal
