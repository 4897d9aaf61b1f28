#include <shoal/io/npy_format.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <shoal/core/error.hpp>
#include <shoal/io/printable.hpp>

namespace shoal {
namespace {

// Reads the Python literal that a header is: one dictionary of strings, booleans and a tuple of integers.
class header_parser {
 public:
  header_parser(const std::string& name, std::string_view text, std::size_t offset)
      : name_(name), text_(text), offset_(offset) {}

  [[noreturn]] void fail(std::string_view message) const {
    throw bad_data(fmt::format("{}: byte {}: {}", name_, offset_ + at_, message));
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool peek(char c) {
    skip_space();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool take(char c) {
    if (!peek(c)) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(fmt::format("the .npy header is damaged: expected '{}' in {}", c, printable(text_, 200)));
  }
  std::string string() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') {
      fail(fmt::format("the .npy header is damaged: expected a string in {}", printable(text_, 200)));
    }
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("the .npy header is damaged: a string does not end");
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  bool boolean() {
    skip_space();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    }
    fail("the .npy header is damaged: fortran_order must be True or False");
  }
  std::vector<std::size_t> tuple() {
    std::vector<std::size_t> values;
    expect('(');
    while (!take(')')) {
      skip_space();
      std::size_t value = 0;
      const auto [end, problem] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (problem == std::errc::result_out_of_range) fail("the shape does not fit in 64 bits");
      if (problem != std::errc()) fail("the .npy header is damaged: the shape must hold integers from 0");
      at_ = static_cast<std::size_t>(end - text_.data());
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // as Python 2 wrote them
      values.push_back(value);
      if (!take(',') && !peek(')')) fail("the .npy header is damaged: expected ',' or ')' in the shape");
    }
    return values;
  }

