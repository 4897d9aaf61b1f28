// The law checker for structures with two operations.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <ranges>
#include <string>

#include <shoal/algebra/group_laws.hpp>
#include <shoal/algebra/ring.hpp>

namespace shoal::algebra {

namespace detail {

struct wanted_ring_laws {
  wanted_laws addition = {};
  wanted_laws multiplication = {};
  bool left_distributive = false;
  bool right_distributive = false;
  bool annihilating_zero = false;
  bool reciprocal = false;
};

// Tries the laws that tie two operations together.
template <two_operations Ring, class Samples>
class ring_checker {
 public:
  using value_type = value_of<Ring>;

  ring_checker(const Ring& ring, const Samples& samples, law_report& report)
      : ring_(ring),
        samples_(samples),
        count_(static_cast<std::size_t>(std::ranges::size(samples))),
        recorder_(report, "") {}

  void check(const wanted_ring_laws& wanted) {
    if constexpr (monoid<addition_of<Ring>>) {
      if (wanted.annihilating_zero) check_zero();
    }
    if constexpr (division_ring<Ring>) {
      if (wanted.reciprocal) check_reciprocal();
    }
    for (std::size_t i = 0; i < count_; ++i)
      for (std::size_t j = 0; j < count_; ++j)
        for (std::size_t k = 0; k < count_; ++k) check_distributivity(wanted, i, j, k);
  }

 private:
  std::string text(const value_type& value) const { return describe(ring_, value); }

  bool agree(law level, const value_type& left, const value_type& right,
             std::initializer_list<const value_type*> operands) const {
    if (equal(ring_.addition(), left, right)) return true;
    if (level != law::approximate) return false;
    const auto list = references(operands);
    const operands_of<value_type> view(list);
    if constexpr (requires { ring_.close(left, right, view); }) {
      return ring_.close(left, right, view);
    } else {
      static_assert(!any_approximate(Ring::laws),
                    "a ring that declares an approximate law states its bound: give it "
                    "`bool close(left, right, operands) const`, or wrap it in with_closeness");
      return false;
    }
  }

  void check_zero() {
    const law level = Ring::laws.annihilating_zero;
    const value_type nought = zero(ring_);
    for (std::size_t i = 0; i < count_; ++i) {
      const value_type& a = samples_[i];
      const value_type before = multiply(ring_, nought, a);
      const value_type after = multiply(ring_, a, nought);
      for (const value_type* side : {&before, &after}) {
        recorder_.expect(agree(level, *side, nought, {&a}), side == &before ? "left zero" : "right zero", level, {i},
                         [&] {
                           return (side == &before ? "0·a is not 0" : "a·0 is not 0") +
                                  describe_element(" for a", i, text(a)) + describe_sides(text(*side), text(nought));
                         });
      }
    }
  }

  void check_reciprocal() {
    const law level = Ring::laws.reciprocal;
    const value_type nought = zero(ring_), unity = one(ring_);
    recorder_.expect(!equal(ring_.addition(), nought, unity), "zero differs from one", law::exact, {},
                     [&] { return std::string("0 is 1"); });
    for (std::size_t i = 0; i < count_; ++i) {
      const value_type& a = samples_[i];
      if (equal(ring_.addition(), a, nought)) continue;
      const value_type opposite = ring_.reciprocal(a);
      const value_type before = multiply(ring_, opposite, a);
      const value_type after = multiply(ring_, a, opposite);
      for (const value_type* side : {&before, &after}) {
        recorder_.expect(agree(level, *side, unity, {&a}), "reciprocal", level, {i}, [&] {
          return "a times its reciprocal is not 1" + describe_element(" for a", i, text(a)) +
                 describe_sides(text(*side), text(unity));
        });
      }
    }
  }

