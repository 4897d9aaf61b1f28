#include <shoal/som/maximise.hpp>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

namespace shoal::som {

unit_mover::unit_mover(const lattice_shape& shape, std::size_t columns)
    : shape_(shape),
      columns_(columns),
      stride_((columns + 1 + stride_unit - 1) / stride_unit * stride_unit),
      smoother_(shape) {}

void unit_mover::operator()(executor& workers, const neighborhood_function& h, const statistics& folded,
                            std::span<const double> centre, double rate, std::vector<double>& codebook) {
  const std::size_t units = shape_.units();
  folded_.grow(units * stride_);
  smoothed_.grow(units * stride_);
  for (std::size_t u = 0; u < units; ++u) {
    double* const to = folded_.data() + u * stride_;
    std::copy_n(folded.sums.data() + u * columns_, columns_, to);
    to[columns_] = folded.weights[u];
    std::fill(to + columns_ + 1, to + stride_, 0.0);
  }
  const bool moves_apart = !h.never_negative();
  const double* smoothed = folded_.data();
  if (h.radius > 0) {
    smoother_(workers, h, folded_.data(), smoothed_.data(), stride_);
    smoothed = smoothed_.data();
  }
  if (moves_apart) {
    weights_.grow(units * stride_unit);
    pulls_.grow(units * stride_unit);
    std::fill_n(weights_.data(), units * stride_unit, 0.0);
    for (std::size_t u = 0; u < units; ++u) weights_[u * stride_unit] = folded.weights[u];
    smoother_(workers, h, weights_.data(), pulls_.data(), stride_unit, {.magnitudes = true});
  }

  std::vector<double> next = codebook;
  for (std::size_t u = 0; u < units; ++u) {
    const double* const sums = smoothed + u * stride_;
    const double pull = moves_apart ? pulls_[u * stride_unit] : sums[columns_];
    if (!(pull >= least_pull)) continue;
    for (std::size_t j = 0; j < columns_; ++j) {
      double& weight = next[u * columns_ + j];
      // Where nothing is negative the place itself, so that it does not depend on where the unit was.
      const double place =
          moves_apart ? weight + (sums[j] - (weight - centre[j]) * sums[columns_]) / pull : centre[j] + sums[j] / pull;
      weight = rate == 1 ? place : weight + rate * (place - weight);
    }
  }
  check_finite(next, columns_);
  codebook = std::move(next);
}

void check_finite(std::span<const double> codebook, std::size_t columns) {
  for (std::size_t i = 0; i < codebook.size(); ++i) {
    if (std::isfinite(codebook[i])) continue;
    throw numerical_error(fmt::format(
        "unit {}, column {} (counting from 0) became {}; use a neighbourhood without negative parts, a smaller rate or "
        "fewer epochs",
        i / columns, i % columns, codebook[i]));
  }
}

}  // namespace shoal::som
