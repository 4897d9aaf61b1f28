#include <shoal/io/file.hpp>

#include <fcntl.h>
#include <sys/mman.h>
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

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

void write_all(int descriptor, const char* data, std::size_t size, const std::string& path) {
  while (size > 0) {
    const ssize_t written = ::write(descriptor, data, std::min(size, largest_transfer));
    if (written < 0) {
      if (errno == EINTR) continue;
      throw_io_error(path, "cannot write", errno);
    }
    data += written;
    size -= static_cast<std::size_t>(written);
  }
}

}  // namespace

void throw_io_error(std::string_view path, std::string_view what, int error_number) {
  throw io_error(fmt::format("{}: {}: {}", printable_path(path), what, std::generic_category().message(error_number)));
}

file_handle::~file_handle() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

input_file open_input(const std::string& path) {
  input_file file;
  file.path = path;
  if (path == "-") {
    file.handle = file_handle(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
  } else {
    file.handle = file_handle(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  }
  if (file.handle.descriptor() < 0) throw_io_error(path, "cannot open", errno);
  struct stat status {};
  if (::fstat(file.handle.descriptor(), &status) != 0) throw_io_error(path, "cannot examine", errno);
  if (S_ISDIR(status.st_mode)) throw_io_error(path, "cannot read", EISDIR);
  // Standard input may be a file whose first bytes were already read by somebody else, so it is always taken as a pipe.
  file.regular = S_ISREG(status.st_mode) && path != "-";
  file.size = file.regular ? static_cast<std::uint64_t>(status.st_size) : 0;
  return file;
}

input_file duplicate(const input_file& file) {
  input_file copy{file.path, file_handle(::fcntl(file.handle.descriptor(), F_DUPFD_CLOEXEC, 0)), file.size,
                  file.regular};
  if (copy.handle.descriptor() < 0) throw_io_error(file.path, "cannot open again", errno);
  return copy;
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

file_map::file_map(const input_file& file) : size_(static_cast<std::size_t>(file.size)) {
  if (size_ == 0) return;
  void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.handle.descriptor(), 0);
  if (mapped == MAP_FAILED) throw_io_error(file.path, fmt::format("cannot map {} bytes", size_), errno);
  data_ = static_cast<std::byte*>(mapped);
}

file_map::~file_map() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

output_file::output_file(const std::string& path) : path_(path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) throw_io_error(path, "cannot write", EISDIR);
    if (!S_ISREG(status.st_mode)) {  // a pipe or a device, such as /dev/stdout: nothing to replace
      handle_ = file_handle(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
      if (handle_.descriptor() < 0) throw_io_error(path, "cannot open for writing", errno);
      return;
    }
    // What a symbolic link points to is replaced, not the link.
    if (char* real = ::realpath(path.c_str(), nullptr); real != nullptr) {
      path_ = real;
      std::free(real);
    }
  }
  for (unsigned attempt = 0;; ++attempt) {
    aside_ = fmt::format("{}.{}-{}.part", path_, ::getpid(), attempt);
    handle_ = file_handle(::open(aside_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (handle_.descriptor() >= 0) return;
    if (errno != EEXIST || attempt == 1000) {
      const int reason = errno;
      aside_.clear();
      throw_io_error(path, "cannot create the file", reason);
    }
  }
}

output_file::~output_file() {
  if (!aside_.empty()) ::unlink(aside_.c_str());
}

void output_file::write(const void* data, std::size_t size) {
  write_all(handle_.descriptor(), static_cast<const char*>(data), size, path_);
}

void output_file::commit() {
  if (aside_.empty()) return;
  if (::fsync(handle_.descriptor()) != 0) throw_io_error(path_, "cannot write to disk", errno);
  if (::rename(aside_.c_str(), path_.c_str()) != 0) throw_io_error(path_, "cannot replace the file", errno);
  aside_.clear();
  const std::string folder = folder_of(path_);
  const file_handle directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot sync a folder; the file itself is whole either way.
  if (directory.descriptor() >= 0 && ::fsync(directory.descriptor()) != 0 && errno != EINVAL) {
    throw_io_error(folder, "cannot write the folder to disk", errno);
  }
}

temporary_file::temporary_file() {
  const char* named = std::getenv("TMPDIR");
  folder_ = named != nullptr && *named != '\0' ? named : "/tmp";
  std::string name = folder_ + "/shoal-XXXXXX";
  handle_ = file_handle(::mkostemp(name.data(), O_CLOEXEC));
  if (handle_.descriptor() < 0) throw_io_error(folder_, "cannot create a temporary file here (set TMPDIR)", errno);
  ::unlink(name.c_str());
}

void temporary_file::write(const void* data, std::size_t size) {
  try {
    write_all(handle_.descriptor(), static_cast<const char*>(data), size, folder_);
  } catch (const io_error& failure) {
    throw io_error(fmt::format(
        "{} (after {} bytes of a temporary file; set TMPDIR to a folder with more space, or raise the memory limit)",
        failure.what(), size_));
  }
  size_ += size;
}

input_file temporary_file::release(std::string path) {
  input_file file;
  file.path = std::move(path);
  file.handle = std::move(handle_);
  file.size = size_;
  file.regular = true;
  return file;
}

}  // namespace shoal
