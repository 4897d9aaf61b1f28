// A text file that is written row by row and gets its name when it is whole.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace shoal::app {

/// Writes next to the file, under a name of its own, and renames on commit(); without commit() nothing is left.
/// Throws io_error.
class text_output {
 public:
  explicit text_output(std::string path);
  ~text_output();
  text_output(const text_output&) = delete;
  text_output& operator=(const text_output&) = delete;

  void write(std::string_view text);
  void commit();

 private:
  [[noreturn]] void fail(const char* doing) const;

  std::string path_;
  std::string aside_;
  std::FILE* file_ = nullptr;
};

}  // namespace shoal::app
