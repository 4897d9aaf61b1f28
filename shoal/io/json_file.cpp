#include <shoal/io/json_file.hpp>

#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <shoal/core/error.hpp>
#include <shoal/io/printable.hpp>
#include <shoal/io/whole_file.hpp>

namespace shoal {
namespace {

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void append_number(std::string& out, double value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  // JSON readers take "-0" for the integer zero and lose its sign.
  out += value == 0 && std::signbit(value) ? std::string_view("-0.0") : std::string_view(digits, end - digits);
}

std::string describe(const json_value& value) {
  if (value.as<json_object>() != nullptr) return "an object";
  if (const auto* const array = value.as<json_array>()) return fmt::format("an array of {}", array->size());
  if (const auto* const list = value.as<json_numbers>()) return fmt::format("an array of {}", list->size());
  if (const auto* const text = value.as<std::string>()) return printable(json_string(*text));
  if (const auto* const truth = value.as<bool>()) return *truth ? "true" : "false";
  if (const auto* const negative = value.as<std::int64_t>()) return fmt::format("{}", *negative);
  if (const auto* const whole = value.as<std::uint64_t>()) return fmt::format("{}", *whole);
  std::string number = "null";
  if (const auto* const real = value.as<double>()) append_number(number = {}, *real);
  return number;
}

std::optional<double> number_in(const json_value& value) {
  if (const auto* const negative = value.as<std::int64_t>()) return static_cast<double>(*negative);
  if (const auto* const whole = value.as<std::uint64_t>()) return static_cast<double>(*whole);
  if (const auto* const real = value.as<double>()) return *real;
  return std::nullopt;
}

std::size_t shape_size(std::span<const std::size_t> shape) {
  std::size_t size = 1;
  for (const std::size_t extent : shape) size *= extent;
  return size;
}

}  // namespace

void json_element::fail(std::string_view message) const {
  if (path_.empty()) throw bad_data(fmt::format("{}: {}", file_, message));
  throw bad_data(fmt::format("{}: {}: {}", file_, printable(path_, 200), message));
}

std::optional<json_element> json_element::optional_member(std::string_view name) const {
  const auto* const members = value().as<json_object>();
  if (members == nullptr) fail(fmt::format("expected an object, got {}", describe(value())));
  for (const auto& [known, value] : *members) {
    if (known == name) return json_element(&value, file_, path_.empty() ? known : fmt::format("{}.{}", path_, name));
  }
  return std::nullopt;
}

json_element json_element::member(std::string_view name) const {
  auto found = optional_member(name);
  if (!found) fail(fmt::format("the member \"{}\" is missing", name));
  return *std::move(found);
}

std::size_t json_element::array_size() const {
  if (const auto* const array = value().as<json_array>()) return array->size();
  if (const auto* const list = value().as<json_numbers>()) return list->size();
  fail(fmt::format("expected an array, got {}", describe(value())));
}

json_element json_element::at(std::size_t index) const {
  if (index >= array_size()) fail(fmt::format("expected an element {}, got {}", index, describe(value())));
  std::string path = fmt::format("{}[{}]", path_, index);
  if (const auto* const list = value().as<json_numbers>()) return {(*list)[index], file_, std::move(path)};
  return {&(*value().as<json_array>())[index], file_, std::move(path)};
}

double json_element::finite_number() const {
  const std::optional<double> number = number_in(value());
  if (!number) fail(fmt::format("expected a finite number, got {}", describe(value())));
  return *number;
}

std::uint64_t json_element::integer(std::uint64_t minimum, std::uint64_t maximum) const {
  const auto* const whole = value().as<std::uint64_t>();
  if (whole == nullptr || *whole < minimum || *whole > maximum) {
    fail(fmt::format("expected an integer from {} to {}, got {}", minimum, maximum, describe(value())));
  }
  return *whole;
}

bool json_element::boolean() const {
  const auto* const truth = value().as<bool>();
  if (truth == nullptr) fail(fmt::format("expected true or false, got {}", describe(value())));
  return *truth;
}

std::string json_element::text() const {
  const auto* const text = value().as<std::string>();
  if (text == nullptr) fail(fmt::format("expected a string, got {}", describe(value())));
  return *text;
}

std::vector<std::string> json_element::texts(std::size_t count) const {
  if (array_size() != count) fail(fmt::format("expected an array of {} strings, got {}", count, describe(value())));
  std::vector<std::string> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(at(i).text());
  return out;
}

std::vector<double> json_element::numbers(std::initializer_list<std::size_t> shape) const {
  return numbers(std::span<const std::size_t>(shape.begin(), shape.size()));
}

std::vector<double> json_element::numbers(std::span<const std::size_t> shape) const {
  std::vector<double> out;
  append_numbers(shape, out);
  return out;
}

void json_element::append_numbers(std::span<const std::size_t> shape, std::vector<double>& out) const {
  const auto* const list = value().as<json_numbers>();
  const auto* const array = value().as<json_array>();
  if ((list == nullptr && array == nullptr) || array_size() != shape.front()) {
    fail(fmt::format("expected an array of {}, got {}", shape.front(), describe(value())));
  }
  if (shape.size() > 1) {
    for (std::size_t i = 0; i < shape.front(); ++i) at(i).append_numbers(shape.subspan(1), out);
  } else if (list != nullptr) {
    out.insert(out.end(), list->begin(), list->end());
  } else {
    for (std::size_t i = 0; i < shape.front(); ++i) out.push_back(at(i).finite_number());
  }
}

json_file json_file::read(const std::string& path, std::size_t size_limit) {
  return parse(path, read_whole_file(path, size_limit));
}

json_file json_file::parse(const std::string& name, std::string_view text) {
  std::string shown = printable_path(name);
  if (text.empty()) throw bad_data(fmt::format("{}: the file is empty; expected JSON", shown));
  auto document = std::make_shared<const json_value>(parse_json(shown, text, json_depth_limit));
  return json_file(std::move(shown), std::move(document));
}

json_element json_file::root() const { return {document_.get(), name_, std::string()}; }

std::uint64_t json_file::require_format(std::string_view format, std::uint64_t newest) const {
  const json_element found = root().member("format");
  if (found.text() != format) {
    found.fail(fmt::format("expected \"{}\", got {}", format, printable(json_string(found.text()))));
  }
  const json_element version = root().member("version");
  const std::uint64_t number = version.integer(0, std::numeric_limits<std::uint64_t>::max());
  if (number == 0 || number > newest) {
    version.fail(
        fmt::format("version {} is unknown to this build of shoal, which reads versions up to {}", number, newest));
  }
  return number;
}

void json_writer::begin(std::string_view name) {
  text_ += text_.empty() ? "{\n  " : ",\n  ";
  text_ += json_string(name);
  text_ += ": ";
}

json_writer& json_writer::text(std::string_view name, std::string_view value) {
  begin(name);
  text_ += json_string(value);
  return *this;
}

json_writer& json_writer::texts(std::string_view name, std::span<const std::string> values) {
  begin(name);
  text_ += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text_ += ", ";
    text_ += json_string(values[i]);
  }
  text_ += ']';
  return *this;
}

