// Unpacking gzip data with bounds.
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <zlib.h>

#include <shoal/core/error.hpp>
#include <shoal/io/byte_source.hpp>
#include <shoal/io/printable.hpp>

namespace shoal {
namespace {

constexpr std::size_t input_size = std::size_t{1} << 16;
constexpr std::size_t largest_output = std::size_t{1} << 30;  // zlib counts in unsigned int
constexpr int gzip_only = 16 + MAX_WBITS;

class gzip_bytes final : public byte_source {
 public:
  gzip_bytes(std::string name, std::unique_ptr<byte_source> packed, gzip_bounds bounds)
      : name_(std::move(name)), packed_(std::move(packed)), bounds_(bounds) {
    if (::inflateInit2(&stream_, gzip_only) != Z_OK) throw std::bad_alloc();
  }
  gzip_bytes(const gzip_bytes&) = delete;
  ~gzip_bytes() override { ::inflateEnd(&stream_); }

  std::size_t read(std::byte* out, std::size_t size) override {
    size = std::min(size, largest_output);
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(size);
    while (!ended_ && stream_.avail_out == size) step();
    const std::size_t got = size - stream_.avail_out;
    unpacked_ += got;
    if (unpacked_ > bounds_.free_bytes && unpacked_ / bounds_.largest_ratio > position()) {
      throw bad_data(
          fmt::format("{}: byte {} of the gzip data: unpacked to {} bytes already, more than {} times their size and "
                      "the {} that any "
                      "file may unpack to; raise that limit (--unpacked-limit; 0: none) if this is intended",
                      name_, position(), unpacked_, bounds_.largest_ratio, bounds_.free_bytes));
    }
    return got;
  }

 private:
  std::uint64_t position() const { return fetched_ - stream_.avail_in; }

  bool fetch() {
    if (stream_.avail_in > 0) return true;
    const std::size_t got = packed_->read(input_.get(), input_size);
    fetched_ += got;
    stream_.next_in = reinterpret_cast<Bytef*>(input_.get());
    stream_.avail_in = static_cast<uInt>(got);
    return got > 0;
  }

  // Unpacks until there is output, or the input at hand is used up, or a member ends.
  void step() {
    if (between_members_) return start_member();
    if (!fetch()) {
      throw bad_data(fmt::format("{}: byte {}: the gzip data are truncated: they end after {} unpacked bytes", name_,
                                 position(), unpacked_));
    }
    const int result = ::inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      between_members_ = true;
    } else if (result == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      throw bad_data(fmt::format("{}: byte {}: the gzip data are damaged ({})", name_, position(),
                                 stream_.msg != nullptr ? stream_.msg : "unknown reason"));
    }
  }

  // Another member may follow; zero bytes may pad the end, as tape and block devices write them.
  void start_member() {
    if (!fetch()) {
      ended_ = true;
      return;
    }
    if (*stream_.next_in == 0) {
      padded_ = true;
      ++stream_.next_in;
      --stream_.avail_in;
      return;
    }
    if (*stream_.next_in != 0x1F || padded_) {
      throw bad_data(fmt::format("{}: byte {}: bytes that are not gzip data follow its end", name_, position()));
    }
    between_members_ = false;
    if (::inflateReset(&stream_) != Z_OK) throw std::bad_alloc();
  }

  std::string name_;
  std::unique_ptr<byte_source> packed_;
  gzip_bounds bounds_;
  std::unique_ptr<std::byte[]> input_ = std::make_unique_for_overwrite<std::byte[]>(input_size);
  z_stream stream_{};
  std::uint64_t fetched_ = 0;
  std::uint64_t unpacked_ = 0;
  bool between_members_ = false;
  bool padded_ = false;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<byte_source> make_gzip_bytes(std::string name, std::unique_ptr<byte_source> packed,
                                             gzip_bounds bounds) {
  return std::make_unique<gzip_bytes>(std::move(name), std::move(packed), bounds);
}

}  // namespace shoal
