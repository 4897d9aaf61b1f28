#include <shoal/io/json_value.hpp>

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <shoal/core/error.hpp>
#include <shoal/io/printable.hpp>

namespace shoal {
namespace {

// Deep nesting is refused before parsing: a file of a million brackets is no model.
void check_depth(const std::string& name, std::string_view text, std::size_t limit) {
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
      if (++depth > limit) throw bad_data(fmt::format("{}: byte {}: nested more than {} deep", name, i, limit));
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

// Builds the document from what the parser meets, one call for each.
class document_builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  document_builder(const std::string& name, std::size_t text_bytes)
      : name_(name), most_values_(std::max(json_free_values, text_bytes / json_bytes_a_value)) {}

  json_value take() { return std::move(root_); }

  bool null() override { return add({nullptr}); }
  bool boolean(bool value) override { return add({value}); }
  bool number_integer(number_integer_t value) override {
    return add_to_list(static_cast<double>(value)) || add({std::int64_t{value}});
  }
  bool number_unsigned(number_unsigned_t value) override {
    return add_to_list(static_cast<double>(value)) || add({std::uint64_t{value}});
  }
  bool number_float(number_float_t value, const string_t&) override { return add_to_list(value) || add({value}); }
  bool string(string_t& value) override { return add({std::move(value)}); }
  bool binary(binary_t&) override { return false; }  // no part of JSON
  bool start_object(std::size_t) override { return open({json_object()}); }
  bool key(string_t& name) override {
    auto& members = std::get<json_object>(open_.back()->held);
    // Of two members with one name the last counts, as for most readers.
    const auto same = std::find_if(members.begin(), members.end(), [&](const auto& one) { return one.first == name; });
    if (same == members.end()) {
      if (members.size() == most_members) refuse(fmt::format("an object has more than {} members", most_members));
      members.emplace_back(std::move(name), json_value());
      member_ = &members.back().second;
    } else {
      same->second = json_value();
      member_ = &same->second;
    }
    return true;
  }
  bool end_object() override { return close(); }
  // Until something else comes, an array is a list of numbers.
  bool start_array(std::size_t) override { return open({json_numbers()}); }
  bool end_array() override { return close(); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& failure) override {
    if (dynamic_cast<const nlohmann::json::parse_error*>(&failure) == nullptr) {
      throw bad_data(fmt::format("{}: not valid JSON: {}", name_, parser_reason(failure.what())));
    }
    // The parser counts bytes from one, and the one that it could not take among them.
    throw bad_data(fmt::format("{}: byte {}: not valid JSON: {}", name_, position == 0 ? 0 : position - 1,
                               parser_reason(failure.what())));
  }

 private:
  static constexpr std::size_t most_members = 1024;  // they are searched one after another

  [[noreturn]] void refuse(const std::string& why) const {
    throw bad_data(fmt::format("{}: {}; this is no file of shoal", name_, why));
  }

  // True when the innermost open value is a list of numbers, which takes one more.
  bool add_to_list(double value) {
    if (open_.empty()) return false;
    auto* const list = std::get_if<json_numbers>(&open_.back()->held);
    if (list == nullptr) return false;
    if (list->size() == json_longest_list) refuse(fmt::format("a list has more than {} numbers", json_longest_list));
    list->push_back(value);
    return true;
  }

  bool add(json_value value) {
    place(std::move(value));
    return true;
  }

  bool open(json_value value) {
    open_.push_back(place(std::move(value)));
    return true;
  }

  bool close() {
    if (auto* const list = std::get_if<json_numbers>(&open_.back()->held)) list->shrink_to_fit();
    open_.pop_back();
    return true;
  }

  void count_values(std::size_t more) {
    values_ += more;
    if (values_ > most_values_) {
      refuse(fmt::format("more than {} values that are not in lists of numbers", most_values_));
    }
  }

  // Puts a value where the parser stands.
  json_value* place(json_value value) {
    count_values(1);
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json_value& outer = *open_.back();
    if (std::holds_alternative<json_object>(outer.held)) {
      *member_ = std::move(value);
      return member_;
    }
    if (const auto* const list = std::get_if<json_numbers>(&outer.held)) {
      count_values(list->size());
      json_array mixed;
      for (const double number : *list) mixed.push_back({number});
      outer.held = std::move(mixed);
    }
    auto& array = std::get<json_array>(outer.held);
    array.push_back(std::move(value));
    return &array.back();
  }

  const std::string& name_;
  std::size_t most_values_;
  std::size_t values_ = 0;
  json_value root_;
  std::vector<json_value*> open_;  // from the outermost to the innermost; only the innermost grows
  json_value* member_ = nullptr;   // where the value of the last key goes
};

}  // namespace

json_value parse_json(const std::string& name, std::string_view text, std::size_t depth_limit) {
  check_depth(name, text, depth_limit);
  document_builder builder(name, text.size());
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

}  // namespace shoal