  void check_distributivity(const wanted_ring_laws& wanted, std::size_t i, std::size_t j, std::size_t k) {
    const value_type& x = samples_[i];
    const value_type& y = samples_[j];
    const value_type& z = samples_[k];
    const value_type sum = add(ring_, x, y);
    const auto elements = [&] {
      return describe_element(" for x", i, text(x)) + describe_element(", y", j, text(y)) +
             describe_element(", z", k, text(z));
    };
    if (wanted.left_distributive) {
      const law level = Ring::laws.left_distributive;
      const value_type left = multiply(ring_, z, sum);
      const value_type right = add(ring_, multiply(ring_, z, x), multiply(ring_, z, y));
      recorder_.expect(agree(level, left, right, {&z, &x, &y}), "left distributivity", level, {i, j, k}, [&] {
        return "z(x + y) is not zx + zy" + elements() + describe_sides(text(left), text(right));
      });
    }
    if (wanted.right_distributive) {
      const law level = Ring::laws.right_distributive;
      const value_type left = multiply(ring_, sum, z);
      const value_type right = add(ring_, multiply(ring_, x, z), multiply(ring_, y, z));
      recorder_.expect(agree(level, left, right, {&z, &x, &y}), "right distributivity", level, {i, j, k}, [&] {
        return "(x + y)z is not xz + yz" + elements() + describe_sides(text(left), text(right));
      });
    }
  }

  const Ring& ring_;
  const Samples& samples_;
  std::size_t count_;
  law_recorder recorder_;
};

template <two_operations Ring, class... Samples>
law_report check_ring_laws(const Ring& ring, const wanted_ring_laws& wanted, const Samples&... samples) {
  law_report report;
  with_samples(
      ring,
      [&](const auto& elements, bool exhaustive) {
        const auto addition = ring.addition();
        const auto multiplication = ring.multiplication();
        operation_checker(addition, elements, report, "addition: ").check(wanted.addition, exhaustive);
        operation_checker(multiplication, elements, report, "multiplication: ")
            .check(wanted.multiplication, exhaustive);
        ring_checker(ring, elements, report).check(wanted);
      },
      samples...);
  return report;
}

}  // namespace detail

template <near_ringoid Ring, class... Samples>
law_report check_near_ringoid(const Ring& ring, const Samples&... samples) {
  return detail::check_ring_laws(ring, {.right_distributive = true}, samples...);
}
template <ringoid Ring, class... Samples>
law_report check_ringoid(const Ring& ring, const Samples&... samples) {
  return detail::check_ring_laws(ring, {.left_distributive = true, .right_distributive = true}, samples...);
}
template <semiring Ring, class... Samples>
law_report check_semiring(const Ring& ring, const Samples&... samples) {
  return detail::check_ring_laws(ring,
                                 {.addition = {.associative = true, .commutative = true},
                                  .multiplication = {.associative = true},
                                  .left_distributive = true,
                                  .right_distributive = true},
                                 samples...);
}
template <unital_semiring Ring, class... Samples>
law_report check_unital_semiring(const Ring& ring, const Samples&... samples) {
  return detail::check_ring_laws(ring,
                                 {.addition = {.associative = true, .commutative = true, .identity = true},
                                  .multiplication = {.associative = true, .identity = true},
                                  .left_distributive = true,
                                  .right_distributive = true,
                                  .annihilating_zero = true},
                                 samples...);
}

namespace detail {
constexpr wanted_ring_laws ring_laws_wanted(bool unity, bool division, bool commutative) {
  return {.addition = {.associative = true, .commutative = true, .identity = true, .inverse = true},
          .multiplication = {.associative = true, .commutative = commutative, .identity = unity},
          .left_distributive = true,
          .right_distributive = true,
          .annihilating_zero = unity,
          .reciprocal = division};
}
}  // namespace detail

template <ring Ring, class... Samples>
law_report check_ring(const Ring& structure, const Samples&... samples) {
  return detail::check_ring_laws(structure, detail::ring_laws_wanted(false, false, false), samples...);
}
template <ring_with_unity Ring, class... Samples>
law_report check_ring_with_unity(const Ring& ring, const Samples&... samples) {
  return detail::check_ring_laws(ring, detail::ring_laws_wanted(true, false, false), samples...);
}
template <commutative_ring_with_unity Ring, class... Samples>
law_report check_commutative_ring_with_unity(const Ring& ring, const Samples&... samples) {
  return detail::check_ring_laws(ring, detail::ring_laws_wanted(true, false, true), samples...);
}
template <division_ring Ring, class... Samples>
law_report check_division_ring(const Ring& ring, const Samples&... samples) {
  return detail::check_ring_laws(ring, detail::ring_laws_wanted(true, true, false), samples...);
}
template <field Ring, class... Samples>
law_report check_field(const Ring& structure, const Samples&... samples) {
  return detail::check_ring_laws(structure, detail::ring_laws_wanted(true, true, true), samples...);
}

}  // namespace shoal::algebra
