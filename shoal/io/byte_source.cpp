#include <shoal/io/byte_source.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace shoal {
namespace {

class file_bytes final : public byte_source {
 public:
  explicit file_bytes(input_file file) : file_(std::move(file)) {}
  std::size_t read(std::byte* out, std::size_t size) override {
    const std::size_t got = read_some(file_, out, size);
    // A table that grew meanwhile may end in half a number.
    if (got == 0) require_unchanged(file_);
    return got;
  }

 private:
  input_file file_;
};

class memory_bytes final : public byte_source {
 public:
  explicit memory_bytes(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::size_t read(std::byte* out, std::size_t size) override {
    const std::size_t taken = std::min(size, bytes_.size());
    std::copy_n(bytes_.begin(), taken, out);
    bytes_ = bytes_.subspan(taken);
    return taken;
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace

std::size_t byte_source::read_fully(std::byte* out, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const std::size_t got = read(out + done, size - done);
    if (got == 0) break;
    done += got;
  }
  return done;
}

std::unique_ptr<byte_source> make_file_bytes(input_file file) { return std::make_unique<file_bytes>(std::move(file)); }

std::unique_ptr<byte_source> make_memory_bytes(std::span<const std::byte> bytes) {
  return std::make_unique<memory_bytes>(bytes);
}

std::span<const std::byte> peeked_bytes::peek(std::size_t size) {
  const std::size_t held = ahead_.size();
  if (held < size) {
    ahead_.resize(size);
    ahead_.resize(held + source_->read_fully(reinterpret_cast<std::byte*>(ahead_.data()) + held, size - held));
  }
  return std::as_bytes(std::span(ahead_)).first(std::min(size, ahead_.size()));
}

std::size_t peeked_bytes::read(std::byte* out, std::size_t size) {
  if (ahead_.empty()) return source_->read(out, size);
  const std::size_t taken = std::min(size, ahead_.size());
  std::memcpy(out, ahead_.data(), taken);
  ahead_.erase(0, taken);
  return taken;
}

}  // namespace shoal
