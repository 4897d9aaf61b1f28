// Collects the bytes of a mesh file in pieces, which a thread writes while the next piece is made.
#pragma once

#include <fcntl.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <semaphore>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <shoal/core/error.hpp>
#include <shoal/io/output_file.hpp>

namespace shoal::geometry {

class mesh_bytes {
 public:
  explicit mesh_bytes(output_file& file) : file_(&file), made_(piece_size), written_(piece_size) {
    // A pipe that holds more lets both ends work for longer before they wait; files and others refuse this.
    ::fcntl(file.descriptor(), F_SETPIPE_SZ, 1 << 20);
    try {
      writer_ = std::thread([this] { write_pieces(); });
    } catch (const std::system_error& refusal) {
      throw error("cannot start a thread that writes the mesh: " + refusal.code().message());
    }
  }
  ~mesh_bytes() {
    if (!idle_) free_.acquire();
    size_ = 0;
    full_.release();
    writer_.join();
  }
  mesh_bytes(const mesh_bytes&) = delete;
  mesh_bytes& operator=(const mesh_bytes&) = delete;

  /// Room for at most `size` bytes that are written next; taken() says up to where they went. Throws what a write of
  /// earlier bytes threw.
  char* room(std::size_t size) {
    if (used_ + size > made_.size()) {
      hand_on();
      if (size > made_.size()) made_.resize(size);
    }
    return made_.data() + used_;
  }
  void taken(const char* end) { used_ = static_cast<std::size_t>(end - made_.data()); }

  void append(std::string_view text) { taken(std::copy(text.begin(), text.end(), room(text.size()))); }

  /// Returns when all bytes are written. Throws what a write threw.
  void finish() {
    hand_on();
    wait();
  }

 private:
  static constexpr std::size_t piece_size = std::size_t{1} << 20;  // as much as the pipe: threads seldom hand on

  void wait() {
    if (!std::exchange(idle_, true)) free_.acquire();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  void hand_on() {
    wait();
    if (used_ == 0) return;
    std::swap(made_, written_);
    size_ = std::exchange(used_, 0);
    idle_ = false;
    full_.release();
  }

  void write_pieces() {
    for (;;) {
      full_.acquire();
      if (size_ == 0) return;
      try {
        file_->write(written_.data(), size_);
      } catch (...) {
        failure_ = std::current_exception();
      }
      free_.release();
    }
  }

  output_file* file_;
  std::vector<char> made_;     // of the caller
  std::vector<char> written_;  // of the writer, from full_ to free_, like the two below
  std::size_t size_ = 0;       // 0: there is no more
  std::exception_ptr failure_;
  std::size_t used_ = 0;
  bool idle_ = true;  // the writer has nothing to write
  std::binary_semaphore full_{0};
  std::binary_semaphore free_{0};
  std::thread writer_;
};

/// Stores a value of the host's bytes, which the formats share: little-endian.
template <class Value>
char* store(char* at, const Value& value) {
  std::memcpy(at, &value, sizeof value);
  return at + sizeof value;
}

}  // namespace shoal::geometry
