#include <shoal/io/text_layout.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/io/printable.hpp>

namespace shoal {
namespace {

// Small files are not made to pay for what large ones gain by.
constexpr std::size_t first_buffer = std::size_t{1} << 13;
constexpr std::size_t usual_buffer = std::size_t{1} << 18;
constexpr std::size_t sampled_lines = 64;
constexpr std::size_t sampled_bytes = std::size_t{1} << 20;

bool is_space(char c) { return c == ' ' || c == '\t'; }

// Formats that people hand over by mistake, by their first bytes.
void refuse_other_formats(const std::string& name, std::string_view start) {
  struct known_format {
    std::string_view magic;
    std::string_view advice;
  };
  static constexpr std::array<known_format, 10> formats = {{
      {"PK\x03\x04", "a zip archive (.npz, .xlsx?); extract the .npy or text file in it"},
      {"\x28\xB5\x2F\xFD", "compressed by zstd; unpack it first"},
      {"BZh", "compressed by bzip2; unpack it first"},
      {"\xFD\x37zXZ", "compressed by xz; unpack it first"},
      {"\x89HDF", "an HDF5 file; export the table as .npy or CSV"},
      {"PAR1", "a Parquet file; export the table as .npy or CSV"},
      {"ARROW1", "an Arrow file; export the table as .npy or CSV"},
      {"\xFF\xFE", "UTF-16 text; convert it to UTF-8"},
      {"\xFE\xFF", "UTF-16 text; convert it to UTF-8"},
      {"\x80\x04\x95", "a Python pickle; save the array with numpy.save"},
  }};
  for (const known_format& format : formats) {
    if (start.starts_with(format.magic)) throw bad_data(fmt::format("{}: byte 0: this is {}", name, format.advice));
  }
}

std::size_t count_outside_quotes(std::string_view line, char wanted) {
  std::size_t count = 0;
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    count += !quoted && c == wanted;
  }
  return count;
}

// A delimiter that every sampled line has equally often wins; else the one that the first line has; else white space.
char detect_delimiter(const std::vector<numbered_line>& lines) {
  char present = ' ';
  for (const char candidate : {'\t', ';', ','}) {
    const std::size_t count = count_outside_quotes(trimmed(lines.front().text), candidate);
    if (count == 0) continue;
    const bool everywhere = std::all_of(lines.begin(), lines.end(), [&](const numbered_line& line) {
      return count_outside_quotes(trimmed(line.text), candidate) == count;
    });
    if (everywhere) return candidate;
    if (present == ' ') present = candidate;
  }
  return present;
}

bool is_numeric(const text_field& field) {
  double value = 0;
  const char* stop = nullptr;
  const char* end = field.text.data() + field.text.size();
  const number_status status = parse_number(field.text.data(), end, value, stop);
  return status != number_status::malformed && stop == end;
}

// The first line is a header when none of its fields is a number or stands for a missing value. In quotes these are
// names when there is a number without quotes below. An empty field tells nothing: row numbers often have no name.
bool detect_header(const std::vector<text_field>& first, const std::vector<text_field>* second) {
  const bool alike = second != nullptr && second->size() == first.size();
  bool any_word = false;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i].text.empty()) continue;
    const bool named = first[i].quoted && alike && !(*second)[i].quoted && is_numeric((*second)[i]);
    if (!named && (is_numeric(first[i]) || means_missing(first[i].text))) return false;
    any_word = true;
  }
  return any_word;
}

// Whether a decimal number that no float64 holds is too large, and not too small: by the place of its first digit that
// is not zero. It is outside of 10^±300, so digits far behind cannot decide.
bool beyond_largest(std::string_view digits) {
  const std::size_t exponent_mark = std::min(digits.find_first_of("eE"), digits.size());
  const std::string_view mantissa = digits.substr(0, exponent_mark);
  const std::size_t leading = mantissa.find_first_of("123456789");
  if (leading == mantissa.npos) return false;
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const auto place = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(leading);
  if (exponent_mark == digits.size()) return place > 0;
  std::string_view exponent = digits.substr(exponent_mark + 1);
  const bool negative = exponent.starts_with('-');
  if (negative || exponent.starts_with('+')) exponent.remove_prefix(1);
  std::int64_t power = 0;
  const auto read = std::from_chars(exponent.data(), exponent.data() + exponent.size(), power);
  if (read.ec == std::errc::result_out_of_range) return !negative;
  return place + (negative ? -power : power) > 0;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool means_missing(std::string_view field) {
  static constexpr std::array<std::string_view, 13> words = {"na",  "n/a",     "#n/a", "<na>", "nan", "null", "none",
                                                             "nil", "missing", "?",    "-",    ".",   "*"};
  const auto same = [&](std::string_view word) {
    return std::equal(word.begin(), word.end(), field.begin(), field.end(),
                      [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b); });
  };
  return std::any_of(words.begin(), words.end(), same);
}

bool is_blank(std::string_view line) { return trimmed(line).empty(); }

bool line_reader::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size() || (filled_ && buffer_.size() < usual_buffer))
    buffer_.resize(std::max(first_buffer, 2 * buffer_.size()));
  const std::size_t got = source_.read(reinterpret_cast<std::byte*>(buffer_.data()) + end_, buffer_.size() - end_);
  if (number_ == 0 && end_ == 0) refuse_other_formats(name_, {buffer_.data(), got});
  end_ += got;
  filled_ = end_ == buffer_.size();
  return got > 0;
}

