// Files as the operating system gives them: descriptors, whole reads and writes, and their errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace shoal {

/// Throws io_error "PATH: what: reason of errno".
[[noreturn]] void throw_io_error(std::string_view path, std::string_view what, int error_number);

/// An open file descriptor.
class file_handle {
 public:
  file_handle() = default;
  explicit file_handle(int descriptor) : descriptor_(descriptor) {}
  file_handle(file_handle&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  file_handle& operator=(file_handle&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~file_handle();

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

/// A file that is read, with what fstat said when it was opened.
struct input_file {
  std::string path;
  file_handle handle;
  std::uint64_t size = 0;
  std::int64_t modified = 0;  ///< when its contents last changed, in nanoseconds
  bool regular = false;       ///< neither a pipe nor a device: it has a size and offsets
};

/// Opens for reading; "-" is standard input. Throws io_error for a folder and for what cannot be opened.
input_file open_input(const std::string& path);

/// What is open already, for reading; `path` is what messages call it. Throws io_error for a folder.
input_file as_input(std::string path, file_handle handle);

/// Another descriptor of the same open file.
input_file duplicate(const input_file& file);

/// Throws io_error when a regular file is no longer what it was when it was opened: its size or the time of its last
/// change is another.
void require_unchanged(const input_file& file);

/// Reads exactly `size` bytes at `offset`. Throws io_error when the file has become shorter.
void read_exactly(const input_file& file, std::uint64_t offset, void* out, std::size_t size);

/// Up to `size` bytes from where the file stands; 0 at its end.
std::size_t read_some(const input_file& file, void* out, std::size_t size);

/// Writes all bytes where the descriptor stands; `path` is what messages call it. Throws io_error.
void write_all(int descriptor, const void* data, std::size_t size, const std::string& path);

/// An unnamed file in $TMPDIR or /tmp that vanishes with its last descriptor; it is written from its start, once.
class temporary_file {
 public:
  temporary_file();

  /// Appends. Throws io_error that names the folder when the disk is full.
  void write(const void* data, std::size_t size);

  const std::string& folder() const { return folder_; }
  std::uint64_t size() const { return size_; }

  /// Gives the file up for reading; `path` is what messages call it.
  input_file release(std::string path);

 private:
  std::string folder_;
  file_handle handle_;
  std::uint64_t size_ = 0;
};

}  // namespace shoal
