// Things that look like structures and are not.
#pragma once

#include <cstdint>

#include <shoal/algebra/algebra.hpp>

// An operation, but no declared laws.
struct undeclared {
  using value_type = int;
  int combine(int a, int b) const { return a + b; }
  int identity() const { return 0; }
};

// Laws, but no operation.
struct without_operation {
  using value_type = int;
  static constexpr shoal::algebra::operation_laws laws{.associative = shoal::algebra::law::exact,
                                                       .identity = shoal::algebra::law::exact};
  int identity() const { return 0; }
};

// A magma: nothing is said of its operation.
struct without_laws {
  using value_type = int;
  static constexpr shoal::algebra::operation_laws laws{};
  int combine(int a, int b) const { return a - b; }
  int identity() const { return 0; }
};

// A semigroup: associative, without an identity.
struct without_identity {
  using value_type = int;
  static constexpr shoal::algebra::operation_laws laws{.associative = shoal::algebra::law::exact};
  int combine(int a, int) const { return a; }
};

// Declares an identity, and has no function that gives it.
struct with_lost_identity {
  using value_type = int;
  static constexpr shoal::algebra::operation_laws laws{.associative = shoal::algebra::law::exact,
                                                       .identity = shoal::algebra::law::exact};
  int combine(int a, int b) const { return a + b; }
};

// Declares inverses, and has no function that gives them.
struct with_lost_inverse : with_lost_identity {
  static constexpr shoal::algebra::operation_laws laws{.associative = shoal::algebra::law::exact,
                                                       .identity = shoal::algebra::law::exact,
                                                       .inverse = shoal::algebra::law::exact};
  int identity() const { return 0; }
};

// uint16_t addition that lets the promoted int out.
struct promoting {
  using value_type = std::uint16_t;
  static constexpr shoal::algebra::operation_laws laws{.associative = shoal::algebra::law::exact,
                                                       .identity = shoal::algebra::law::exact};
  int combine(std::uint16_t a, std::uint16_t b) const { return a + b; }
  std::uint16_t identity() const { return 0; }
};

// Declares an approximate law and states no bound.
struct unbounded {
  using value_type = double;
  static constexpr shoal::algebra::operation_laws laws{.associative = shoal::algebra::law::approximate};
  double combine(double a, double b) const { return a + b; }
};
