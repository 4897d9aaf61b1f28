// Adapters: what a structure lacks (laws, an equality, a bound, the other form of its operation) added around it.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <shoal/algebra/group.hpp>

namespace shoal::algebra {

template <class Structure, operation_laws Laws>
struct declared : Structure {
  static constexpr operation_laws laws = Laws;
};

/// The same structure with `Laws` declared in the place of its own, if it had any:
/// `declare<operation_laws{.associative = law::exact}>(structure)`.
template <operation_laws Laws, class Structure>
constexpr declared<Structure, Laws> declare(Structure structure) {
  return {std::move(structure)};
}

template <class Structure, class Equal>
struct equated : Structure {
  Equal equality;

  template <class Value>
  bool equal(const Value& a, const Value& b) const {
    return equality(a, b);
  }
};

/// The same structure on a set whose equality is `equality(a, b)`.
template <class Structure, class Equal>
constexpr equated<Structure, Equal> with_equality(Structure structure, Equal equality) {
  return {std::move(structure), std::move(equality)};
}

template <class Structure, class Close>
struct bounded : Structure {
  Close closeness;

  template <class Value, class... Operands>
  bool close(const Value& left, const Value& right, const Operands&... operands) const {
    if constexpr (std::is_invocable_v<const Close&, const Value&, const Value&, const Operands&...>) {
      return closeness(left, right, operands...);
    } else {
      return closeness(left, right);
    }
  }
};

/// The same structure whose approximate laws are judged by `close(left, right)`, or by `close(left, right, operands)`
/// when the bound grows with the operands; `operands` is an operands_of<value_type>.
template <class Structure, class Close>
constexpr bounded<Structure, Close> with_closeness(Structure structure, Close close) {
  return {std::move(structure), std::move(close)};
}

/// A monoid with everything that a fold over rows asks for: both forms of the operation, `reset(value)` back to the
/// identity, and `bytes()`, the size of one value. A structure whose values own memory must give `bytes()` itself.
template <monoid Structure>
class complete : public Structure {
 public:
  using value_type = value_of<Structure>;

  constexpr explicit complete(Structure structure) : Structure(std::move(structure)) {}

  constexpr value_type combine(const value_type& a, const value_type& b) const {
    return algebra::combine(base(), a, b);
  }
  constexpr void combine_into(value_type& into, const value_type& from) const {
    algebra::combine_into(base(), into, from);
  }
  constexpr void reset(value_type& value) const {
    if constexpr (requires { base().reset(value); }) {
      base().reset(value);
    } else {
      value = base().identity();
    }
  }
  constexpr std::size_t bytes() const {
    if constexpr (requires { base().bytes(); }) {
      return base().bytes();
    } else {
      static_assert(std::is_trivially_copyable_v<value_type>, "a structure whose values own memory must give bytes()");
      return sizeof(value_type);
    }
  }

 private:
  constexpr const Structure& base() const { return *this; }
};

}  // namespace shoal::algebra
