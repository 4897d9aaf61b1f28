// What a law checker found: which laws were tried, which failed, and on which elements.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal::algebra {

/// One law that does not hold: the first elements that break it and how many times it broke.
struct law_failure {
  std::string law;                    ///< e.g. "associativity", "addition: left identity", "right distributivity"
  bool exact = true;                  ///< declared exact, or up to the structure's bound
  std::vector<std::size_t> elements;  ///< places of the elements in the samples
  std::string message;                ///< the elements and both sides, where they can be written
  std::size_t count = 0;              ///< element tuples that broke it
};

/// The outcome of a check.
struct law_report {
  std::vector<law_failure> failures;
  std::size_t comparisons = 0;  ///< equations that were tried

  bool passed() const { return failures.empty(); }
  explicit operator bool() const { return passed(); }
  /// The failure of one law, or null.
  const law_failure* failure_of(std::string_view law) const {
    for (const law_failure& failure : failures)
      if (failure.law == law) return &failure;
    return nullptr;
  }
  bool failed(std::string_view law) const { return failure_of(law) != nullptr; }
  /// One line for each failure.
  std::string message() const {
    if (passed()) return "all laws hold in " + std::to_string(comparisons) + " comparisons";
    std::string text;
    for (const law_failure& failure : failures) {
      text += failure.law + (failure.exact ? " (exact)" : " (approximate)") + " fails " +
              std::to_string(failure.count) + (failure.count == 1 ? " time: " : " times, first: ") + failure.message +
              "\n";
    }
    return text;
  }
};

namespace detail {

template <class Value>
std::string describe_value(const Value& value);

template <class Number>
std::string describe_number(Number value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return std::string(text, end);
}

template <class Tuple>
std::string describe_tuple(const Tuple& value) {
  std::string text = "(";
  std::apply([&](const auto&... part) { ((text += (text.size() > 1 ? ", " : "") + describe_value(part)), ...); },
             value);
  return text + ")";
}

template <class Range>
std::string describe_range(const Range& range) {
  constexpr std::size_t most = 8;
  std::string text = "[";
  std::size_t count = 0;
  for (const auto& element : range) {
    if (count != 0) text += ", ";
    if (count == most) {
      text += "…";
      break;
    }
    text += describe_value(static_cast<std::ranges::range_value_t<Range>>(element));
    ++count;
  }
  return text + "]";
}

// Numbers, truth values, enumerators, strings, tuples and ranges of these; nothing for anything else.
template <class Value>
std::string describe_value(const Value& value) {
  if constexpr (std::is_same_v<Value, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_arithmetic_v<Value>) {
    return describe_number(value);
  } else if constexpr (std::is_enum_v<Value>) {
    return describe_number(static_cast<std::int64_t>(value));
  } else if constexpr (std::convertible_to<const Value&, std::string_view>) {
    return '"' + std::string(std::string_view(value)) + '"';
  } else if constexpr (requires { std::tuple_size<Value>::value; } && !std::ranges::range<Value>) {
    return describe_tuple(value);
  } else if constexpr (std::ranges::range<const Value>) {
    return describe_range(value);
  } else {
    return {};
  }
}

// What the structure itself says of a value, where it has `std::string describe(value) const`.
template <class Structure, class Value>
std::string describe(const Structure& structure, const Value& value) {
  if constexpr (requires {
                  { structure.describe(value) } -> std::convertible_to<std::string>;
                }) {
    return structure.describe(value);
  } else {
    return describe_value(value);
  }
}

}  // namespace detail

}  // namespace shoal::algebra
