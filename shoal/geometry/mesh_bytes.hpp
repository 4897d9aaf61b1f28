// Collects the bytes of a mesh file and hands them on in large pieces.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

#include <shoal/io/output_file.hpp>

namespace shoal::geometry {

class mesh_bytes {
 public:
  explicit mesh_bytes(output_file& file) : file_(&file), piece_(piece_size) {}

  /// Room for at most `size` bytes that are written next; taken() says up to where they went.
  char* room(std::size_t size) {
    if (used_ + size > piece_.size()) {
      flush();
      if (size > piece_.size()) piece_.resize(size);
    }
    return piece_.data() + used_;
  }
  void taken(const char* end) { used_ = static_cast<std::size_t>(end - piece_.data()); }

  void append(std::string_view text) {
    flush();
    file_->write(text.data(), text.size());
  }

  void flush() {
    file_->write(piece_.data(), used_);
    used_ = 0;
  }

 private:
  static constexpr std::size_t piece_size = std::size_t{1} << 18;  // stays in the second cache

  output_file* file_;
  std::vector<char> piece_;
  std::size_t used_ = 0;
};

/// Stores a value of the host's bytes, which the formats share: little-endian.
template <class Value>
char* store(char* at, const Value& value) {
  std::memcpy(at, &value, sizeof value);
  return at + sizeof value;
}

}  // namespace shoal::geometry
