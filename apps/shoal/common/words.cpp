// Reading numbers, sizes and lists strictly: nothing is guessed, and a message names the option.
#include "common/words.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/io/printable.hpp>

namespace shoal::app {
namespace {

std::string quoted(std::string_view text) { return fmt::format("'{}'", printable(text)); }

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool whole_number(std::string_view text, std::uint64_t& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code == std::errc() && stop == end) return true;
  // "1e6" is a whole number too, where a double holds it exactly.
  if (text.find_first_not_of("0123456789.eE+") != std::string_view::npos) return false;
  double real = 0;
  const auto [real_stop, real_code] = std::from_chars(text.data(), end, real);
  if (real_code != std::errc() || real_stop != end || real < 0 || real > 9007199254740992.0) return false;
  if (real != std::floor(real)) return false;
  value = static_cast<std::uint64_t>(real);
  return true;
}

// Slips of the fingers (a letter too many, too few or wrong, two neighbours swapped) from one word to the other; a row
// of the table for each letter of `from`, of which the last three are kept.
std::size_t edits(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before;
  std::vector<std::size_t> last(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::vector<std::size_t> row(to.size() + 1, i);
    for (std::size_t j = 1; j <= to.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before = std::move(last);
    last = std::move(row);
  }
  return last.back();
}

}  // namespace

std::uint64_t parse_count(std::string_view option, std::string_view text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t value = 0;
  if (!whole_number(text, value)) {
    throw bad_argument(fmt::format("{}: {} is not a whole number of at least {}", option, quoted(text), least));
  }
  if (value < least) throw bad_argument(fmt::format("{}: {} is too small; the least is {}", option, value, least));
  if (value > most) throw bad_argument(fmt::format("{}: {} is too large; the most is {}", option, value, most));
  return value;
}

double parse_number(std::string_view option, std::string_view text, double least, bool open) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  const bool number = code == std::errc() && stop == end && std::isfinite(value);
  if (!number || value < least || (open && value == least)) {
    throw bad_argument(fmt::format("{}: {} is not a number {} {}", option, quoted(text),
                                   open ? "greater than" : "of at least", least));
  }
  return value;
}

std::size_t parse_bytes(std::string_view option, std::string_view text) {
  const std::size_t letters = std::min(text.size(), text.find_first_not_of("0123456789."));
  const std::string unit = lower(trimmed(text.substr(letters)));
  const std::string_view digits = text.substr(0, letters);
  double value = 0;
  const auto [stop, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  double scale = 0;
  if (unit.empty() || unit == "b") scale = 1;
  const std::string_view powers = "kmgt";
  for (std::size_t i = 0; i < powers.size(); ++i) {
    const std::string letter(1, powers[i]);
    const double power = static_cast<double>(i + 1);
    if (unit == letter || unit == letter + "ib") scale = std::pow(1024.0, power);
    if (unit == letter + "b") scale = std::pow(1000.0, power);
  }
  if (code != std::errc() || stop != digits.data() + digits.size() || scale == 0 || value * scale >= 9.2e18) {
    throw bad_argument(
        fmt::format("{}: {} is not a size in bytes; write 1000000, 64MiB or 2GiB", option, quoted(text)));
  }
  return static_cast<std::size_t>(value * scale);
}

std::vector<std::size_t> parse_counts(std::string_view option, std::string_view text) {
  constexpr std::size_t most_values = 10000;
  std::set<std::size_t> values;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t comma = std::min(text.size(), text.find(',', begin));
    const std::string_view part = trimmed(text.substr(begin, comma - begin));
    begin = comma + 1;
    const std::size_t dots = part.find("..");
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    const bool range = dots != std::string_view::npos;
    const bool good = range ? whole_number(part.substr(0, dots), first) && whole_number(part.substr(dots + 2), last)
                            : whole_number(part, first);
    if (!range) last = first;
    if (!good || first < 1 || last < first) {
      throw bad_argument(
          fmt::format("{}: {} is not a list of numbers of at least 1; write 1..20 or 1,2,5", option, quoted(text)));
    }
    if (last - first >= most_values || values.size() + (last - first) >= most_values) {
      throw bad_argument(fmt::format("{}: {} holds more than {} numbers", option, quoted(text), most_values));
    }
    for (std::uint64_t value = first; value <= last; ++value) values.insert(value);
  }
  return {values.begin(), values.end()};
}

std::vector<std::string> parse_names(std::string_view option, std::string_view text) {
  std::vector<std::string> names;
  std::size_t at = 0;
  while (at <= text.size()) {
    std::string name;
    if (at < text.size() && text[at] == '"') {
      const std::size_t close = text.find('"', at + 1);
      if (close == std::string_view::npos || (close + 1 < text.size() && text[close + 1] != ',')) {
        throw bad_argument(fmt::format("{}: {} has a double quote without its partner", option, quoted(text)));
      }
      name = text.substr(at + 1, close - at - 1);
      at = close + 2;
    } else {
      const std::size_t comma = std::min(text.size(), text.find(',', at));
      name = trimmed(text.substr(at, comma - at));
      at = comma + 1;
    }
    if (name.empty()) {
      throw bad_argument(
          fmt::format("{}: {} holds an empty name; write 'eruptions,waiting' or '0,2..5'", option, quoted(text)));
    }
    names.push_back(std::move(name));
  }
  return names;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string wanted = lower(word);
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, wanted.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::string other = lower(candidate);
    std::size_t distance = edits(wanted, other);
    // A word that was cut short is as good as one with a single slip.
    if (wanted.size() >= 3 && other.size() > wanted.size() && other.compare(0, wanted.size(), wanted) == 0) {
      distance = 1;
    }
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string best = nearest(word, candidates);
  return best.empty() ? std::string() : fmt::format("; did you mean '{}'?", best);
}

std::string printable_lines(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.size(), text.find('\n'));
    result += printable(text.substr(0, end), std::string::npos);
    if (end == text.size()) break;
    result += '\n';
    text.remove_prefix(end + 1);
  }
  return result;
}

std::string grouped(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string bytes_text(double bytes) {
  const char* const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, units[unit]);
}

std::string duration_text(double seconds) {
  if (!(seconds < 1e9)) return "a long time";
  if (seconds < 0.001) return fmt::format("{:.1f} µs", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 99.5) return fmt::format("{:.3g} s", seconds);
  const auto whole = static_cast<std::uint64_t>(seconds + 0.5);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace shoal::app
