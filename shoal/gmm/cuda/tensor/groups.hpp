// The choice among kernels that are compiled for several numbers of groups of columns, and of products.
#pragma once

#include <utility>

namespace shoal::gmm::tensor {

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

}  // namespace shoal::gmm::tensor
