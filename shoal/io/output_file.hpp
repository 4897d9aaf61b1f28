// A file that is written whole or not at all.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include <shoal/io/file.hpp>

namespace shoal {

/// The open descriptor that a name stands for (/dev/stdout, /dev/fd/3, links to these), or -1 for any other name.
int descriptor_named(const std::string& path);

/// Whether what is not whole yet has a name: only where it must, or at once, so that other processes can open it.
enum class part_name { when_needed, at_once };

/// A file that gets its name in commit(), so that a name never shows half a file. Until then it has no name at all
/// where the file system can do that, else PATH.shoal-N.part, which a program that is killed leaves behind and the next
/// one that writes PATH removes. What is replaced keeps its permissions and its owner. A pipe, a device and an open
/// descriptor (/dev/stdout) are written directly, from where they stand.
class output_file {
 public:
  explicit output_file(const std::string& path, part_name naming = part_name::when_needed);
  ~output_file();
  output_file(output_file&& other) noexcept
      : path_(std::move(other.path_)),
        aside_(std::exchange(other.aside_, {})),
        whole_(std::exchange(other.whole_, false)),
        replaced_(other.replaced_),
        handle_(std::move(other.handle_)) {}
  output_file& operator=(output_file&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(aside_, other.aside_);
    std::swap(whole_, other.whole_);
    std::swap(replaced_, other.replaced_);
    std::swap(handle_, other.handle_);
    return *this;
  }

  const std::string& path() const { return path_; }
  int descriptor() const { return handle_.descriptor(); }
  /// True when commit() will move a file into place; false for what is written directly.
  bool regular() const { return whole_; }

  /// The name of the part, if it has one.
  const std::string& part() const { return aside_; }

  /// Appends.
  void write(const void* data, std::size_t size);

  /// Flushes to disk, moves the file to its name and flushes the folder.
  void commit();

 private:
  struct owner_and_mode {
    unsigned user = 0;
    unsigned group = 0;
    unsigned mode = 0;
  };
  static std::optional<owner_and_mode> standing_at(const std::string& path);
  void create_part();
  void link_part();
  void take_over_permissions();

  std::string path_;
  std::string aside_;  // the name of the part while it has one
  bool whole_ = false;
  std::optional<owner_and_mode> replaced_;
  file_handle handle_;
};

}  // namespace shoal
