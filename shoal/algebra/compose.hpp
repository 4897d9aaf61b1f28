// Structures built from structures: product, lexicographic, pointwise and function-valued, polynomials, matrices.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <shoal/algebra/group.hpp>
#include <shoal/algebra/ring.hpp>
#include <shoal/core/error.hpp>

namespace shoal::algebra {

namespace detail {

// into[i] = into[i]·from[i], also where the container is std::vector<bool>, whose elements cannot be referred to.
template <class Structure, class Container>
void combine_element(const Structure& structure, Container& into, std::size_t i, const Container& from) {
  if constexpr (std::is_same_v<value_of<Structure>, bool>) {
    into[i] = combine(structure, into[i], from[i]);
  } else {
    combine_into(structure, into[i], from[i]);
  }
}

inline void require_size(std::size_t size, std::size_t expected, const char* what) {
  if (size != expected) {
    throw bad_argument(std::string(what) + " holds " + std::to_string(size) + " values where the structure has " +
                       std::to_string(expected));
  }
}

template <class Structure>
concept gives_close = requires(const Structure& structure, const value_of<Structure>& a,
                               operands_of<value_of<Structure>> operands) {
  structure.close(a, a, operands);
};

// Equal, or close where the structure states what close means.
template <class Structure>
bool equal_or_close(const Structure& structure, const value_of<Structure>& left, const value_of<Structure>& right,
                    operands_of<value_of<Structure>> operands) {
  if constexpr (gives_close<Structure>) {
    return equal(structure, left, right) || structure.close(left, right, operands);
  } else {
    return equal(structure, left, right);
  }
}

// The laws that survive side by side: all but selectivity, for (a, d) may be neither (a, b) nor (c, d).
constexpr operation_laws without_selective(operation_laws laws) {
  laws.selective = law::unclaimed;
  return laws;
}

}  // namespace detail

/// Tuples combined part by part: several statistics in one pass.
template <magma... Structures>
class product {
 public:
  using value_type = std::tuple<value_of<Structures>...>;
  static constexpr operation_laws laws = [] {
    operation_laws weakest_laws{law::exact, law::exact, law::exact, law::exact, law::exact, law::exact};
    ((weakest_laws = weakest(weakest_laws, Structures::laws)), ...);
    return sizeof...(Structures) > 1 ? detail::without_selective(weakest_laws) : weakest_laws;
  }();

  constexpr product() = default;
  constexpr explicit product(Structures... parts) requires(sizeof...(Structures) > 0) : parts_(std::move(parts)...) {}

  constexpr const std::tuple<Structures...>& parts() const { return parts_; }

  constexpr void combine_into(value_type& into, const value_type& from) const {
    each([&]<std::size_t I>() { algebra::combine_into(std::get<I>(parts_), std::get<I>(into), std::get<I>(from)); });
  }
  constexpr value_type identity() const requires(monoid<Structures>&&...) {
    return std::apply([](const auto&... part) { return value_type(part.identity()...); }, parts_);
  }
  constexpr value_type inverse(const value_type& a) const requires(group<Structures>&&...) {
    value_type result = a;
    each([&]<std::size_t I>() { std::get<I>(result) = std::get<I>(parts_).inverse(std::get<I>(a)); });
    return result;
  }
  bool equal(const value_type& a, const value_type& b) const {
    bool all = true;
    each([&]<std::size_t I>() { all = all && algebra::equal(std::get<I>(parts_), std::get<I>(a), std::get<I>(b)); });
    return all;
  }
  bool close(const value_type& left, const value_type& right, operands_of<value_type> operands) const {
    bool all = true;
    each([&]<std::size_t I>() {
      using part = value_of<std::tuple_element_t<I, std::tuple<Structures...>>>;
      std::vector<std::reference_wrapper<const part>> of_part;
      for (const value_type& operand : operands) of_part.push_back(std::get<I>(operand));
      all = all && detail::equal_or_close(std::get<I>(parts_), std::get<I>(left), std::get<I>(right),
                                          operands_of<part>(of_part));
    });
    return all;
  }

