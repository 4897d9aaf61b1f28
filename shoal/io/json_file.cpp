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

// Deep nesting is refused before parsing: a file of a million brackets is no model.
void check_depth(const std::string& name, std::string_view text) {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > json_depth_limit) {
        throw bad_data(fmt::format("{}: byte {}: nested more than {} deep", name, i, json_depth_limit));
      }
    } else if (c == ']' || c == '}') {
      depth -= depth > 0;
    }
  }
}

// The part of nlohmann's text that says what was expected: after the position, which the caller states itself.
std::string parser_reason(std::string_view what) {
  const std::size_t syntax = what.find("syntax error ");
  if (syntax != std::string_view::npos) {
    what.remove_prefix(syntax);
  } else if (const std::size_t bracket = what.find("] "); bracket != std::string_view::npos) {
    what.remove_prefix(bracket + 2);
  }
  return printable(what, 240);
}

std::string describe(const nlohmann::json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return fmt::format("an array of {}", value.size());
  return printable(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void append_number(std::string& out, double value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  // JSON readers take "-0" for the integer zero and lose its sign.
  out += value == 0 && std::signbit(value) ? std::string_view("-0.0") : std::string_view(digits, end - digits);
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
  if (!value_->is_object()) fail(fmt::format("expected an object, got {}", describe(*value_)));
  const auto found = value_->find(name);
  if (found == value_->end()) return std::nullopt;
  return json_element(&*found, file_, path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name));
}

json_element json_element::member(std::string_view name) const {
  auto found = optional_member(name);
  if (!found) fail(fmt::format("the member \"{}\" is missing", name));
  return *std::move(found);
}

std::size_t json_element::array_size() const {
  if (!value_->is_array()) fail(fmt::format("expected an array, got {}", describe(*value_)));
  return value_->size();
}

json_element json_element::at(std::size_t index) const {
  const std::size_t size = array_size();
  if (index >= size) fail(fmt::format("expected an element {}, got {}", index, describe(*value_)));
  return {&(*value_)[index], file_, fmt::format("{}[{}]", path_, index)};
}

double json_element::finite_number() const {
  const double number = value_->is_number() ? value_->get<double>() : std::numeric_limits<double>::quiet_NaN();
  if (!std::isfinite(number)) fail(fmt::format("expected a finite number, got {}", describe(*value_)));
  return number;
}

std::uint64_t json_element::integer(std::uint64_t minimum, std::uint64_t maximum) const {
  const bool whole = value_->is_number_unsigned() || (value_->is_number_integer() && value_->get<std::int64_t>() >= 0);
  const std::uint64_t number = whole ? value_->get<std::uint64_t>() : 0;
  if (!whole || number < minimum || number > maximum) {
    fail(fmt::format("expected an integer from {} to {}, got {}", minimum, maximum, describe(*value_)));
  }
  return number;
}

bool json_element::boolean() const {
  if (!value_->is_boolean()) fail(fmt::format("expected true or false, got {}", describe(*value_)));
  return value_->get<bool>();
}

std::string json_element::text() const {
  if (!value_->is_string()) fail(fmt::format("expected a string, got {}", describe(*value_)));
  return value_->get<std::string>();
}

std::vector<std::string> json_element::texts(std::size_t count) const {
  if (array_size() != count) fail(fmt::format("expected an array of {} strings, got {}", count, describe(*value_)));
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
  if (!value_->is_array() || value_->size() != shape.front()) {
    fail(fmt::format("expected an array of {}, got {}", shape.front(), describe(*value_)));
  }
  if (shape.size() > 1) {
    for (std::size_t i = 0; i < shape.front(); ++i) at(i).append_numbers(shape.subspan(1), out);
    return;
  }
  for (std::size_t i = 0; i < shape.front(); ++i) {
    const nlohmann::json& element = (*value_)[i];
    // An element's path costs an allocation, so it is built only for the one that is refused.
    if (!element.is_number() || !std::isfinite(element.get<double>())) at(i).finite_number();
    out.push_back(element.get<double>());
  }
}

json_file json_file::read(const std::string& path, std::size_t size_limit) {
  return parse(path, read_whole_file(path, size_limit));
}

json_file json_file::parse(const std::string& name, std::string_view text) {
  std::string shown = printable_path(name);
  if (text.empty()) throw bad_data(fmt::format("{}: the file is empty; expected JSON", shown));
  check_depth(shown, text);
  try {
    auto document = std::make_shared<const nlohmann::json>(nlohmann::json::parse(text.begin(), text.end()));
    return json_file(std::move(shown), std::move(document));
  } catch (const nlohmann::json::parse_error& failure) {
    // The parser counts bytes from one, and the one that it could not take among them.
    const std::size_t at = failure.byte == 0 ? 0 : failure.byte - 1;
    throw bad_data(fmt::format("{}: byte {}: not valid JSON: {}", shown, at, parser_reason(failure.what())));
  } catch (const nlohmann::json::out_of_range& failure) {
    throw bad_data(fmt::format("{}: not valid JSON: {}", shown, parser_reason(failure.what())));
  }
}

json_element json_file::root() const { return {document_.get(), name_, ""}; }

std::uint64_t json_file::require_format(std::string_view format, std::uint64_t newest) const {
  const json_element found = root().member("format");
  if (found.text() != format) {
    found.fail(fmt::format("expected \"{}\", got {}", format, describe(found.value())));
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
