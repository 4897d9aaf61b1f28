// Files as the operating system gives them: descriptors, maps, whole reads and their errors.
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
  bool regular = false;  ///< neither a pipe nor a device: it has a size, a map and offsets
};

/// Opens for reading; "-" is standard input. Throws io_error for a folder and for what cannot be opened.
input_file open_input(const std::string& path);

/// Another descriptor of the same open file.
input_file duplicate(const input_file& file);

/// Reads exactly `size` bytes at `offset`. Throws io_error when the file has become shorter.
void read_exactly(const input_file& file, std::uint64_t offset, void* out, std::size_t size);

/// Up to `size` bytes from where the file stands; 0 at its end.
std::size_t read_some(const input_file& file, void* out, std::size_t size);

/// A read-only map of a whole file.
class file_map {
 public:
  file_map() = default;
  explicit file_map(const input_file& file);
  file_map(file_map&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  file_map& operator=(file_map&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~file_map();

  const std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// A file that is written next to its name and moved there by commit(), so that a name never shows half a file. A pipe
/// or a device is written directly.
class output_file {
 public:
  explicit output_file(const std::string& path);
  ~output_file();
  output_file(output_file&& other) noexcept
      : path_(std::move(other.path_)), aside_(std::exchange(other.aside_, {})), handle_(std::move(other.handle_)) {}
  output_file& operator=(output_file&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(aside_, other.aside_);
    std::swap(handle_, other.handle_);
    return *this;
  }

  const std::string& path() const { return path_; }
  int descriptor() const { return handle_.descriptor(); }
  /// True when commit() will move a file into place; false for a pipe or a device.
  bool regular() const { return !aside_.empty(); }

  /// Appends.
  void write(const void* data, std::size_t size);

  /// Flushes to disk, moves the file to its name and flushes the folder.
  void commit();

 private:
  std::string path_;
  std::string aside_;
  file_handle handle_;
};

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
