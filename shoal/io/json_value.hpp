// A JSON document in memory: a list of numbers takes 8 bytes for each, however it is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace shoal {

struct json_value;

/// Members in the order of the file. Names are few: they are searched one after another.
using json_object = std::vector<std::pair<std::string, json_value>>;
/// An array that holds anything but numbers alone.
using json_array = std::vector<json_value>;
/// An array of nothing but numbers.
using json_numbers = std::vector<double>;

struct json_value {
  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, json_array, json_numbers,
               json_object>
      held = nullptr;

  template <class Kind>
  const Kind* as() const {
    return std::get_if<Kind>(&held);
  }
};

/// What a document may hold beyond numbers: each value that is no number in a list of numbers takes some sixty bytes,
/// so that its text must be as long, or there must be few.
inline constexpr std::size_t json_free_values = std::size_t{1} << 20;
inline constexpr std::size_t json_bytes_a_value = 16;
/// The longest list of numbers.
inline constexpr std::size_t json_longest_list = std::size_t{1} << 24;

/// `name` stands in messages. Throws bad_data "NAME: byte N: …" for what is not JSON, nests more than `depth_limit`
/// deep or holds more values than its length justifies.
json_value parse_json(const std::string& name, std::string_view text, std::size_t depth_limit);

}  // namespace shoal
