// What every scheme offers to the loop over time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <shoal/reaction_diffusion/state.hpp>

namespace shoal::reaction_diffusion {

/// What restore() throws: no memory() gives these words.
struct foreign_memory {};

/// A word that counts something. Throws foreign_memory for others.
inline std::size_t count_in(double word) {
  if (!(word >= 0 && word <= 0x1p53 && word == std::floor(word))) throw foreign_memory();
  return static_cast<std::size_t>(word);
}

/// Throws foreign_memory unless there are so many words, all finite.
inline void expect_words(const std::vector<double>& kept, std::size_t count) {
  if (kept.size() != count) throw foreign_memory();
  for (const double word : kept) {
    if (!std::isfinite(word)) throw foreign_memory();
  }
}

template <class Scalar>
class stepper {
 public:
  virtual ~stepper() = default;

  /// Takes at most `most` steps towards `over.end`, and never past it. `now.time` is exactly that when it is reached.
  /// Returns how many steps were taken.
  virtual std::size_t advance(state<Scalar>& now, const span& over, std::size_t most) = 0;

  /// Steps between two looks at the clock and at the stop token.
  virtual std::size_t steps_between_looks(std::size_t nodes, bool is_explicit) const {
    // An implicit step of a node counts for sixteen.
    constexpr std::size_t explicit_nodes = std::size_t{1} << 22;
    return is_explicit ? std::max<std::size_t>(32, explicit_nodes / nodes)
                       : std::max<std::size_t>(1, explicit_nodes / 16 / nodes);
  }

  /// Brings v and w of `now`, or what stands in for them, up to date, where advance() keeps them elsewhere.
  virtual void collect(state<Scalar>&) {}

  /// What a resumed run must know beside the state. restore() throws foreign_memory for what memory() never gives.
  virtual std::vector<double> memory() const { return {}; }
  virtual void restore(const std::vector<double>& kept) { expect_words(kept, 0); }

  virtual double mean_nodes() const { return 0; }
  virtual std::vector<std::size_t> nodes_in_use() const { return {}; }
  virtual std::size_t refused_steps() const { return 0; }
  virtual std::size_t newton_iterations() const { return 0; }
};

}  // namespace shoal::reaction_diffusion
