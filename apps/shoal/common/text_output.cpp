// Writing aside, then renaming.
#include "common/text_output.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <shoal/core/error.hpp>

namespace shoal::app {

text_output::text_output(std::string path) : path_(std::move(path)), aside_(path_ + ".XXXXXX") {
  const int descriptor = mkstemp(aside_.data());
  if (descriptor == -1) fail("created");
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(descriptor, 0666 & ~mask);
  file_ = fdopen(descriptor, "w");
  if (file_ == nullptr) fail("opened");
}

text_output::~text_output() {
  if (file_ != nullptr) std::fclose(file_);
  if (!aside_.empty()) unlink(aside_.c_str());
}

void text_output::fail(const char* doing) const {
  throw io_error(fmt::format("{}: cannot be {}: {}", path_, doing, std::strerror(errno)));
}

void text_output::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) fail("written");
}

void text_output::commit() {
  if (std::fflush(file_) != 0 || fsync(fileno(file_)) != 0) fail("written");
  if (std::rename(aside_.c_str(), path_.c_str()) != 0) fail("renamed");
  aside_.clear();
}

}  // namespace shoal::app
