// Syntactic monoids: the least monoid that recognises a regular language.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <shoal/algebra/group.hpp>
#include <shoal/core/error.hpp>

namespace shoal::algebra {

/// A complete deterministic automaton: `next[state][letter]` with letters numbered by their place in `alphabet`.
struct automaton {
  std::string alphabet;
  std::vector<std::vector<std::size_t>> next;
  std::size_t start = 0;
  std::vector<bool> accepting;
};

/// The syntactic monoid of the automaton's language: what words do to the states of its least automaton. A value lists
/// where each state goes. Two words have the same value exactly when the language cannot tell them apart in any
/// context.
class syntactic_monoid {
 public:
  using value_type = std::vector<std::size_t>;
  static constexpr operation_laws laws{.associative = law::exact, .identity = law::exact};

  /// Throws bad_argument for an automaton that is not complete, or whose monoid has more than `most_elements` elements
  /// (n states can make nⁿ).
  explicit syntactic_monoid(const automaton& machine, std::size_t most_elements = 100000)
      : alphabet_(machine.alphabet) {
    require_complete(machine);
    minimise(machine);
    std::set<value_type> seen{identity()};
    elements_.push_back(identity());
    for (std::size_t done = 0; done < elements_.size(); ++done) {
      for (const value_type& letter : letters_) {
        value_type next = combine(elements_[done], letter);
        if (!seen.insert(next).second) continue;
        if (elements_.size() == most_elements) {
          throw bad_argument("syntactic_monoid: more than " + std::to_string(most_elements) +
                             " elements; raise most_elements or give a smaller automaton");
        }
        elements_.push_back(std::move(next));
      }
    }
  }

  /// States of the least automaton.
  std::size_t states() const { return accepting_.size(); }
  const std::vector<value_type>& elements() const { return elements_; }

  value_type identity() const {
    value_type result(states());
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = i;
    return result;
  }
  /// What word a, then word b does.
  value_type combine(const value_type& a, const value_type& b) const {
    value_type result(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) result[i] = b[a[i]];
    return result;
  }
  /// The value of a word. Throws bad_argument for a letter outside the alphabet.
  value_type of(std::string_view word) const {
    value_type result = identity();
    for (const char letter : word) {
      const std::size_t place = alphabet_.find(letter);
      if (place == std::string::npos) {
        throw bad_argument(std::string("syntactic_monoid: the letter ") + letter + " is not in the alphabet " +
                           alphabet_);
      }
      result = combine(result, letters_[place]);
    }
    return result;
  }
  /// Whether words of this value belong to the language.
  bool accepts(const value_type& value) const { return accepting_[value[start_]]; }

 private:
  static void require_complete(const automaton& machine) {
    const std::size_t states = machine.next.size();
    bool complete = states > 0 && machine.start < states && machine.accepting.size() == states;
    for (const auto& row : machine.next) {
      complete = complete && row.size() == machine.alphabet.size();
      for (const std::size_t target : row) complete = complete && target < states;
    }
    if (!complete) {
      throw bad_argument(
          "syntactic_monoid: the automaton must have a start state, one accepting mark for each state, and one next "
          "state for each state and letter");
    }
  }

  // Moore's partition refinement on the states that can be reached.
  void minimise(const automaton& machine) {
    std::vector<std::size_t> reached{machine.start};
    std::set<std::size_t> seen{machine.start};
    for (std::size_t i = 0; i < reached.size(); ++i)
      for (const std::size_t target : std::vector<std::size_t>(machine.next[reached[i]]))
        if (seen.insert(target).second) reached.push_back(target);

    std::vector<std::size_t> block(machine.next.size());
    for (const std::size_t state : reached) block[state] = machine.accepting[state] ? 1 : 0;
    std::size_t blocks = 0;
    for (;;) {
      std::map<std::vector<std::size_t>, std::size_t> numbering;
      std::vector<std::size_t> refined(block.size());
      for (const std::size_t state : reached) {
        std::vector<std::size_t> signature{block[state]};
        for (const std::size_t target : machine.next[state]) signature.push_back(block[target]);
        refined[state] = numbering.try_emplace(std::move(signature), numbering.size()).first->second;
      }
      block = std::move(refined);
      if (numbering.size() == blocks) break;
      blocks = numbering.size();
    }

    start_ = block[machine.start];
    accepting_.assign(blocks, false);
    letters_.assign(alphabet_.size(), value_type(blocks));
    for (const std::size_t state : reached) {
      accepting_[block[state]] = machine.accepting[state];
      for (std::size_t letter = 0; letter < alphabet_.size(); ++letter)
        letters_[letter][block[state]] = block[machine.next[state][letter]];
    }
  }

  std::string alphabet_;
  std::size_t start_ = 0;
  std::vector<bool> accepting_;
  std::vector<value_type> letters_;
  std::vector<value_type> elements_;
};

}  // namespace shoal::algebra