bool line_reader::next(std::string_view& line) {
  std::size_t searched = begin_;
  const char* newline = nullptr;
  for (;;) {
    if (searched < end_) {
      newline = static_cast<const char*>(std::memchr(buffer_.data() + searched, '\n', end_ - searched));
      if (newline != nullptr) break;
    }
    if (end_ - begin_ > line_limit) {
      throw bad_data(
          fmt::format("{}: line {} is longer than {} bytes; this is no text table", name_, number_ + 1, line_limit));
    }
    const std::size_t held = end_ - begin_;
    if (finished_ || !fill()) {
      finished_ = true;
      if (held == 0) return false;
      break;
    }
    searched = begin_ + held;
  }
  const std::size_t stop = newline != nullptr ? static_cast<std::size_t>(newline - buffer_.data()) : end_;
  line = {buffer_.data() + begin_, stop - begin_};
  begin_ = newline != nullptr ? stop + 1 : end_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (++number_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  return true;
}

number_status parse_number(const char* begin, const char* end, double& value, const char*& stop) {
  // from_chars knows no plus sign; "+-1" must not become a number by skipping it.
  if (begin != end && *begin == '+' && end - begin > 1 && begin[1] != '-') ++begin;
  const auto [behind, problem] = std::from_chars(begin, end, value);
  stop = behind;
  if (problem == std::errc::invalid_argument) return number_status::malformed;
  if (problem == std::errc::result_out_of_range) {
    // from_chars says not which. strtod would, but reads a point or a comma as the program's locale has it.
    if (beyond_largest({begin, behind})) return number_status::too_large;
    value = *begin == '-' ? -0.0 : 0.0;
    return number_status::ok;
  }
  return std::isfinite(value) ? number_status::ok : number_status::not_finite;
}

std::vector<text_field> split_fields(const std::string& name, const numbered_line& line, char delimiter) {
  std::vector<text_field> fields;
  const std::string_view text = delimiter == ' ' ? trimmed(line.text) : std::string_view(line.text);
  const auto ends_field = [&](char c) { return delimiter == ' ' ? is_space(c) : c == delimiter; };
  // Around a field, spaces do not count, and tabs only when they delimit.
  const auto skip_space = [&](std::size_t at) {
    while (at < text.size() && is_space(text[at]) && text[at] != delimiter) ++at;
    return at;
  };
  for (std::size_t at = 0;;) {
    text_field field;
    if (delimiter != ' ') at = skip_space(at);
    if (at < text.size() && text[at] == '"') {
      field.quoted = true;
      for (++at;; ++at) {
        if (at >= text.size()) {
          throw bad_data(fmt::format("{}: line {}, field {}: a quote is not closed on the line", name, line.number,
                                     fields.size() + 1));
        }
        if (text[at] == '"') {
          if (at + 1 >= text.size() || text[at + 1] != '"') break;
          ++at;
        }
        field.text += text[at];
      }
      ++at;
      if (delimiter != ' ') at = skip_space(at);
    }
    const std::size_t begin = at;
    while (at < text.size() && !ends_field(text[at])) ++at;
    field.text += trimmed(text.substr(begin, at - begin));
    fields.push_back(std::move(field));
    if (at >= text.size()) return fields;
    ++at;
    while (delimiter == ' ' && at < text.size() && is_space(text[at])) ++at;
  }
}

text_layout detect_layout(line_reader& lines, std::vector<numbered_line>& ahead) {
  std::size_t bytes = 0;
  std::string_view line;
  while (ahead.size() < sampled_lines && bytes < sampled_bytes && lines.next(line)) {
    if (is_blank(line)) {
      if (ahead.empty()) continue;
      // Empty lines may only end a file; the reader of rows finds out.
      ahead.push_back({std::string(line), lines.number()});
      break;
    }
    if (ahead.empty() && line[line.find_first_not_of(" \t")] == '#') continue;
    ahead.push_back({std::string(line), lines.number()});
    bytes += line.size();
  }
  if (ahead.empty()) throw bad_data(fmt::format("{}: the file is empty: no row of data", lines.name()));
  std::vector<numbered_line> sample = ahead;
  if (is_blank(sample.back().text)) sample.pop_back();

  text_layout layout;
  layout.delimiter = detect_delimiter(sample);
  const std::vector<text_field> first = split_fields(lines.name(), sample[0], layout.delimiter);
  std::vector<text_field> second;
  if (sample.size() > 1) second = split_fields(lines.name(), sample[1], layout.delimiter);
  layout.columns = first.size();
  layout.first_line = sample[0].number;
  layout.header = detect_header(first, sample.size() > 1 ? &second : nullptr);
  if (!layout.header) return layout;
  for (const text_field& field : first) layout.names.push_back(as_utf8(field.text));
  ahead.erase(ahead.begin());
  if (sample.size() == 1) {
    throw bad_data(fmt::format("{}: only a header (line {}: {}), no row of data", lines.name(), sample[0].number,
                               printable(sample[0].text)));
  }
  return layout;
}

}  // namespace shoal
