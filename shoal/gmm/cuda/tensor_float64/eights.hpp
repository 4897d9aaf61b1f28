// Which kernel for how many columns: tiles are eight columns wide.
#pragma once

#include <type_traits>

namespace shoal::gmm::tensor_float64 {

/// Calls use(eights of columns that rows in registers have) as a constant; steps of 16 columns beyond 64.
template <class Use>
void with_eights(unsigned columns, const Use& use) {
  switch (columns <= 64 ? (columns + 7) / 8 : (columns + 15) / 16 * 2) {
    case 0:
    case 1:
    case 2:
      return use(std::integral_constant<int, 2>());
    case 3:
      return use(std::integral_constant<int, 3>());
    case 4:
      return use(std::integral_constant<int, 4>());
    case 5:
      return use(std::integral_constant<int, 5>());
    case 6:
      return use(std::integral_constant<int, 6>());
    case 7:
      return use(std::integral_constant<int, 7>());
    case 8:
      return use(std::integral_constant<int, 8>());
    case 10:
      return use(std::integral_constant<int, 10>());
    case 12:
      return use(std::integral_constant<int, 12>());
    case 14:
      return use(std::integral_constant<int, 14>());
    default:
      return use(std::integral_constant<int, 16>());
  }
}

}  // namespace shoal::gmm::tensor_float64