 private:
  const std::string& name_;
  std::string_view text_;
  std::size_t offset_;
  std::size_t at_ = 0;
};

struct known_type {
  std::string_view code;
  element_type element;
};
constexpr std::array<known_type, 12> known_types = {{{"b1", element_type::boolean},
                                                     {"i1", element_type::int8},
                                                     {"i2", element_type::int16},
                                                     {"i4", element_type::int32},
                                                     {"i8", element_type::int64},
                                                     {"u1", element_type::uint8},
                                                     {"u2", element_type::uint16},
                                                     {"u4", element_type::uint32},
                                                     {"u8", element_type::uint64},
                                                     {"f2", element_type::float16},
                                                     {"f4", element_type::float32},
                                                     {"f8", element_type::float64}}};

// Why a type that NumPy has is not one of ours.
std::string_view refusal(char kind) {
  switch (kind) {
    case 'O':
      return "Python objects; save it with a numeric dtype (a.astype('float64'))";
    case 'c':
      return "complex numbers; save real columns (a.view of its parts, or a.real)";
    case 'U':
    case 'S':
    case 'a':
      return "strings; save numbers (a.astype('float64'))";
    case 'V':
      return "structured or raw records; save a plain two-dimensional array";
    case 'M':
    case 'm':
      return "dates or times; save numbers (a.astype('int64'))";
    default:
      return "an element type that is not read; save it as float64 (a.astype('float64'))";
  }
}

element_type parse_element(const header_parser& header, const std::string& descr) {
  const char order = descr.empty() ? '\0' : descr.front();
  const bool ordered = order == '<' || order == '>' || order == '|' || order == '=';
  const std::string_view code = ordered ? std::string_view(descr).substr(1) : std::string_view(descr);
  for (const known_type& known : known_types) {
    if (code != known.code) continue;
    if (order == '>' && code[1] != '1') {
      header.fail(
          fmt::format("the array is big-endian ('{}'), which is not read; save a.astype('<{}') instead", descr, code));
    }
    return known.element;
  }
  header.fail(fmt::format("the array holds '{}': {}", printable(descr), refusal(code.empty() ? '\0' : code.front())));
}

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

// What the dictionary of a header says.
struct npy_words {
  element_type element;
  bool fortran_order;
  std::vector<std::size_t> shape;
  std::uint64_t offset;
};

npy_words parse_words(const std::string& name, std::span<const std::byte> prefix) {
  const std::string_view text(reinterpret_cast<const char*>(prefix.data()), prefix.size());
  if (!text.starts_with(npy_magic)) {
    throw bad_data(fmt::format("{}: not a .npy file: it starts with \"{}\"", name, printable(text.substr(0, 8))));
  }
  const auto truncated = [&](std::size_t needed) {
    throw bad_data(
        fmt::format("{}: truncated .npy header: expected {} bytes, the file has {}", name, needed, prefix.size()));
  };
  if (prefix.size() < 10) truncated(10);
  const unsigned major = std::to_integer<unsigned>(prefix[6]);
  const unsigned minor = std::to_integer<unsigned>(prefix[7]);
  if (major < 1 || major > 3 || minor != 0) {
    throw bad_data(
        fmt::format("{}: byte 6: .npy format version {}.{} is unknown; 1.0, 2.0 and 3.0 are read", name, major, minor));
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t start = 8 + length_bytes;
  if (prefix.size() < start) truncated(start);
  const std::uint64_t length = little_endian(prefix.subspan(8, length_bytes));
  if (length > npy_header_limit) {
    throw bad_data(fmt::format("{}: byte 8: the .npy header claims {} bytes, more than the {} allowed", name, length,
                               npy_header_limit));
  }
  if (prefix.size() < start + length) truncated(start + length);

  header_parser header(name, text.substr(start, length), start);
  std::optional<element_type> element;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::size_t>> shape;
  header.expect('{');
  while (!header.take('}')) {
    const std::string key = header.string();
    header.expect(':');
    if (key == "descr") {
      if (header.peek('[')) header.fail("the array is structured (named fields); save a plain two-dimensional array");
      element = parse_element(header, header.string());
    } else if (key == "fortran_order") {
      fortran_order = header.boolean();
    } else if (key == "shape") {
      shape = header.tuple();
    } else {
      header.fail(fmt::format("the .npy header has an unknown entry '{}'", printable(key)));
    }
    if (!header.take(',') && !header.peek('}')) header.fail("the .npy header is damaged: expected ',' or '}'");
  }
  if (!element || !fortran_order || !shape) header.fail("the .npy header lacks descr, fortran_order or shape");

  return {*element, *fortran_order, *shape, start + length};
}

}  // namespace

npy_array parse_npy_array(const std::string& name, std::span<const std::byte> prefix) {
  const npy_words words = parse_words(name, prefix);
  npy_array array{words.element, words.fortran_order, words.shape, words.offset, words.offset};
  std::uint64_t bytes = element_size(array.element);
  bool too_large = false;
  for (const std::size_t size : array.shape) too_large |= __builtin_mul_overflow(bytes, size, &bytes);
  if (bytes == 0) throw bad_data(fmt::format("{}: the array is empty: ({})", name, fmt::join(array.shape, ", ")));
  if (too_large || __builtin_add_overflow(bytes, array.offset, &array.end) || array.end >> 63 != 0) {
    throw bad_data(fmt::format("{}: the shape ({}) is larger than any file", name, fmt::join(array.shape, ", ")));
  }
  return array;
}

npy_layout parse_npy_header(const std::string& name, std::span<const std::byte> prefix) {
  const npy_words words = parse_words(name, prefix);
  const std::vector<std::size_t>& shape = words.shape;
  if (shape.empty() || shape.size() > 2) {
    throw bad_data(fmt::format("{}: the array has shape ({}); a matrix (rows, columns) or one column (rows,) is needed",
                               name, fmt::join(shape, ", ")));
  }
  npy_layout layout;
  layout.element = words.element;
  layout.rows = shape.front();
  layout.columns = shape.size() == 2 ? shape.back() : 1;
  // A matrix of one row or one column lies the same way in both orders; C order is the quicker to read.
  layout.fortran_order = words.fortran_order && layout.rows != 1 && layout.columns != 1;
  layout.offset = words.offset;
  if (layout.rows == 0 || layout.columns == 0) {
    throw bad_data(fmt::format("{}: the array is empty: {} rows x {} columns", name, layout.rows, layout.columns));
  }
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(layout.rows, layout.columns, &bytes) ||
      __builtin_mul_overflow(bytes, element_size(layout.element), &bytes) ||
      __builtin_add_overflow(bytes, layout.offset, &layout.end) || layout.end >> 63 != 0) {
    throw bad_data(fmt::format("{}: the shape ({}, {}) is larger than any file", name, layout.rows, layout.columns));
  }
  return layout;
}

std::string make_npy_header(element_type element, std::size_t rows, std::size_t columns) {
  const std::array<std::size_t, 2> shape = {rows, columns};
  return make_npy_header(element, std::span(shape).first(columns == 0 ? 1 : 2));
}

std::string make_npy_header(element_type element, std::span<const std::size_t> sizes) {
  std::string_view code;
  for (const known_type& known : known_types) {
    if (known.element == element) code = known.code;
  }
  const std::string shape = fmt::format("({}{})", fmt::join(sizes, ", "), sizes.size() == 1 ? "," : "");
  std::string dictionary = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': {}, }}",
                                       code[1] == '1' ? '|' : '<', code, shape);
  const std::size_t total = (npy_magic.size() + 4 + dictionary.size() + 1 + 63) / 64 * 64;
  const std::size_t length = total - npy_magic.size() - 4;
  dictionary.resize(length - 1, ' ');
  dictionary += '\n';
  std::string header(npy_magic);
  header += {'\x01', '\x00', static_cast<char>(length & 0xFF), static_cast<char>(length >> 8)};
  return header + dictionary;
}

}  // namespace shoal
