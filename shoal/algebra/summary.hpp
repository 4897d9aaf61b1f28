// Count, mean and variance of anything that can be added and divided.
#pragma once

#include <cstdint>
#include <ranges>

#include <shoal/algebra/module.hpp>
#include <shoal/algebra/reduce.hpp>
#include <shoal/algebra/ring.hpp>
#include <shoal/core/error.hpp>

namespace shoal::algebra {

/// How many there are, as an element of the ring: 1 + 1 + …, so modulo whatever the ring is modulo.
template <ring_with_unity Ring, std::ranges::forward_range Values>
value_of<Ring> count(const Ring& ring, const Values& values) {
  return power(ring.addition(), one(ring), static_cast<std::uint64_t>(std::ranges::distance(values)));
}

/// The sum over the count. Throws bad_argument for an empty range.
template <division_ring Ring, std::ranges::forward_range Values>
value_of<Ring> mean(const Ring& ring, const Values& values) {
  if (std::ranges::empty(values)) throw bad_argument("mean of an empty range");
  return multiply(ring, ring.reciprocal(count(ring, values)), reduce(ring.addition(), values));
}

/// The mean square of what is left when the mean is taken away (population variance), in two passes. Throws
/// bad_argument for an empty range.
template <division_ring Ring, std::ranges::forward_range Values>
value_of<Ring> variance(const Ring& ring, const Values& values) {
  const value_of<Ring> average = mean(ring, values);
  const auto squares = std::views::transform(values, [&](const value_of<Ring>& x) {
    const value_of<Ring> deviation = subtract(ring, x, average);
    return multiply(ring, deviation, deviation);
  });
  return multiply(ring, ring.reciprocal(count(ring, values)), reduce(ring.addition(), squares));
}

/// The mean of vectors, in a vector space. Throws bad_argument for an empty range.
template <vector_space Space, std::ranges::forward_range Values>
vector_value<Space> mean(const Space& space, const Values& vectors) {
  if (std::ranges::empty(vectors)) throw bad_argument("mean of an empty range");
  const auto scalars = space.scalars();
  return space.scale(scalars.reciprocal(count(scalars, vectors)), reduce(space.vectors(), vectors));
}

}  // namespace shoal::algebra
