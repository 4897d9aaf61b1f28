// What is inside a group that can be listed: orders, centre, conjugacy classes and subgroups.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include <shoal/algebra/group.hpp>

namespace shoal::algebra {

/// A group whose elements can be listed, and sorted by <.
template <class Structure>
concept finite_group = group<Structure> && finite<Structure> && std::totally_ordered<value_of<Structure>>;

/// The least k > 0 for which a·…·a, k times, is the identity.
template <finite_group Structure>
std::size_t element_order(const Structure& structure, const value_of<Structure>& a) {
  std::size_t order = 1;
  for (value_of<Structure> x = a; x != structure.identity(); x = combine(structure, x, a)) ++order;
  return order;
}

/// The least subgroup that holds the generators: everything that they and their products give. In a finite group
/// inverses are among the products.
template <finite_group Structure>
std::set<value_of<Structure>> generated_subgroup(const Structure& structure,
                                                 const std::vector<value_of<Structure>>& generators) {
  std::set<value_of<Structure>> found{structure.identity()};
  std::vector<value_of<Structure>> reached{structure.identity()};
  while (!reached.empty()) {
    const value_of<Structure> a = std::move(reached.back());
    reached.pop_back();
    for (const value_of<Structure>& generator : generators) {
      value_of<Structure> next = combine(structure, a, generator);
      if (found.insert(next).second) reached.push_back(std::move(next));
    }
  }
  return found;
}

/// What commutes with every element.
template <finite_group Structure>
std::set<value_of<Structure>> centre(const Structure& structure) {
  std::set<value_of<Structure>> found;
  const auto all = structure.elements();
  for (const auto& a : all) {
    if (std::all_of(all.begin(), all.end(),
                    [&](const auto& b) { return combine(structure, a, b) == combine(structure, b, a); })) {
      found.insert(a);
    }
  }
  return found;
}

/// The sets {g·a·g⁻¹}: elements that differ by the point of view only.
template <finite_group Structure>
std::set<std::set<value_of<Structure>>> conjugacy_classes(const Structure& structure) {
  std::set<std::set<value_of<Structure>>> classes;
  for (const auto& a : structure.elements()) {
    std::set<value_of<Structure>> conjugates;
    for (const auto& g : structure.elements()) {
      conjugates.insert(combine(structure, combine(structure, g, a), structure.inverse(g)));
    }
    classes.insert(std::move(conjugates));
  }
  return classes;
}

/// Every subgroup, the trivial one and the whole among them: subgroups of one generator, and what they and one more
/// generator give, until nothing is new. For groups of up to a few hundred elements.
template <finite_group Structure>
std::set<std::set<value_of<Structure>>> subgroups(const Structure& structure) {
  using subset = std::set<value_of<Structure>>;
  std::set<subset> found{generated_subgroup(structure, {})};
  std::vector<subset> reached{*found.begin()};
  const auto all = structure.elements();
  while (!reached.empty()) {
    const subset below = std::move(reached.back());
    reached.pop_back();
    for (const auto& a : all) {
      if (below.contains(a)) continue;
      std::vector<value_of<Structure>> generators(below.begin(), below.end());
      generators.push_back(a);
      subset next = generated_subgroup(structure, generators);
      if (found.insert(next).second) reached.push_back(std::move(next));
    }
  }
  return found;
}

}  // namespace shoal::algebra
