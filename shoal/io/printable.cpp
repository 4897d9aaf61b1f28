#include <shoal/io/printable.hpp>

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

namespace shoal {
namespace {

// Length of the well-formed UTF-8 sequence at the start of `bytes` (Unicode 15, table 3-7), or 0.
std::size_t sequence_length(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  std::size_t length = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return 0;
  }
  if (bytes.size() < length || byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  return length;
}

// Of ASCII, and printed as it is.
bool is_plain(char c) { return c >= ' ' && c <= '~'; }

// U+0080…U+009F are control characters too, and some terminals obey them.
bool is_control(std::string_view sequence) {
  const auto lead = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return lead < 0x20 || lead == 0x7F;
  return lead == 0xC2 && static_cast<unsigned char>(sequence[1]) < 0xA0;
}

// The code point of a well-formed sequence of two or three bytes; 0 for others, which are nothing below.
std::uint32_t code_point(std::string_view sequence) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(sequence[i])); };
  if (sequence.size() == 2) return (byte(0) & 0x1Fu) << 6 | (byte(1) & 0x3Fu);
  if (sequence.size() == 3) return (byte(0) & 0x0Fu) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu);
  return 0;
}

// What reorders the text around it (the bidirectional controls of Unicode's annex 9), and what ends a line.
bool misleads(std::uint32_t point) {
  return point == 0x061C || point == 0x200E || point == 0x200F || (point >= 0x202A && point <= 0x202E) ||
         (point >= 0x2066 && point <= 0x2069) || point == 0x2028 || point == 0x2029;
}

}  // namespace

std::string as_utf8(std::string_view text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t length = sequence_length(rest);
    if (length == 0) break;
    rest.remove_prefix(length);
  }
  if (rest.empty()) return std::string(text);
  std::string turned;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) turned += static_cast<char>(0xC0 | byte >> 6);
    turned += static_cast<char>(byte < 0x80 ? byte : 0x80 | (byte & 0x3F));
  }
  return turned;
}

std::size_t misleading_bytes(std::string_view text) {
  const std::size_t length = text.empty() ? 0 : sequence_length(text);
  return length > 1 && misleads(code_point(text.substr(0, length))) ? length : 0;
}

std::string printable(std::string_view bytes, std::size_t limit) {
  std::string line;
  while (!bytes.empty()) {
    const auto odd = std::find_if(bytes.begin(), bytes.end(), [](char c) { return !is_plain(c); });
    const std::string_view plain = bytes.substr(0, static_cast<std::size_t>(odd - bytes.begin()));
    if (line.size() + plain.size() > limit) return line.append(plain.substr(0, limit - line.size())) + "…";
    line += plain;
    bytes.remove_prefix(plain.size());
    if (bytes.empty()) break;
    const std::size_t length = sequence_length(bytes);
    const std::string_view sequence = bytes.substr(0, length == 0 ? 1 : length);
    std::string shown;
    if (misleads(code_point(length == 0 ? std::string_view() : sequence))) {
      shown = fmt::format("\\u{:04X}", code_point(sequence));
    } else if (length != 0 && !is_control(sequence)) {
      shown = sequence;
    } else if (sequence == "\n") {
      shown = "\\n";
    } else if (sequence == "\t") {
      shown = "\\t";
    } else if (sequence == "\r") {
      shown = "\\r";
    } else {
      for (const char c : sequence) shown += fmt::format("\\x{:02X}", static_cast<unsigned char>(c));
    }
    if (line.size() + shown.size() > limit) return line + "…";
    line += shown;
    bytes.remove_prefix(sequence.size());
  }
  return line;
}

std::string printable_json(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(1, sequence_length(text));
    const std::string_view sequence = text.substr(0, length);
    const std::uint32_t point = code_point(sequence);
    if (misleads(point) || (length == 2 && is_control(sequence))) {
      shown += fmt::format("\\u{:04x}", point);
    } else if (sequence == "\x7F") {
      shown += "\\u007f";
    } else {
      shown += sequence;
    }
    text.remove_prefix(length);
  }
  return shown;
}

std::string printable_path(std::string_view path) { return path == "-" ? "standard input" : printable(path, 1024); }

}  // namespace shoal