 private:
  template <class Function>
  static constexpr void each(const Function& function) {
    [&]<std::size_t... I>(std::index_sequence<I...>) { (function.template operator()<I>(), ...); }
    (std::index_sequence_for<Structures...>{});
  }

  std::tuple<Structures...> parts_;
};

/// Pairs (key, payload): the key that the selective operation of `First` selects wins and brings its payload; payloads
/// of equal keys combine in `Second`. lexicographic(minimum, minimum) on (value, index) is argmin.
template <monoid First, monoid Second>
requires(First::laws.selective == law::exact) class lexicographic {
 public:
  using value_type = std::pair<value_of<First>, value_of<Second>>;
  static constexpr operation_laws laws{
      .associative = weakest({First::laws.associative, Second::laws.associative}),
      .commutative = weakest({First::laws.commutative, Second::laws.commutative}),
      .identity = weakest({First::laws.identity, Second::laws.identity}),
      .idempotent = weakest({First::laws.idempotent, Second::laws.idempotent}),
      .selective = weakest({First::laws.selective, Second::laws.selective}),
  };

  constexpr lexicographic() = default;
  constexpr lexicographic(First first, Second second) : first_(std::move(first)), second_(std::move(second)) {}

  constexpr value_type combine(const value_type& a, const value_type& b) const {
    const auto key = algebra::combine(first_, a.first, b.first);
    const bool left = algebra::equal(first_, key, a.first);
    const bool right = algebra::equal(first_, key, b.first);
    if (left && right) return {key, algebra::combine(second_, a.second, b.second)};
    return left ? a : b;
  }
  constexpr value_type identity() const { return {first_.identity(), second_.identity()}; }
  bool equal(const value_type& a, const value_type& b) const {
    return algebra::equal(first_, a.first, b.first) && algebra::equal(second_, a.second, b.second);
  }
  bool close(const value_type& left, const value_type& right, operands_of<value_type> operands) const {
    using payload = value_of<Second>;
    std::vector<std::reference_wrapper<const payload>> payloads;
    for (const value_type& operand : operands) payloads.push_back(operand.second);
    return algebra::equal(first_, left.first, right.first) &&
           detail::equal_or_close(second_, left.second, right.second, operands_of<payload>(payloads));
  }

 private:
  First first_;
  Second second_;
};

/// Functions from {0, …, size − 1} into a structure, combined at each point: std::vector of `size` values. The size is
/// known at run time. Combining values of another size throws bad_argument.
template <magma Structure>
class pointwise {
 public:
  using value_type = std::vector<value_of<Structure>>;
  static constexpr operation_laws laws = detail::without_selective(Structure::laws);

  explicit pointwise(std::size_t size, Structure structure = {}) : structure_(std::move(structure)), size_(size) {}

  std::size_t size() const { return size_; }
  const Structure& structure() const { return structure_; }
  std::size_t bytes() const { return size_ * sizeof(value_of<Structure>); }

  void combine_into(value_type& into, const value_type& from) const {
    detail::require_size(into.size(), size_, "pointwise: the left vector");
    detail::require_size(from.size(), size_, "pointwise: the right vector");
    for (std::size_t i = 0; i < size_; ++i) detail::combine_element(structure_, into, i, from);
  }
  value_type identity() const requires monoid<Structure> { return value_type(size_, structure_.identity()); }
  void reset(value_type& value) const requires monoid<Structure> { value.assign(size_, structure_.identity()); }
  value_type inverse(const value_type& a) const requires group<Structure> {
    value_type result = a;
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = structure_.inverse(a[i]);
    return result;
  }
  bool equal(const value_type& a, const value_type& b) const {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!algebra::equal(structure_, a[i], b[i])) return false;
    return true;
  }
  bool close(const value_type& left, const value_type& right,
             operands_of<value_type> operands) const requires detail::gives_close<Structure> {
    if (left.size() != right.size()) return false;
    using element = value_of<Structure>;
    for (std::size_t i = 0; i < left.size(); ++i) {
      std::vector<std::reference_wrapper<const element>> at_point;
      for (const value_type& operand : operands) at_point.push_back(operand[i]);
      if (!detail::equal_or_close(structure_, left[i], right[i], operands_of<element>(at_point))) return false;
    }
    return true;
  }

