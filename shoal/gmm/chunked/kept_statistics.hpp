// The statistics that every chunk contributed when it was last visited, and their sum.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <shoal/estimation/saved_state.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/gmm/statistics.hpp>

namespace shoal::gmm {

/// One statistic for each chunk, all about the same centres [K][d], and their total. Between two rebuilds a chunk's
/// contribution is replaced by the group's inverse: subtract the old, add the new.
class kept_statistics {
 public:
  kept_statistics(const statistics_layout& layout, std::size_t chunks);

  const statistics& chunk(std::size_t chunk) const { return chunks_[chunk]; }
  const statistics& total() const { return total_; }
  std::span<const double> centres() const { return centres_; }

  /// For a pass that fills every chunk anew: the statistics are then about `centres`. rebuild() must follow it.
  void begin(std::vector<double> centres) { centres_ = std::move(centres); }
  statistics& filled(std::size_t chunk) { return chunks_[chunk]; }

  /// total += fresh − chunk; chunk and `fresh` change places.
  void replace(std::size_t chunk, statistics& fresh);
  /// Replaces what the chunk says of its log-likelihood, and nothing else.
  void replace_log_likelihood(std::size_t chunk, double log_likelihood);

  /// Moves every chunk to `centres` and sums them again in order, so that the rounding of subtractions cannot
  /// accumulate. Same bits for any number of workers.
  void rebuild(std::vector<double> centres, executor& workers);

  /// All of it in order, and back.
  void append_to(std::vector<double>& state) const;
  void restore(state_reader& state);

 private:
  statistics_group group_;
  std::vector<statistics> chunks_;
  statistics total_;
  std::vector<double> centres_;
};

/// Sums without what subtraction left of components that have lost their rows: where no more than 2⁻⁴⁰ of all weight
/// is, W, S and a Q of its own are zero.
statistics without_residue(statistics sums);

}  // namespace shoal::gmm
