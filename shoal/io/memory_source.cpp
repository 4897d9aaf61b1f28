#include <shoal/io/memory_source.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace shoal {
namespace {

std::size_t whole_pages(std::size_t bytes) {
  static const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

}  // namespace

growing_memory::~growing_memory() {
  if (data_ != nullptr) ::munmap(data_, capacity_);
}

void growing_memory::reserve(std::size_t bytes) {
  if (bytes > capacity_) resize(bytes);
}

void growing_memory::trim(std::size_t bytes) {
  if (data_ != nullptr && bytes > 0 && whole_pages(bytes) < capacity_) resize(bytes);
}

void growing_memory::resize(std::size_t bytes) {
  const std::size_t size = whole_pages(bytes);
  if (size < bytes) throw std::bad_alloc();
  void* moved = data_ == nullptr ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                 : ::mremap(data_, capacity_, size, MREMAP_MAYMOVE);
  if (moved == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<std::byte*>(moved);
  capacity_ = size;
}

}  // namespace shoal
