// Affine maps x → ax + b: linear recurrences as scans.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <utility>

#include <shoal/algebra/ring.hpp>

namespace shoal::algebra {

/// x → slope·x + offset.
template <class Value>
struct affine_map {
  Value slope{};
  Value offset{};

  friend constexpr bool operator==(const affine_map&, const affine_map&) = default;
};

/// Affine maps over a semiring, one after the other: combine(f, g) is "f, then g", x → g(f(x)), so
/// (a₂, b₂)∘(a₁, b₁) = (a₂a₁, a₂b₁ + b₂). An inclusive scan of the maps x → aᵢx + bᵢ yields the maps from the start
/// of the recurrence xᵢ = aᵢxᵢ₋₁ + bᵢ to each of its terms. Does not commute.
template <unital_semiring Ring>
class affine_maps {
 public:
  using value_type = affine_map<value_of<Ring>>;
  static constexpr operation_laws laws{
      .associative = weakest({addition_of<Ring>::laws.associative, multiplication_of<Ring>::laws.associative,
                              Ring::laws.left_distributive}),
      .identity = weakest(
          {addition_of<Ring>::laws.identity, multiplication_of<Ring>::laws.identity, Ring::laws.annihilating_zero})};

  constexpr explicit affine_maps(Ring ring = {}) : ring_(std::move(ring)) {}

  constexpr value_type combine(const value_type& first, const value_type& then) const {
    return {multiply(ring_, then.slope, first.slope),
            add(ring_, multiply(ring_, then.slope, first.offset), then.offset)};
  }
  constexpr value_type identity() const { return {one(ring_), zero(ring_)}; }
  constexpr value_of<Ring> apply(const value_type& map, const value_of<Ring>& x) const {
    return add(ring_, multiply(ring_, map.slope, x), map.offset);
  }

  /// For f, g, h in this order: slopes to 8ε relative, offsets to 8ε(|c·b·offset f| + |c·offset g| + |offset h|) with
  /// b and c the slopes of g and h.
  bool close(const value_type& left, const value_type& right, operands_of<value_type> operands) const
      requires(field<Ring>&& std::floating_point<value_of<Ring>>) {
    using real = value_of<Ring>;
    real size = 0;
    for (const value_type& map : operands) size = std::abs(map.slope) * size + std::abs(map.offset);
    constexpr real bound = 8 * std::numeric_limits<real>::epsilon();
    return std::abs(left.slope - right.slope) <= bound * std::max(std::abs(left.slope), std::abs(right.slope)) &&
           std::abs(left.offset - right.offset) <= bound * size;
  }

 private:
  Ring ring_;
};

}  // namespace shoal::algebra
