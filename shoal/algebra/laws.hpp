// The law checker: whether a structure keeps the laws that it declares.
//
// There is one check for each concept; it tries the laws of that concept and of all that it refines, on every pair or
// triple of the elements given:
//
//   law_report report = check_commutative_monoid(structure, samples);
//   EXPECT_TRUE(report.passed()) << report.message();
//
// `samples` is any random-access range of values. n samples make n³ triples, so 5 to 30 of them are the usual number;
// put the identity, equal values and extremes among them. A structure that lists its elements (`elements()`) is checked
// exhaustively, closure included, when no samples are given: check_group(dihedral_4{}). Random values come from a
// generator of your own, `check_monoid(structure, draw(20, generator))`; inside a property test, pass the few values
// that the property is given, and a failure shrinks.
//
// A law declared exact is judged by the structure's equality: `equal(a, b)` if it has one, == otherwise. A law declared
// approximate is judged by `bool close(left, right, operands)`, where the structure states its rounding bound;
// `operands` holds the elements the law was tried on, for the bound to grow with. Values that know no bound of their
// own, such as the large statistics of an estimator, are given one from outside, as are declarations:
//
//   constexpr operation_laws declared{.associative = law::approximate, .commutative = law::approximate,
//                                     .identity = law::exact};
//   auto structure = with_closeness(declare<declared>(statistics_monoid), [](const value& left, const value& right) {
//     return relative_difference(left, right) < 1e-12; });
//   EXPECT_TRUE(check_commutative_monoid(structure, samples));
//
// A statistic without == also needs with_equality. A failure names the law, the places of the elements in the samples
// and, where values can be written (numbers, strings, tuples, ranges, or the structure's `describe(value)`), the
// elements and both sides.
#pragma once

#include <shoal/algebra/group_laws.hpp>
#include <shoal/algebra/law_report.hpp>
#include <shoal/algebra/module_laws.hpp>
#include <shoal/algebra/ring_laws.hpp>
