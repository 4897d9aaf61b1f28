// Bytes of a file, made fit for a message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace shoal {

/// `bytes` as one line of valid UTF-8: control characters and bytes that are not UTF-8 become \n, \t, \r or \xNN, what
/// turns the direction of the text around it (U+202E, …) or ends a line becomes \uNNNN, and what is longer than `limit`
/// bytes is cut (between characters) and ends in "…".
std::string printable(std::string_view bytes, std::size_t limit = 60);

/// The text itself where it is valid UTF-8, else its bytes as characters of Latin-1: names of columns go into models
/// and JSON, and must come back from there as they are.
std::string as_utf8(std::string_view text);

/// Bytes of the character at the start of `text` if that turns the direction of the text around it or ends a line, else
/// 0.
std::size_t misleading_bytes(std::string_view text);

/// Valid JSON with the same value, in which characters that a terminal obeys, or that turn the direction of text, are
/// escapes.
std::string printable_json(std::string_view text);

/// A file's name for the start of a message; "-" is "standard input".
std::string printable_path(std::string_view path);

}  // namespace shoal
