#include <shoal/io/file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/io/printable.hpp>

namespace shoal {
namespace {

constexpr std::size_t largest_transfer = std::size_t{1} << 30;  // Linux moves at most 2 GiB − 4 KiB a call

std::int64_t modified_at(const struct stat& status) {
  return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

}  // namespace

void write_all(int descriptor, const void* data, std::size_t size, const std::string& path) {
  const auto* from = static_cast<const std::byte*>(data);
  while (size > 0) {
    const ssize_t written = ::write(descriptor, from, std::min(size, largest_transfer));
    if (written < 0) {
      if (errno == EINTR) continue;
      throw_io_error(path, "cannot write", errno);
    }
    from += written;
    size -= static_cast<std::size_t>(written);
  }
}

void throw_io_error(std::string_view path, std::string_view what, int error_number) {
  throw io_error(fmt::format("{}: {}: {}", printable_path(path), what, std::generic_category().message(error_number)));
}

file_handle::~file_handle() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

input_file as_input(std::string path, file_handle handle) {
  struct stat status {};
  if (::fstat(handle.descriptor(), &status) != 0) throw_io_error(path, "cannot examine", errno);
  if (S_ISDIR(status.st_mode)) throw_io_error(path, "cannot read", EISDIR);
  input_file file;
  file.path = std::move(path);
  file.handle = std::move(handle);
  file.regular = S_ISREG(status.st_mode);
  file.size = file.regular ? static_cast<std::uint64_t>(status.st_size) : 0;
  file.modified = modified_at(status);
  return file;
}

input_file open_input(const std::string& path) {
  const bool standard_input = path == "-";
  file_handle handle(standard_input ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                    : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (handle.descriptor() < 0) throw_io_error(path, "cannot open", errno);
  input_file file = as_input(path, std::move(handle));
  if (!standard_input) return file;
  // Standard input may be a file whose first bytes were already read by somebody else, so it is always taken as a pipe.
  file.regular = false;
  file.size = 0;
  return file;
}

input_file duplicate(const input_file& file) {
  input_file copy{file.path, file_handle(::fcntl(file.handle.descriptor(), F_DUPFD_CLOEXEC, 0)), file.size,
                  file.modified, file.regular};
  if (copy.handle.descriptor() < 0) throw_io_error(file.path, "cannot open again", errno);
  return copy;
}

void require_unchanged(const input_file& file) {
  if (!file.regular) return;
  struct stat status {};
  if (::fstat(file.handle.descriptor(), &status) != 0) throw_io_error(file.path, "cannot examine", errno);
  if (static_cast<std::uint64_t>(status.st_size) == file.size && modified_at(status) == file.modified) return;
  throw io_error(
      fmt::format("{}: the file changed while it was read (it has {} bytes, and had {} when it was opened); "
                  "run again on a file that nobody writes",
                  printable_path(file.path), status.st_size, file.size));
}

void read_exactly(const input_file& file, std::uint64_t offset, void* out, std::size_t size) {
  auto* to = static_cast<std::byte*>(out);
  while (size > 0) {
    const ssize_t got =
        ::pread(file.handle.descriptor(), to, std::min(size, largest_transfer), static_cast<off_t>(offset));
    if (got < 0) {
      if (errno == EINTR) continue;
      throw_io_error(file.path, fmt::format("cannot read at byte {}", offset), errno);
    }
    if (got == 0) {
      throw io_error(fmt::format("{}: the file ended at byte {} while it was read; it was longer when it was opened",
                                 printable_path(file.path), offset));
    }
    to += got;
    offset += static_cast<std::uint64_t>(got);
    size -= static_cast<std::size_t>(got);
  }
}

std::size_t read_some(const input_file& file, void* out, std::size_t size) {
  for (;;) {
    const ssize_t got = ::read(file.handle.descriptor(), out, std::min(size, largest_transfer));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) throw_io_error(file.path, "cannot read", errno);
  }
}

temporary_file::temporary_file() {
  const char* named = std::getenv("TMPDIR");
  folder_ = named != nullptr && *named != '\0' ? named : "/tmp";
  handle_ = file_handle(::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (handle_.descriptor() >= 0) return;
  // Some file systems know no file without a name.
  std::string name = folder_ + "/shoal-XXXXXX";
  handle_ = file_handle(::mkostemp(name.data(), O_CLOEXEC));
  if (handle_.descriptor() < 0) throw_io_error(folder_, "cannot create a temporary file here (set TMPDIR)", errno);
  ::unlink(name.c_str());
}

void temporary_file::write(const void* data, std::size_t size) {
  try {
    write_all(handle_.descriptor(), data, size, folder_);
  } catch (const io_error& failure) {
    throw io_error(fmt::format(
        "{} (after {} bytes of a temporary file; set TMPDIR to a folder with more space, or raise the memory limit)",
        failure.what(), size_));
  }
  size_ += size;
}

input_file temporary_file::release(std::string path) { return as_input(std::move(path), std::move(handle_)); }

}  // namespace shoal
