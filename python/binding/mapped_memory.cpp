#include "mapped_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <shoal/core/error.hpp>
#include <shoal/io/file.hpp>

namespace shoal::python {
namespace {

// A file in memory that is mapped: what is written to it can be read here.
class copying_buffer {
 public:
  copying_buffer() = default;
  copying_buffer(const copying_buffer&) = delete;
  ~copying_buffer() {
    if (data_ != nullptr) ::munmap(data_, size_);
  }

  void grow(std::size_t bytes) {
    if (bytes <= size_) return;
    file_handle file(::memfd_create("shoal-copy", MFD_CLOEXEC));
    if (file.descriptor() < 0 || ::ftruncate(file.descriptor(), static_cast<off_t>(bytes)) != 0) {
      throw_io_error("a file in memory", "cannot be made", errno);
    }
    void* const mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.descriptor(), 0);
    if (mapped == MAP_FAILED) throw_io_error("a file in memory", "cannot be mapped", errno);
    if (data_ != nullptr) ::munmap(data_, size_);
    data_ = mapped;
    size_ = bytes;
    file_ = std::move(file);
  }

  const std::byte* fill(const std::byte* from, std::size_t bytes) {
    grow(bytes);
    for (std::size_t done = 0; done < bytes;) {
      const ssize_t got = ::pwrite(file_.descriptor(), from + done, bytes - done, static_cast<off_t>(done));
      if (got > 0) {
        done += static_cast<std::size_t>(got);
      } else if (got == 0 || errno == EFAULT) {
        throw io_error("the mapped file of the array has become shorter than the array: map it again");
      } else if (errno != EINTR) {
        throw_io_error("the mapped file of the array", "cannot be read", errno);
      }
    }
    return static_cast<const std::byte*>(data_);
  }

 private:
  file_handle file_;
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace

const std::byte* copy_of_mapped(const std::byte* from, std::size_t bytes) {
  thread_local copying_buffer buffer;
  return buffer.fill(from, bytes);
}

}  // namespace shoal::python
