#include <shoal/geometry/sponge_counts.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

namespace shoal::geometry {
namespace {

// 27²⁰ has 96 bits.
__extension__ using wide = unsigned __int128;

wide power(wide base, unsigned exponent) {
  wide value = 1;
  for (; exponent > 0; --exponent) value *= base;
  return value;
}

std::string decimal(wide value) {
  std::string digits;
  do {
    digits += static_cast<char>('0' + static_cast<int>(value % 10));
    value /= 10;
  } while (value != 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

// Denominators are powers of three, so that threes are all that can be cancelled.
exact_fraction fraction(wide numerator, wide denominator) {
  while (denominator % 3 == 0 && numerator % 3 == 0) {
    numerator /= 3;
    denominator /= 3;
  }
  return {decimal(numerator), decimal(denominator), static_cast<double>(numerator) / static_cast<double>(denominator)};
}

wide faces_of(unsigned order) { return 2 * power(20, order) + 4 * power(8, order); }

wide genus_of(unsigned order) { return (21 * power(20, order) + 38 * power(8, order) - 59) / 133; }

// In this order: V + 2g stays positive throughout.
wide vertices_of(unsigned order) { return faces_of(order) + 2 - 2 * genus_of(order); }

}  // namespace

sponge_counts count_sponge(unsigned order) {
  if (order > most_counted_order) {
    throw bad_argument(fmt::format("order must be at most {} for exact counts; got {}", most_counted_order, order));
  }
  const wide faces = faces_of(order);
  return {.cubes = decimal(power(20, order)),
          .faces = decimal(faces),
          .vertices = decimal(vertices_of(order)),
          .edges = decimal(2 * faces),
          .genus = decimal(genus_of(order)),
          .area = fraction(faces, power(9, order)),
          .volume = fraction(power(20, order), power(27, order))};
}

surface_size size_of_surface(unsigned order) {
  constexpr unsigned most = 13;
  if (order > most) {
    throw bad_argument(fmt::format("order {} has {} faces, which no mesh can hold; the order must be at most {}", order,
                                   order <= most_counted_order ? count_sponge(order).faces : "more than 10^27", most));
  }
  return {static_cast<std::uint64_t>(faces_of(order)), static_cast<std::uint64_t>(vertices_of(order))};
}

}  // namespace shoal::geometry
