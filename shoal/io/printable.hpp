// Bytes of a file, made fit for a message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace shoal {

/// `bytes` as one line of valid UTF-8: control characters and bytes that are not UTF-8 become \n, \t, \r or \xNN, and
/// what is longer than `limit` bytes is cut (between characters) and ends in "…".
std::string printable(std::string_view bytes, std::size_t limit = 60);

/// A file's name for the start of a message; "-" is "standard input".
std::string printable_path(std::string_view path);

}  // namespace shoal
