// Values of a monoid as bytes, so that one rank can send them to another of the same kind.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <shoal/algebra/group.hpp>
#include <shoal/core/error.hpp>

namespace shoal {

namespace detail {

template <class Part>
struct is_span : std::false_type {};
template <class Element>
struct is_span<std::span<Element>> : std::true_type {};

template <class Part>
struct is_tuple : std::false_type {};
template <class... Parts>
struct is_tuple<std::tuple<Parts...>> : std::true_type {};

template <class Part>
concept vector_part = requires(Part& part, std::size_t count) {
  part.resize(count);
  part.data();
}
&&std::is_trivially_copyable_v<typename Part::value_type>;

// Numbers and structs of numbers; vectors and spans of them; tuples of all these.
template <class Part>
constexpr bool travels() {
  if constexpr (is_span<Part>::value) {
    return std::is_trivially_copyable_v<typename Part::value_type>;
  } else if constexpr (is_tuple<Part>::value) {
    return []<class... Parts>(std::type_identity<std::tuple<Parts...>>) {
      return (travels<std::remove_cvref_t<Parts>>() && ...);
    }(std::type_identity<Part>{});
  } else {
    return vector_part<Part> || std::is_trivially_copyable_v<Part>;
  }
}

template <class Monoid>
concept gives_parts = requires(typename Monoid::value_type& value) {
  Monoid::parts(value);
};

template <class Monoid, class Value>
auto parts_of(Value& value) {
  if constexpr (gives_parts<Monoid>) {
    return Monoid::parts(value);
  } else {
    return std::tie(value);
  }
}

class byte_writer {
 public:
  template <class Part>
  void put(const Part& part) {
    if constexpr (is_tuple<Part>::value) {
      std::apply([this](const auto&... each) { (this->put(each), ...); }, part);
    } else if constexpr (is_span<Part>::value || vector_part<Part>) {
      const std::size_t count = part.size();
      append(&count, sizeof count);
      append(part.data(), count * sizeof(typename Part::value_type));
    } else {
      append(&part, sizeof part);
    }
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void append(const void* from, std::size_t count) {
    const auto* const first = static_cast<const std::byte*>(from);
    bytes_.insert(bytes_.end(), first, first + count);
  }
  std::vector<std::byte> bytes_;
};

class byte_reader {
 public:
  explicit byte_reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  // A span is a part that is there already; it is filled.
  template <class Part>
  void get(Part&& part) {
    using kind = std::remove_cvref_t<Part>;
    if constexpr (is_tuple<kind>::value) {
      std::apply([this](auto&&... each) { (this->get(each), ...); }, part);
    } else if constexpr (is_span<kind>::value || vector_part<kind>) {
      std::size_t count = 0;
      copy(&count, sizeof count);
      if (count > bytes_.size() / sizeof(typename kind::value_type)) refuse();
      if constexpr (is_span<kind>::value) {
        if (count != part.size()) refuse();
      } else {
        part.resize(count);
      }
      copy(part.data(), count * sizeof(typename kind::value_type));
    } else {
      copy(&part, sizeof(kind));
    }
  }
  void expect_end() const {
    if (!bytes_.empty()) refuse();
  }

 private:
  [[noreturn]] static void refuse() {
    throw bad_data("another rank's statistics are of another shape; all ranks must run the same fit of the same rows");
  }
  void copy(void* to, std::size_t count) {
    if (count > bytes_.size()) refuse();
    if (count > 0) std::memcpy(to, bytes_.data(), count);
    bytes_ = bytes_.subspan(count);
  }
  std::span<const std::byte> bytes_;
};

}  // namespace detail

/// A commutative monoid whose values can go from rank to rank. Numbers, structs of numbers, vectors of these, and
/// tuples of all of them can; for other values the monoid says what they are made of, by
///
///   static auto parts(auto& value) { return std::tie(value.weights, value.sums, value.inertia); }
///
/// where a part may also be a span of memory that the value owns and whose size identity() decides.
template <class Monoid>
concept sendable_monoid = algebra::commutative_monoid<Monoid> &&
    detail::travels<decltype(detail::parts_of<Monoid>(std::declval<typename Monoid::value_type&>()))>();

template <sendable_monoid Monoid>
std::vector<std::byte> to_bytes(const Monoid&, const typename Monoid::value_type& value) {
  detail::byte_writer writer;
  writer.put(detail::parts_of<Monoid>(value));
  return writer.take();
}

/// `into` is any value of the same monoid. Throws bad_data when the bytes are no such value.
template <sendable_monoid Monoid>
void from_bytes(const Monoid&, std::span<const std::byte> bytes, typename Monoid::value_type& into) {
  detail::byte_reader reader(bytes);
  reader.get(detail::parts_of<Monoid>(into));
  reader.expect_end();
}

}  // namespace shoal
