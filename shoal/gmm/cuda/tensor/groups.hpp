// The numbers of groups of columns that the kernels for many columns are compiled for, and the choice among them.
#pragma once

#include <utility>

namespace shoal::gmm::large {

/// One warp a component in the moments, and a team of warps.
using warp_groups = std::integer_sequence<int, 2, 3, 4, 5, 6, 7, 8>;
using team_groups = std::integer_sequence<int, 12, 16>;

/// Steps of columns of the kernels for diagonal and spherical mixtures.
using diagonal_steps = std::integer_sequence<int, 1, 2, 4, 6, 8>;

/// Calls call(std::integral_constant<int, Groups>()) for the one of the list that is `groups`.
template <class Call, int... Groups>
void with_compiled_groups(std::integer_sequence<int, Groups...>, int groups, const Call& call) {
  ((groups == Groups ? call(std::integral_constant<int, Groups>()) : void()), ...);
}

/// The same for the products that a number of float32 grade is made of (3) and for one product of its first terms.
template <class Call>
void with_compiled_products(int products, const Call& call) {
  if (products == 3) return call(std::integral_constant<int, 3>());
  call(std::integral_constant<int, 1>());
}

}  // namespace shoal::gmm::large
