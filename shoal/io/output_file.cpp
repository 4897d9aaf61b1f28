#include <shoal/io/output_file.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

namespace shoal {
namespace {

constexpr unsigned most_parts = 16;  // files of one name that are being written at the same time
constexpr unsigned permissions = 0777;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string numbered_part(const std::string& path, unsigned number) {
  return fmt::format("{}.shoal-{}.part", path, number);
}

// The name under which an open file without one can be linked.
std::string own_name(const file_handle& handle) { return fmt::format("/proc/self/fd/{}", handle.descriptor()); }

bool same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// A part is locked as long as somebody writes it, so one that can be locked is left from a program that was killed.
void remove_stale_parts(const std::string& path) {
  for (unsigned number = 0; number < most_parts; ++number) {
    const std::string name = numbered_part(path, number);
    const file_handle part(::open(name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat opened {};
    struct stat named {};
    if (part.descriptor() < 0 || ::fstat(part.descriptor(), &opened) != 0) continue;
    if (!S_ISREG(opened.st_mode) || opened.st_uid != ::geteuid()) continue;
    if (::flock(part.descriptor(), LOCK_EX | LOCK_NB) != 0) continue;
    // Between opening and locking the name may have gone to another file, whose writer holds its lock.
    if (::lstat(name.c_str(), &named) == 0 && same_file(opened, named)) ::unlink(name.c_str());
  }
}

// The number behind a prefix, or -1.
int number_behind(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return -1;
  text.remove_prefix(prefix.size());
  int number = -1;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc() && end == text.data() + text.size() && number >= 0 ? number : -1;
}

}  // namespace

int descriptor_named(const std::string& path) {
  constexpr int most_links = 40;  // as the kernel follows
  const std::string own_folder = fmt::format("/proc/{}/fd/", ::getpid());
  std::string name = path;
  for (int link = 0; link < most_links; ++link) {
    if (name == "/dev/stdin") return 0;
    if (name == "/dev/stdout") return 1;
    if (name == "/dev/stderr") return 2;
    for (const std::string_view prefix : {std::string_view("/dev/fd/"), std::string_view("/proc/self/fd/"),
                                          std::string_view("/proc/thread-self/fd/"), std::string_view(own_folder)}) {
      if (const int number = number_behind(name, prefix); number >= 0) return number;
    }
    char target[4096];
    const ssize_t length = ::readlink(name.c_str(), target, sizeof target);
    if (length <= 0 || length == static_cast<ssize_t>(sizeof target)) return -1;
    const std::string_view to(target, static_cast<std::size_t>(length));
    name = to.front() == '/' ? std::string(to) : folder_of(name) + "/" + std::string(to);
  }
  return -1;
}

std::optional<output_file::owner_and_mode> output_file::standing_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return owner_and_mode{status.st_uid, status.st_gid, status.st_mode & permissions};
}

output_file::output_file(const std::string& path, part_name naming) : path_(path) {
  if (const int descriptor = descriptor_named(path); descriptor >= 0) {
    // Opening the name again would begin at the start of the file, and overwrite what stands there.
    handle_ = file_handle(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
    if (handle_.descriptor() < 0) throw_io_error(path, "cannot open for writing", errno);
    return;
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) throw_io_error(path, "cannot write", EISDIR);
    if (!S_ISREG(status.st_mode)) {  // a pipe or a device: nothing to replace
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
  whole_ = true;
  replaced_ = standing_at(path_);
  remove_stale_parts(path_);
  if (naming == part_name::at_once) {
    create_part();
    return;
  }
  // What replaces a file is nobody else's to read before it has that file's permissions.
  handle_ = file_handle(
      ::open(folder_of(path_).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, replaced_ ? mode_t{0600} : mode_t{0666}));
  if (handle_.descriptor() >= 0 && ::access(own_name(handle_).c_str(), F_OK) == 0) return;
  create_part();
}

void output_file::create_part() {
  for (unsigned number = 0; number < most_parts; ++number) {
    std::string name = numbered_part(path_, number);
    handle_ = file_handle(::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, replaced_ ? 0600 : 0666));
    if (handle_.descriptor() < 0 && errno == EEXIST) continue;
    if (handle_.descriptor() < 0) throw_io_error(path_, "cannot create the file", errno);
    struct stat status {};
    // Somebody may take a new part for a stale one before it is locked; then it is theirs to remove.
    if (::flock(handle_.descriptor(), LOCK_EX | LOCK_NB) != 0) continue;
    if (::fstat(handle_.descriptor(), &status) != 0 || status.st_nlink == 0) continue;
    aside_ = std::move(name);  // a copy could fail, and leave the part behind
    return;
  }
  throw_io_error(path_, "cannot create the file", EEXIST);
}

// Gives the file without a name the name of a part, which a rename can then put in another file's place.
void output_file::link_part() {
  if (::flock(handle_.descriptor(), LOCK_EX | LOCK_NB) != 0) throw_io_error(path_, "cannot lock the new file", errno);
  for (unsigned number = 0; number < most_parts; ++number) {
    std::string name = numbered_part(path_, number);
    if (::linkat(AT_FDCWD, own_name(handle_).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      aside_ = std::move(name);  // a copy could fail, and leave the part behind
      return;
    }
    if (errno != EEXIST) break;
  }
  throw_io_error(path_, "cannot create the file", errno);
}

void output_file::take_over_permissions() {
  if (const auto now = standing_at(path_)) replaced_ = now;
  if (!replaced_) return;
  // Only a superuser can give files away; elsewhere the file becomes the writer's, with the same permissions.
  if (replaced_->user != ::geteuid() || replaced_->group != ::getegid()) {
    if (::fchown(handle_.descriptor(), replaced_->user, replaced_->group) != 0 && errno != EPERM) {
      throw_io_error(path_, "cannot keep the owner of the file", errno);
    }
  }
  if (::fchmod(handle_.descriptor(), replaced_->mode) != 0) {
    throw_io_error(path_, "cannot keep the permissions of the file", errno);
  }
}

output_file::~output_file() {
  if (!aside_.empty()) ::unlink(aside_.c_str());
}

void output_file::write(const void* data, std::size_t size) { write_all(handle_.descriptor(), data, size, path_); }

void output_file::commit() {
  if (!whole_) return;
  take_over_permissions();
  if (::fsync(handle_.descriptor()) != 0) throw_io_error(path_, "cannot write to disk", errno);
  const bool named =
      aside_.empty() && ::linkat(AT_FDCWD, own_name(handle_).c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) == 0;
  if (!named) {
    if (aside_.empty()) link_part();
    if (::rename(aside_.c_str(), path_.c_str()) != 0) throw_io_error(path_, "cannot replace the file", errno);
    aside_.clear();
  }
  whole_ = false;
  const std::string folder = folder_of(path_);
  const file_handle directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot sync a folder; the file itself is whole either way.
  if (directory.descriptor() >= 0 && ::fsync(directory.descriptor()) != 0 && errno != EINVAL) {
    throw_io_error(folder, "cannot write the folder to disk", errno);
  }
}

}  // namespace shoal
