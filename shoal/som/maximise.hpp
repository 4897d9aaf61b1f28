// From an epoch's statistics to the next codebook.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <shoal/core/aligned_buffer.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/som/smooth.hpp>
#include <shoal/som/statistics.hpp>

namespace shoal::som {

/// Moves units by the rule that fit() documents, with sums about one centre m: Sⱼ − nⱼwᵢ = Σ w(x − m) − nⱼ(wᵢ − m).
/// Keeps its memory between epochs.
class unit_mover {
 public:
  unit_mover(const lattice_shape& shape, std::size_t columns);

  /// `codebook` [units][columns] goes `rate` of the way. Units that no row pulls at stay. Throws numerical_error when a
  /// unit leaves the range of float64, which negative neighbourhoods can bring about; the codebook is as it was then.
  void operator()(executor& workers, const neighborhood_function& h, const statistics& folded,
                  std::span<const double> centre, double rate, std::vector<double>& codebook);

 private:
  lattice_shape shape_;
  std::size_t columns_;
  std::size_t stride_;
  smoother smoother_;
  aligned_buffer<double> folded_;    // [units][stride] Σ w(x − m), then Σ w
  aligned_buffer<double> smoothed_;  // the same, smoothed
  aligned_buffer<double> weights_;   // [units][stride_unit] Σ w, for what |h| makes of it
  aligned_buffer<double> pulls_;     // [units][stride_unit]
};

/// Throws numerical_error naming the first unit and column that is not finite.
void check_finite(std::span<const double> codebook, std::size_t columns);

}  // namespace shoal::som