 private:
  Structure structure_;
  std::size_t size_;
};

/// Functions from `Argument` into a structure: (f·g)(x) = f(x)·g(x). Functions cannot be compared everywhere; equality
/// here is agreement at the points given to the structure.
template <class Argument, magma Structure>
class function_valued {
 public:
  using value_type = std::function<value_of<Structure>(const Argument&)>;
  static constexpr operation_laws laws = detail::without_selective(Structure::laws);

  explicit function_valued(std::vector<Argument> points, Structure structure = {})
      : structure_(std::move(structure)), points_(std::move(points)) {}

  value_type combine(const value_type& f, const value_type& g) const {
    return [structure = structure_, f, g](const Argument& x) { return algebra::combine(structure, f(x), g(x)); };
  }
  value_type identity() const requires monoid<Structure> {
    return [structure = structure_](const Argument&) { return structure.identity(); };
  }
  value_type inverse(const value_type& f) const requires group<Structure> {
    return [structure = structure_, f](const Argument& x) { return structure.inverse(f(x)); };
  }
  bool equal(const value_type& f, const value_type& g) const {
    return std::all_of(points_.begin(), points_.end(),
                       [&](const Argument& x) { return algebra::equal(structure_, f(x), g(x)); });
  }
  bool close(const value_type& left, const value_type& right,
             operands_of<value_type> operands) const requires detail::gives_close<Structure> {
    using result = value_of<Structure>;
    return std::all_of(points_.begin(), points_.end(), [&](const Argument& x) {
      std::vector<result> values;
      for (const value_type& operand : operands) values.push_back(operand(x));
      const std::vector<std::reference_wrapper<const result>> at_point(values.begin(), values.end());
      return detail::equal_or_close(structure_, left(x), right(x), operands_of<result>(at_point));
    });
  }

 private:
  Structure structure_;
  std::vector<Argument> points_;
};

/// Polynomials in one unknown over a semiring: coefficients from the constant term up, without zeros at the end.
template <unital_semiring Ring>
class polynomials {
 public:
  using coefficient = value_of<Ring>;
  using value_type = std::vector<coefficient>;
  static constexpr ring_laws laws{.left_distributive = Ring::laws.left_distributive,
                                  .right_distributive = Ring::laws.right_distributive,
                                  .annihilating_zero = Ring::laws.annihilating_zero};

  explicit polynomials(Ring coefficients = {}) : ring_(std::move(coefficients)) {}

  const Ring& coefficients() const { return ring_; }

  class addition_structure {
   public:
    using value_type = std::vector<coefficient>;
    static constexpr operation_laws laws = detail::without_selective(addition_of<Ring>::laws);
    explicit addition_structure(const Ring& ring) : ring_(ring) {}

    void combine_into(value_type& into, const value_type& from) const {
      const auto addition = ring_.addition();
      if (into.size() < from.size()) into.resize(from.size(), zero(ring_));
      for (std::size_t i = 0; i < from.size(); ++i) into[i] = algebra::combine(addition, into[i], from[i]);
      trim(ring_, into);
    }
    value_type identity() const { return {}; }
    value_type inverse(const value_type& a) const requires group<addition_of<Ring>> {
      value_type result = a;
      for (std::size_t i = 0; i < a.size(); ++i) result[i] = ring_.addition().inverse(a[i]);
      return result;
    }

   private:
    Ring ring_;
  };

  class multiplication_structure {
   public:
    using value_type = std::vector<coefficient>;
    // Products of coefficients are summed, so no law is stronger than those of the sum; distributivity carries
    // associativity over.
    static constexpr operation_laws laws{
        .associative = weakest({addition_of<Ring>::laws.associative, multiplication_of<Ring>::laws.associative,
                                Ring::laws.left_distributive, Ring::laws.right_distributive}),
        .commutative = weakest({addition_of<Ring>::laws.associative, multiplication_of<Ring>::laws.commutative}),
        .identity = weakest(
            {addition_of<Ring>::laws.identity, multiplication_of<Ring>::laws.identity, Ring::laws.annihilating_zero})};
    explicit multiplication_structure(const Ring& ring) : ring_(ring) {}

