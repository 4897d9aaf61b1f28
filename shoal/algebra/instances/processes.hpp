// Finite processes: choice, sequence and interleaving of actions, under two notions of equality.
#pragma once

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <shoal/algebra/ring.hpp>

namespace shoal::algebra {

struct process_step;

/// What a process can do next: end well, or take one of some steps. Neither is a deadlock. Steps are sorted and
/// distinct, all the way down, so that two processes are == exactly when they are bisimilar: whatever one can do, the
/// other can do and be bisimilar afterwards. Make values with `ended`, `deadlock`, `action` and the operations.
struct process {
  bool may_end = false;
  std::vector<process_step> steps;

  friend bool operator==(const process& a, const process& b);
  friend bool operator<(const process& a, const process& b);
};

/// One action, named by a letter, and what follows it.
struct process_step {
  char action = 0;
  process next;

  friend bool operator==(const process_step& a, const process_step& b) = default;
  friend bool operator<(const process_step& a, const process_step& b) {
    return a.action != b.action ? a.action < b.action : a.next < b.next;
  }
};

inline bool operator==(const process& a, const process& b) { return a.may_end == b.may_end && a.steps == b.steps; }
inline bool operator<(const process& a, const process& b) {
  return a.may_end != b.may_end ? a.may_end < b.may_end : a.steps < b.steps;
}

/// Does nothing and ends well: 1.
inline process ended() { return {true, {}}; }
/// Does nothing and does not end: 0.
inline process deadlock() { return {}; }
/// Does one thing and ends well.
inline process action(char name) { return {false, {{name, ended()}}}; }

/// Does what either would.
inline process choose(const process& a, const process& b) {
  process result{a.may_end || b.may_end, {}};
  std::set_union(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(), std::back_inserter(result.steps));
  return result;
}

namespace detail {
inline void normalise(process& value) {
  std::sort(value.steps.begin(), value.steps.end());
  value.steps.erase(std::unique(value.steps.begin(), value.steps.end()), value.steps.end());
}
}  // namespace detail

/// Does `a`, then `b`.
inline process sequence(const process& a, const process& b) {
  process result;
  for (const process_step& step : a.steps) result.steps.push_back({step.action, sequence(step.next, b)});
  detail::normalise(result);
  return a.may_end ? choose(result, b) : result;
}

/// Does both, their actions interleaved in any way.
inline process interleave(const process& a, const process& b) {
  process result{a.may_end && b.may_end, {}};
  for (const process_step& step : a.steps) result.steps.push_back({step.action, interleave(step.next, b)});
  for (const process_step& step : b.steps) result.steps.push_back({step.action, interleave(a, step.next)});
  detail::normalise(result);
  return result;
}

/// Every sequence of actions after which the process may end well.
inline std::set<std::string> execution_paths(const process& value) {
  std::set<std::string> paths;
  if (value.may_end) paths.insert("");
  for (const process_step& step : value.steps)
    for (const std::string& rest : execution_paths(step.next)) paths.insert(step.action + rest);
  return paths;
}

/// When two processes count as the same.
enum class process_equality : unsigned char {
  execution_paths,  ///< they can do the same sequences of actions to the end
  bisimulation      ///< they also offer the same choices at the same moments
};

namespace detail {
template <process_equality Equality>
struct process_set {
  using value_type = process;
  bool equal(const process& a, const process& b) const {
    if constexpr (Equality == process_equality::bisimulation) {
      return a == b;
    } else {
      return execution_paths(a) == execution_paths(b);
    }
  }
  std::string describe(const process& value) const {
    std::string text;
    if (value.may_end) text = "1";
    for (const process_step& step : value.steps) {
      if (!text.empty()) text += " + ";
      text += step.action;
      if (step.next != ended()) text += "(" + describe(step.next) + ")";
    }
    return text.empty() ? "0" : text;
  }
};
}  // namespace detail

/// Choice: a semilattice whose identity is deadlock.
template <process_equality Equality>
struct process_choice : detail::process_set<Equality> {
  static constexpr operation_laws laws{
      .associative = law::exact, .commutative = law::exact, .identity = law::exact, .idempotent = law::exact};
  process combine(const process& a, const process& b) const { return choose(a, b); }
  process identity() const { return deadlock(); }
};

/// Sequence: a monoid. (As nested calls (a; b); c and a; (b; c) differ, so the source calls it non-associative; the
/// actions that are carried out are the same.)
template <process_equality Equality>
struct process_sequence : detail::process_set<Equality> {
  static constexpr operation_laws laws{.associative = law::exact, .identity = law::exact};
  process combine(const process& a, const process& b) const { return sequence(a, b); }
  process identity() const { return ended(); }
};

/// Interleaving: a commutative monoid.
template <process_equality Equality>
struct process_interleaving : detail::process_set<Equality> {
  static constexpr operation_laws laws{.associative = law::exact, .commutative = law::exact, .identity = law::exact};
  process combine(const process& a, const process& b) const { return interleave(a, b); }
  process identity() const { return ended(); }
};

/// Choice and sequence. As sets of execution paths they form a unital semiring. Under bisimulation the moment of choice
/// counts: z(x + y) chooses after z, zx + zy before it, so only (x + y)z = xz + yz is left; and an action before a
/// deadlock is no longer nothing.
template <process_equality Equality>
struct process_algebra : detail::process_set<Equality> {
  static constexpr law by_paths = Equality == process_equality::execution_paths ? law::exact : law::unclaimed;
  static constexpr ring_laws laws{
      .left_distributive = by_paths, .right_distributive = law::exact, .annihilating_zero = by_paths};
  process_choice<Equality> addition() const { return {}; }
  process_sequence<Equality> multiplication() const { return {}; }
};

}  // namespace shoal::algebra
