// Trace monoids: words in which independent letters may swap, the histories of concurrent programs.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <shoal/algebra/group.hpp>
#include <shoal/core/error.hpp>

namespace shoal::algebra {

/// Words over char modulo ab = ba for independent a and b (Mazurkiewicz, Concurrent program schemes and their
/// interpretations, 1977). Values are words in lexicographic normal form: the least of all words that are the same
/// trace. Make one with `trace`.
class trace_monoid {
 public:
  using value_type = std::string;
  static constexpr operation_laws laws{.associative = law::exact, .identity = law::exact};

  /// Letters are dependent unless named here. Throws bad_argument for a letter independent of itself.
  explicit trace_monoid(std::vector<std::pair<char, char>> independent) : independent_(std::move(independent)) {
    for (const auto& [a, b] : independent_) {
      if (a == b) throw bad_argument(std::string("trace_monoid: the letter ") + a + " cannot be independent of itself");
    }
  }

  bool are_independent(char a, char b) const {
    for (const auto& [x, y] : independent_)
      if ((x == a && y == b) || (x == b && y == a)) return true;
    return false;
  }

  /// The normal form of a word: again and again the least letter that everything before it is independent of.
  std::string trace(std::string_view word) const {
    std::string rest(word), result;
    while (!rest.empty()) {
      std::size_t best = 0;
      for (std::size_t i = 1; i < rest.size(); ++i)
        if (rest[i] < rest[best] && comes_first(rest, i)) best = i;
      result += rest[best];
      rest.erase(best, 1);
    }
    return result;
  }

  std::string combine(const std::string& a, const std::string& b) const { return trace(a + b); }
  std::string identity() const { return {}; }

 private:
  bool comes_first(const std::string& word, std::size_t at) const {
    for (std::size_t i = 0; i < at; ++i)
      if (!are_independent(word[i], word[at])) return false;
    return true;
  }

  std::vector<std::pair<char, char>> independent_;
};

}  // namespace shoal::algebra