    value_type combine(const value_type& a, const value_type& b) const {
      if (a.empty() || b.empty()) return {};
      value_type result(a.size() + b.size() - 1, zero(ring_));
      for (std::size_t i = 0; i < a.size(); ++i)
        for (std::size_t j = 0; j < b.size(); ++j)
          result[i + j] = add(ring_, result[i + j], multiply(ring_, a[i], b[j]));
      trim(ring_, result);
      return result;
    }
    value_type identity() const {
      value_type result{one(ring_)};
      trim(ring_, result);
      return result;
    }

   private:
    Ring ring_;
  };

  addition_structure addition() const { return addition_structure(ring_); }
  multiplication_structure multiplication() const { return multiplication_structure(ring_); }

  /// The value at x, by Horner's rule.
  coefficient evaluate(const value_type& polynomial, const coefficient& x) const {
    coefficient result = zero(ring_);
    for (std::size_t i = polynomial.size(); i-- > 0;) {
      const coefficient next = polynomial[i];
      result = add(ring_, multiply(ring_, result, x), next);
    }
    return result;
  }

 private:
  static void trim(const Ring& ring, value_type& polynomial) {
    while (!polynomial.empty()) {
      const coefficient last = polynomial.back();
      if (!equal(ring.addition(), last, zero(ring))) break;
      polynomial.pop_back();
    }
  }

  Ring ring_;
};

/// Square matrices over a semiring, row-major, `size` rows known at run time. Over (min, +) the powers of a matrix of
/// edge lengths are shortest paths of so many steps; over (or, and) they are reachability.
template <unital_semiring Ring>
class matrices {
 public:
  using element = value_of<Ring>;
  using value_type = std::vector<element>;
  static constexpr ring_laws laws{
      .left_distributive = weakest({Ring::laws.left_distributive, addition_of<Ring>::laws.associative}),
      .right_distributive = weakest({Ring::laws.right_distributive, addition_of<Ring>::laws.associative}),
      .annihilating_zero = Ring::laws.annihilating_zero};

  explicit matrices(std::size_t size, Ring elements = {}) : ring_(std::move(elements)), size_(size) {}

  std::size_t size() const { return size_; }

  class multiplication_structure {
   public:
    using value_type = std::vector<element>;
    static constexpr operation_laws laws{
        .associative = weakest({addition_of<Ring>::laws.associative, multiplication_of<Ring>::laws.associative,
                                Ring::laws.left_distributive, Ring::laws.right_distributive}),
        .identity = weakest(
            {addition_of<Ring>::laws.identity, multiplication_of<Ring>::laws.identity, Ring::laws.annihilating_zero})};
    multiplication_structure(const Ring& ring, std::size_t size) : ring_(ring), size_(size) {}

    value_type combine(const value_type& a, const value_type& b) const {
      detail::require_size(a.size(), size_ * size_, "matrices: the left matrix");
      detail::require_size(b.size(), size_ * size_, "matrices: the right matrix");
      value_type result(size_ * size_, zero(ring_));
      for (std::size_t i = 0; i < size_; ++i)
        for (std::size_t k = 0; k < size_; ++k)
          for (std::size_t j = 0; j < size_; ++j)
            result[i * size_ + j] =
                add(ring_, result[i * size_ + j], multiply(ring_, a[i * size_ + k], b[k * size_ + j]));
      return result;
    }
    value_type identity() const {
      value_type result(size_ * size_, zero(ring_));
      for (std::size_t i = 0; i < size_; ++i) result[i * size_ + i] = one(ring_);
      return result;
    }

   private:
    Ring ring_;
    std::size_t size_;
  };

  pointwise<addition_of<Ring>> addition() const {
    return pointwise<addition_of<Ring>>(size_ * size_, ring_.addition());
  }
  multiplication_structure multiplication() const { return multiplication_structure(ring_, size_); }

 private:
  Ring ring_;
  std::size_t size_;
};

}  // namespace shoal::algebra
