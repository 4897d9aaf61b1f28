// Files by name, for what is more than a reader.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include <unistd.h>

#include <fmt/format.h>

#include "refusal.hpp"

namespace fuzzing {

/// A name that vanishes with the process.
class own_file {
 public:
  explicit own_file(std::string_view name)
      : path_(fmt::format("{}/{}_{}", ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", name, ::getpid())) {}
  ~own_file() { ::unlink(path_.c_str()); }
  own_file(const own_file&) = delete;
  own_file& operator=(const own_file&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline void write_file(const std::string& path, std::string_view text) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  require(file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size(), "a file is written");
  std::fclose(file);
}

}  // namespace fuzzing
