// Reading and writing small JSON files (models, checkpoints) with the place of every fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <shoal/io/json_value.hpp>

namespace shoal {

/// The largest JSON file that is read, and the deepest nesting in it.
inline constexpr std::size_t json_size_limit = std::size_t{1} << 30;
inline constexpr std::size_t json_depth_limit = 64;

/// One element of an open JSON file: it knows its path, so that what it refuses is named, as in
/// `m.json: means[3][1]: expected a finite number, got null`. Valid as long as its json_file. Every accessor throws
/// bad_data when the element is not what was asked for.
class json_element {
 public:
  json_element(const json_value* value, std::string file, std::string path)
      : value_(value), file_(std::move(file)), path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  bool is_object() const { return value().as<json_object>() != nullptr; }

  /// Throws bad_data "FILE: PATH: message".
  [[noreturn]] void fail(std::string_view message) const;

  /// A member of an object.
  json_element member(std::string_view name) const;
  std::optional<json_element> optional_member(std::string_view name) const;

  /// Elements of an array. array_size() refuses what is not an array.
  std::size_t array_size() const;
  json_element at(std::size_t index) const;

  double finite_number() const;
  std::uint64_t integer(std::uint64_t minimum, std::uint64_t maximum) const;
  bool boolean() const;
  std::string text() const;

  /// Exactly `count` strings.
  std::vector<std::string> texts(std::size_t count) const;

  /// Finite numbers in nested arrays of exactly that shape ({K}, {K, d}, {K, d, d}…), row-major.
  std::vector<double> numbers(std::initializer_list<std::size_t> shape) const;
  std::vector<double> numbers(std::span<const std::size_t> shape) const;

 private:
  json_element(double number, std::string file, std::string path)
      : number_{number}, file_(std::move(file)), path_(std::move(path)) {}
  const json_value& value() const { return value_ != nullptr ? *value_ : number_; }
  void append_numbers(std::span<const std::size_t> shape, std::vector<double>& out) const;

  const json_value* value_ = nullptr;  // null: the element of a list of numbers, which is number_
  json_value number_;
  std::string file_;
  std::string path_;
};

/// A JSON document with the name of its file.
class json_file {
 public:
  /// Reads and parses the file. Throws io_error; bad_data "FILE: byte N: …" when it is not JSON, too large or too deep.
  static json_file read(const std::string& path, std::size_t size_limit = json_size_limit);

  /// Parses `text`; `name` stands in messages.
  static json_file parse(const std::string& name, std::string_view text);

  json_element root() const;

  /// Refuses a document whose "format" is another or whose "version" is not in 1…newest. Returns the version.
  std::uint64_t require_format(std::string_view format, std::uint64_t newest) const;

 private:
  json_file(std::string name, std::shared_ptr<const json_value> document)
      : name_(std::move(name)), document_(std::move(document)) {}

  std::string name_;
  std::shared_ptr<const json_value> document_;
};

/// Writes one JSON object, member by member. Numbers are written with the fewest digits that read back as the same
/// bits. Throws bad_argument for a number that is not finite (JSON has none) and for a provenance that is not JSON.
class json_writer {
 public:
  json_writer& text(std::string_view name, std::string_view value);
  json_writer& texts(std::string_view name, std::span<const std::string> values);
  json_writer& number(std::string_view name, double value);
  json_writer& integer(std::string_view name, std::uint64_t value);
  json_writer& boolean(std::string_view name, bool value);
  /// Nested arrays of that shape; `values` holds as many elements as the shape.
  json_writer& numbers(std::string_view name, std::span<const double> values, std::initializer_list<std::size_t> shape);
  json_writer& numbers(std::string_view name, std::span<const double> values, std::span<const std::size_t> shape);
  /// A value that is JSON already; checked, and refused when it is not.
  json_writer& json(std::string_view name, std::string_view value);

  /// The whole object, ending in a newline.
  std::string finish() const;

 private:
  void begin(std::string_view name);
  void append_nested(std::span<const double> values, std::span<const std::size_t> shape, std::string_view name);

  std::string text_;
};

}  // namespace shoal
