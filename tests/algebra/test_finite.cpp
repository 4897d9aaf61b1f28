// Finite structures, checked exhaustively: the symmetries of a square, integers modulo 2ⁿ, truth values.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <shoal/algebra/algebra.hpp>

#include "property.hpp"

namespace {

using namespace shoal::algebra;
using enum square_symmetry;

static_assert(group<dihedral_4> && !commutative_monoid<dihedral_4> && !abelian_group<dihedral_4>);

TEST(Dihedral4, IsAGroupInAll512Triples) {
  const law_report report = check_group(dihedral_4{});
  EXPECT_TRUE(report.passed()) << report.message();
  // 512 triples, 64 closures, 16 identities, 16 inverses.
  EXPECT_EQ(report.comparisons, 512u + 64 + 16 + 16);
}

TEST(Dihedral4, HasTheInversesOfTheSquareAndNotThoseOfTheSource) {
  const dihedral_4 d4;
  EXPECT_EQ(d4.inverse(rotation_90), rotation_270);
  EXPECT_EQ(d4.inverse(rotation_270), rotation_90);
  for (const auto a : {rotation_0, rotation_180, reflection_vertical, reflection_descending, reflection_horizontal,
                       reflection_ascending})
    EXPECT_EQ(d4.inverse(a), a);
  // The published table has three wrong entries; the checker finds exactly those elements.
  struct source_table : dihedral_4 {
    square_symmetry inverse(square_symmetry a) const {
      if (a == rotation_180) return rotation_270;
      if (a == reflection_descending) return reflection_ascending;
      if (a == reflection_ascending) return reflection_descending;
      return dihedral_4::inverse(a);
    }
  };
  const law_report report = check_group(source_table{});
  ASSERT_TRUE(report.failed("left inverse"));
  EXPECT_EQ(report.failure_of("left inverse")->count, 3u);
  EXPECT_EQ(report.failure_of("right inverse")->elements, (std::vector<std::size_t>{2}));
}

TEST(Dihedral4, HasElementOrdersCentreClassesAndSubgroupsOfD4) {
  const dihedral_4 d4;
  std::map<std::size_t, int> orders;
  for (const auto a : d4.elements()) ++orders[element_order(d4, a)];
  EXPECT_EQ(orders, (std::map<std::size_t, int>{{1, 1}, {2, 5}, {4, 2}}));
  EXPECT_EQ(centre(d4), (std::set{rotation_0, rotation_180}));
  EXPECT_EQ(conjugacy_classes(d4).size(), 5u);
  // One of order 1, five of order 2, the rotations and two of Klein's four-groups of order 4, and the whole.
  std::map<std::size_t, int> sizes;
  for (const auto& subgroup : subgroups(d4)) ++sizes[subgroup.size()];
  EXPECT_EQ(sizes, (std::map<std::size_t, int>{{1, 1}, {2, 5}, {4, 3}, {8, 1}}));
  EXPECT_EQ(generated_subgroup(d4, {rotation_90}).size(), 4u);
}

TEST(Dihedral4, DoesNotCommute) {
  constexpr operation_laws claimed{
      .associative = law::exact, .commutative = law::exact, .identity = law::exact, .inverse = law::exact};
  const law_report report = check_abelian_group(declare<claimed>(dihedral_4{}));
  ASSERT_EQ(report.failures.size(), 1u);
  EXPECT_TRUE(report.failed("commutativity"));
}

// A symmetry as the matrix that it is, for an independent multiplication table.
using matrix = std::array<int, 4>;
matrix matrix_of(square_symmetry a) {
  switch (a) {
    case rotation_0:
      return {1, 0, 0, 1};
    case rotation_90:
      return {0, -1, 1, 0};
    case rotation_180:
      return {-1, 0, 0, -1};
    case rotation_270:
      return {0, 1, -1, 0};
    case reflection_vertical:
      return {-1, 0, 0, 1};  // x → −x
    case reflection_descending:
      return {0, -1, -1, 0};  // (x, y) → (−y, −x)
    case reflection_horizontal:
      return {1, 0, 0, -1};  // y → −y
    case reflection_ascending:
      return {0, 1, 1, 0};  // (x, y) → (y, x)
  }
  return {};
}

TEST(Dihedral4, MultipliesAsItsMatricesDo) {
  const dihedral_4 d4;
  for (const auto a : d4.elements()) {
    for (const auto b : d4.elements()) {
      const matrix m = matrix_of(a), n = matrix_of(b);
      const matrix product{m[0] * n[0] + m[1] * n[2], m[0] * n[1] + m[1] * n[3], m[2] * n[0] + m[3] * n[2],
                           m[2] * n[1] + m[3] * n[3]};
      EXPECT_EQ(matrix_of(d4.combine(a, b)), product) << static_cast<int>(a) << " " << static_cast<int>(b);
    }
  }
}

template <unsigned Bits>
void expect_ring_and_units() {
  using ring_type = integers<std::uint8_t, Bits>;
  static_assert(commutative_ring_with_unity<ring_type>);
  static_assert(field<ring_type> == (Bits == 1));
  const ring_type ring;
  const law_report report = check_commutative_ring_with_unity(ring);
  EXPECT_TRUE(report.passed()) << report.message();
  std::size_t units = 0;
  for (const std::uint8_t a : ring.elements()) {
    bool found = false;
    for (const std::uint8_t b : ring.elements()) found = found || multiply(ring, a, b) == one(ring);
    EXPECT_EQ(found, ring.is_unit(a));
    if (!found) continue;
    ++units;
    EXPECT_EQ(multiply(ring, a, ring.unit_inverse(a)), one(ring)) << int{a};
  }
  EXPECT_EQ(units, std::size_t{1} << (Bits - 1));
}

TEST(Integers, AreARingWithHalfItsElementsUnits) {
  expect_ring_and_units<1>();
  expect_ring_and_units<2>();
  expect_ring_and_units<3>();
  expect_ring_and_units<4>();
  expect_ring_and_units<5>();
}

struct false_field : integers<std::uint8_t, 3> {
  static constexpr ring_laws laws{law::exact, law::exact, law::exact, law::exact};
  std::uint8_t reciprocal(std::uint8_t a) const { return is_unit(a) ? unit_inverse(a) : 1; }
};

TEST(Integers, AreAFieldForOneBitOnly) {
  EXPECT_TRUE(check_field(integers<std::uint8_t, 1>{}));
  const law_report report = check_field(false_field{});
  ASSERT_EQ(report.failures.size(), 1u);
  ASSERT_TRUE(report.failed("reciprocal"));
  EXPECT_EQ(report.failures[0].count, 2u * 3);  // 2, 4 and 6, from both sides
  EXPECT_EQ(report.failures[0].elements, (std::vector<std::size_t>{2}));
}

struct with_inverse : conjunction {
  static constexpr operation_laws laws{law::exact, law::exact, law::exact, law::exact};
  bool inverse(bool a) const { return a; }
};

TEST(Integers, ZeroNeedsNoReciprocal) {
  // In a division ring 0 has no inverse; asking for a multiplicative group on the whole set fails.
  EXPECT_TRUE(check_group(with_inverse{}).failed("left inverse"));
  EXPECT_TRUE(check_field(boolean_field{}));
}

TEST(Integers, MultiplyWithoutOverflowingThePromotedType) {
  const integers<std::uint16_t> ring;
  EXPECT_EQ(multiply(ring, std::uint16_t{65535}, std::uint16_t{65535}), 1);           // (−1)² = 1 modulo 2¹⁶
  static_assert(integer_multiplication<std::uint16_t>{}.combine(65535, 65535) == 1);  // undefined would not compile
  static_assert(integer_multiplication<std::uint8_t>{}.combine(255, 255) == 1);
  static_assert(integer_addition<std::int32_t>{}.combine(2147483647, 1) == -2147483647 - 1);
  static_assert(integer_multiplication<std::int64_t>{}.combine(INT64_MIN, -1) == INT64_MIN);
  static_assert(integer_addition<std::int8_t>{}.inverse(-128) == -128);
}

struct promoting {
  using value_type = std::uint16_t;
  static constexpr operation_laws laws{.associative = law::exact};
  auto combine(std::uint16_t a, std::uint16_t b) const { return a + b; }
};

TEST(Integers, ClosureMeansTheVeryType) { static_assert(!magma<promoting>); }

template <class Integer>
void expect_commutative_ring() {
  expect_property("commutative ring with unity", [](Integer a, Integer b, Integer c) {
    RC_ASSERT(check_commutative_ring_with_unity(integers<Integer>{}, std::vector<Integer>{a, b, c}));
  });
  const std::vector<Integer> extremes{
      0, 1, static_cast<Integer>(-1), std::numeric_limits<Integer>::max(), std::numeric_limits<Integer>::min(), 3};
  EXPECT_TRUE(check_commutative_ring_with_unity(integers<Integer>{}, extremes));
  const integers<Integer> ring;
  for (int i = -101; i < 101; i += 2) {
    const Integer odd = static_cast<Integer>(i);
    EXPECT_EQ(multiply(ring, odd, ring.unit_inverse(odd)), 1);
  }
}

TEST(Integers, OfEveryWidthAreACommutativeRing) {
  expect_commutative_ring<std::uint8_t>();
  expect_commutative_ring<std::int8_t>();
  expect_commutative_ring<std::uint16_t>();
  expect_commutative_ring<std::int16_t>();
  expect_commutative_ring<std::uint32_t>();
  expect_commutative_ring<std::int32_t>();
  expect_commutative_ring<std::uint64_t>();
  expect_commutative_ring<std::int64_t>();
  EXPECT_THROW(integers<std::uint32_t>{}.unit_inverse(6), shoal::bad_argument);
}

TEST(Booleans, FormSemilatticesASemiringAndAField) {
  EXPECT_TRUE(check_declared(disjunction{}));
  EXPECT_TRUE(check_declared(conjunction{}));
  EXPECT_TRUE(check_abelian_group(exclusive_or{}));
  EXPECT_TRUE(check_unital_semiring(boolean_semiring{}));
  static_assert(!ring<boolean_semiring>);
  static_assert(field<boolean_field>);
}

}  // namespace
