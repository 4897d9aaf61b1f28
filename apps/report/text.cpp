// Text in a report: UTF-8 repair, escapes, and numbers as people read them.
#include "report/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include <shoal/io/printable.hpp>

namespace shoal::report {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";
constexpr std::string_view minus = "\u2212";

// Bytes of the well-formed sequence that starts at `at` and that XML allows, or 0 (Unicode 15, table 3-7).
std::size_t sequence(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> std::uint32_t {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7F ? 1 : lead == '\t' || lead == '\n' || lead == '\r';
  if (lead >= 0xC2 && lead < 0xE0) {
    // C1 controls are legal in XML but no reader can show them.
    return continues(1) && !(lead == 0xC2 && byte(1) < 0xA0) ? 2 : 0;
  }
  if (lead >= 0xE0 && lead < 0xF0) {
    if (!continues(1) || !continues(2)) return 0;
    const std::uint32_t point = (lead & 0x0Fu) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu);
    const bool surrogate = point >= 0xD800 && point < 0xE000;
    const bool noncharacter = point >= 0xFFFE || (point >= 0xFDD0 && point < 0xFDF0);
    return point >= 0x800 && !surrogate && !noncharacter ? 3 : 0;
  }
  if (lead >= 0xF0 && lead < 0xF5) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    const std::uint32_t point =
        (lead & 0x07u) << 18 | (byte(1) & 0x3Fu) << 12 | (byte(2) & 0x3Fu) << 6 | (byte(3) & 0x3Fu);
    return point >= 0x10000 && point < 0x110000 && (point & 0xFFFEu) != 0xFFFE ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string clean(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t misleading = misleading_bytes(text.substr(at)); misleading != 0) {
      out += printable(text.substr(at, misleading));
      at += misleading;
      continue;
    }
    const std::size_t bytes = sequence(text, at);
    out += bytes == 0 ? replacement : text.substr(at, bytes);
    at += bytes == 0 ? 1 : bytes;
  }
  return out;
}

std::string escape(std::string_view text) {
  std::string out;
  for (const char character : clean(text)) {
    switch (character) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += character;
    }
  }
  return out;
}

std::string shorten(std::string_view text, std::size_t characters) {
  std::string whole = clean(text);
  if (length(whole) <= characters) return whole;
  std::size_t seen = 0;
  std::size_t at = 0;
  for (; at < whole.size(); ++at)
    if ((static_cast<unsigned char>(whole[at]) & 0xC0u) != 0x80u && ++seen == characters) break;
  return whole.substr(0, at) + "…";
}

std::size_t length(std::string_view text) {
  std::size_t points = 0;
  for (const char byte : text) points += (static_cast<unsigned char>(byte) & 0xC0u) != 0x80u;
  return points;
}

std::string count(std::size_t value) {
  std::string digits = std::to_string(value);
  for (std::size_t place = 3; place < digits.size(); place += 4) digits.insert(digits.size() - place, 1, ',');
  return digits;
}

std::string counted(std::size_t value, std::string_view noun) {
  return count(value) + " " + std::string(noun) + (value == 1 ? "" : "s");
}

std::string number(double value, int digits) {
  if (std::isnan(value)) return "not a number";
  if (std::isinf(value)) return value > 0 ? "∞" : "−∞";
  std::string text = fmt::format("{:.{}g}", std::abs(value), digits);
  const std::size_t power = text.find('e');
  if (power != std::string::npos) text = text.substr(0, power) + "×10" + superscript(std::stoi(text.substr(power + 1)));
  const bool zero = value == 0;
  return value < 0 && !zero ? std::string(minus) + text : text;
}

std::string grouped(double value) {
  if (!std::isfinite(value) || std::abs(value) < 1e4 || std::abs(value) >= 1e15) return number(value, 7);
  return fmt::format("{}{}", value < 0 ? minus : "", count(static_cast<std::size_t>(std::llround(std::abs(value)))));
}

std::string brief(double value) { return std::abs(value) < 1e9 ? grouped(value) : number(value, 7); }

std::string percent(double share) {
  if (!std::isfinite(share)) return number(share);
  if (share > 0 && share < 0.0005) return number(100 * share, 2) + "\u00A0%";
  return fmt::format("{:.1f}\u00A0%", 100 * share);
}

std::vector<std::size_t> behind_points(const std::vector<std::string>& column) {
  // From the point on, of each text that is a number: a sign, digits in groups, a point, a power.
  constexpr std::size_t no_number = static_cast<std::size_t>(-1);
  std::vector<std::size_t> fractions;
  std::size_t longest = 0;
  for (const std::string& text : column) {
    const std::size_t first = text.starts_with(minus) ? minus.size() : text.starts_with('-') ? 1 : 0;
    const std::size_t after = text.find_first_not_of("0123456789,", first);
    const bool whole = after == std::string::npos;
    const bool numeric = text.size() > first && text[first] >= '0' && text[first] <= '9' &&
                         (whole || text[after] == '.' || text[after] == 'e') &&
                         text.find_first_not_of("0123456789,.e+-", first) == std::string::npos;
    fractions.push_back(!numeric ? no_number : whole ? 0 : text.size() - after);
    if (numeric) longest = std::max(longest, fractions.back());
  }
  for (std::size_t& fraction : fractions) fraction = fraction == no_number ? 0 : longest - fraction;
  return fractions;
}

std::string duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return number(seconds);
  if (seconds < 1e-3) return fmt::format("{:.0f}\u00A0µs", 1e6 * seconds);
  if (seconds < 1) return fmt::format("{:.3g}\u00A0ms", 1e3 * seconds);
  if (seconds < 100) return fmt::format("{:.3g}\u00A0s", seconds);
  const double whole = std::round(seconds);
  if (whole < 3600) return fmt::format("{:.0f}\u00A0min {:02.0f}\u00A0s", std::floor(whole / 60), std::fmod(whole, 60));
  return fmt::format("{:.0f}\u00A0h {:02.0f}\u00A0min", std::floor(whole / 3600),
                     std::floor(std::fmod(whole, 3600) / 60));
}

std::string superscript(int exponent) {
  static constexpr std::string_view digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string out = exponent < 0 ? "⁻" : "";
  for (const char digit : std::to_string(std::abs(exponent))) out += digits[digit - '0'];
  return out;
}

}  // namespace shoal::report
