#include <shoal/io/npy_slices.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/io/file.hpp>
#include <shoal/io/npy_format.hpp>
#include <shoal/io/output_file.hpp>
#include <shoal/io/printable.hpp>

namespace shoal {
namespace {

void write_at(int descriptor, const std::byte* from, std::size_t size, std::size_t at, const std::string& path) {
  while (size > 0) {
    const ssize_t written = ::pwrite(descriptor, from, size, static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_io_error(path, "cannot write", errno);
    from += written;
    at += static_cast<std::size_t>(written);
    size -= static_cast<std::size_t>(written);
  }
}

}  // namespace

template <class Element>
struct npy_slices<Element>::state {
  std::string path;
  std::string part;
  std::string header;
  std::size_t row_bytes = 0;
  std::size_t bytes = 0;             // of the rows
  std::optional<output_file> maker;  // of the process that made it
  file_handle joined;                // of the others
  void* memory = MAP_FAILED;

  state(const std::string& path_, std::size_t rows, std::size_t columns)
      : path(path_), header(make_npy_header(element_of<Element>, rows, columns)) {
    if (__builtin_mul_overflow(columns == 0 ? 1 : columns, sizeof(Element), &row_bytes) ||
        __builtin_mul_overflow(row_bytes, rows, &bytes) ||
        bytes > static_cast<std::size_t>(std::numeric_limits<off_t>::max()) - header.size()) {
      throw bad_argument(
          fmt::format("{}: {} rows x {} columns are larger than any file", printable_path(path), rows, columns));
    }
    // Pages that nobody touches take nothing.
    memory = ::mmap(nullptr, std::max<std::size_t>(1, bytes), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw_io_error(path, fmt::format("cannot get memory for {} bytes", bytes), errno);
  }
  state(const state&) = delete;
  ~state() {
    if (memory != MAP_FAILED) ::munmap(memory, std::max<std::size_t>(1, bytes));
  }

  int descriptor() const { return maker ? maker->descriptor() : joined.descriptor(); }
};

template <class Element>
npy_slices<Element>::npy_slices(const std::string& path, std::size_t rows, std::size_t columns)
    : state_(std::make_unique<state>(path, rows, columns)) {
  state& mine = *state_;
  mine.maker.emplace(path, part_name::at_once);
  if (!mine.maker->regular()) {
    throw bad_argument(fmt::format("{}: several processes write a file together, and this is none: name a file",
                                   printable_path(path)));
  }
  mine.part = mine.maker->part();
  // Space is taken now, as for a file of one process.
  const std::size_t size = mine.header.size() + mine.bytes;
  const int problem = ::posix_fallocate(mine.descriptor(), 0, static_cast<off_t>(size));
  if (problem != 0) throw_io_error(path, fmt::format("cannot reserve {} bytes", size), problem);
  write_at(mine.descriptor(), reinterpret_cast<const std::byte*>(mine.header.data()), mine.header.size(), 0, path);
}

template <class Element>
npy_slices<Element>::npy_slices(const npy_part& part, const std::string& path, std::size_t rows, std::size_t columns)
    : state_(std::make_unique<state>(path, rows, columns)) {
  state_->part = part.name;
  state_->joined = file_handle(::open(part.name.c_str(), O_WRONLY | O_CLOEXEC));
  if (state_->joined.descriptor() < 0) {
    throw_io_error(part.name, "cannot open what the first process writes; choose a folder that all hosts share", errno);
  }
}

template <class Element>
npy_slices<Element>::~npy_slices() = default;
template <class Element>
npy_slices<Element>::npy_slices(npy_slices&&) noexcept = default;
template <class Element>
npy_slices<Element>& npy_slices<Element>::operator=(npy_slices&&) noexcept = default;

template <class Element>
const std::string& npy_slices<Element>::part() const {
  return state_->part;
}

template <class Element>
Element* npy_slices<Element>::data() {
  return static_cast<Element*>(state_->memory);
}

template <class Element>
void npy_slices<Element>::write(std::size_t first, std::size_t end) {
  const std::size_t at = first * state_->row_bytes;
  write_at(state_->descriptor(), static_cast<const std::byte*>(state_->memory) + at, (end - first) * state_->row_bytes,
           state_->header.size() + at, state_->path);
  if (::fsync(state_->descriptor()) != 0) throw_io_error(state_->path, "cannot write to disk", errno);
}

template <class Element>
void npy_slices<Element>::commit() {
  state_->maker->commit();
}

template class npy_slices<float>;
template class npy_slices<double>;
template class npy_slices<std::int32_t>;

}  // namespace shoal
