// Bytes that can only be read once and in order: pipes, compressed files, memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <shoal/io/file.hpp>
#include <shoal/io/rows_file.hpp>

namespace shoal {

class byte_source {
 public:
  virtual ~byte_source() = default;

  /// Up to `size` (> 0) bytes; 0 only at the end. Throws io_error and bad_data.
  virtual std::size_t read(std::byte* out, std::size_t size) = 0;

  /// Reads until `size` bytes are there or the end is.
  std::size_t read_fully(std::byte* out, std::size_t size);
};

/// The bytes of a file from where it stands. Takes the file over.
std::unique_ptr<byte_source> make_file_bytes(input_file file);

/// Bytes that somebody else owns.
std::unique_ptr<byte_source> make_memory_bytes(std::span<const std::byte> bytes);

/// A source whose first bytes can be looked at without being consumed.
class peeked_bytes final : public byte_source {
 public:
  explicit peeked_bytes(std::unique_ptr<byte_source> source) : source_(std::move(source)) {}

  /// The next `size` bytes, fewer only at the end. The view is good until the next call of either function.
  std::span<const std::byte> peek(std::size_t size);
  std::size_t read(std::byte* out, std::size_t size) override;

 private:
  std::unique_ptr<byte_source> source_;
  std::string ahead_;
};

/// Compressed data may unpack to `free_bytes` whatever their ratio, and beyond only to `largest_ratio` times their own
/// size: a small file that unpacks to more fills a disk on purpose. Tables of numbers shrink about tenfold.
struct gzip_bounds {
  std::uint64_t free_bytes = default_unpacked_limit;
  std::uint64_t largest_ratio = 100;
};

/// Unpacks gzip data (RFC 1952), any number of members one after another. `name` stands in messages. Throws bad_data
/// with the byte of the compressed data for truncated or damaged data and for data that unpack suspiciously far.
std::unique_ptr<byte_source> make_gzip_bytes(std::string name, std::unique_ptr<byte_source> packed,
                                             gzip_bounds bounds = {});

inline constexpr std::string_view gzip_magic = "\x1f\x8b";

}  // namespace shoal
