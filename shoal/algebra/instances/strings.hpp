// Strings under concatenation: the free monoid, which does not commute.
#pragma once

#include <string>

#include <shoal/algebra/group.hpp>

namespace shoal::algebra {

struct concatenation {
  using value_type = std::string;
  static constexpr operation_laws laws{.associative = law::exact, .identity = law::exact};

  void combine_into(std::string& into, const std::string& from) const { into += from; }
  std::string identity() const { return {}; }
};

}  // namespace shoal::algebra