json_writer& json_writer::number(std::string_view name, double value) {
  if (!std::isfinite(value)) throw bad_argument(fmt::format("cannot write {} = {} as JSON: not finite", name, value));
  begin(name);
  append_number(text_, value);
  return *this;
}

json_writer& json_writer::integer(std::string_view name, std::uint64_t value) {
  begin(name);
  text_ += fmt::format("{}", value);
  return *this;
}

json_writer& json_writer::boolean(std::string_view name, bool value) {
  begin(name);
  text_ += value ? "true" : "false";
  return *this;
}

json_writer& json_writer::numbers(std::string_view name, std::span<const double> values,
                                  std::initializer_list<std::size_t> shape) {
  return numbers(name, values, std::span<const std::size_t>(shape.begin(), shape.size()));
}

json_writer& json_writer::numbers(std::string_view name, std::span<const double> values,
                                  std::span<const std::size_t> shape) {
  if (shape.empty() || values.size() != shape_size(shape)) {
    throw bad_argument(fmt::format("cannot write {}: {} numbers do not fill its shape", name, values.size()));
  }
  begin(name);
  append_nested(values, shape, name);
  return *this;
}

void json_writer::append_nested(std::span<const double> values, std::span<const std::size_t> shape,
                                std::string_view name) {
  text_ += '[';
  const std::size_t stride = shape_size(shape.subspan(1));
  for (std::size_t i = 0; i < shape.front(); ++i) {
    if (i > 0) text_ += shape.size() > 1 ? ",\n    " : ", ";
    if (shape.size() > 1) {
      append_nested(values.subspan(i * stride, stride), shape.subspan(1), name);
    } else if (std::isfinite(values[i])) {
      append_number(text_, values[i]);
    } else {
      throw bad_argument(fmt::format("cannot write {} as JSON: element {} is {}", name, i, values[i]));
    }
  }
  text_ += ']';
}

json_writer& json_writer::json(std::string_view name, std::string_view value) {
  if (!nlohmann::json::accept(value.begin(), value.end())) {
    throw bad_argument(fmt::format("cannot write {}: not valid JSON: {}", name, printable(value)));
  }
  begin(name);
  text_ += value;
  return *this;
}

std::string json_writer::finish() const { return text_.empty() ? "{}\n" : text_ + "\n}\n"; }

}  // namespace shoal
