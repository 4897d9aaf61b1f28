#include <shoal/reaction_diffusion/diffusion_lines.hpp>

namespace shoal::reaction_diffusion {

template <class Scalar>
void diffusion_lines<Scalar>::prepare(double weight) {
  if (weight == weight_) return;
  weight_ = weight;
  const std::size_t last = nodes_ - 1;
  std::vector<double> lower(nodes_, -weight), diagonal(nodes_, 1 + 2 * weight), upper(nodes_, -weight);
  if (ends_ == line_ends::mirror) {
    upper[0] *= 2;
    lower[last] *= 2;
  } else if (ends_ == line_ends::open) {
    diagonal[0] = diagonal[last] = 1 + weight;
  } else {
    // The corners −weight are a product of two vectors (Sherman & Morrison 1950).
    diagonal[last] += weight * weight / diagonal[0];
    diagonal[0] *= 2;
  }
  std::vector<double> above(nodes_), inverse(nodes_);
  for (std::size_t i = 0; i < nodes_; ++i) {
    inverse[i] = 1 / (diagonal[i] - (i > 0 ? lower[i] * above[i - 1] : 0));
    above[i] = upper[i] * inverse[i];
  }
  lower_.assign(lower.begin(), lower.end());
  inverse_.assign(inverse.begin(), inverse.end());
  upper_.assign(above.begin(), above.end());
  correction_.clear();
  if (ends_ != line_ends::around) return;
  const double factor = -(1 + 2 * weight), share = -weight / factor;
  std::vector<double> z(nodes_);
  z[0] = factor;
  z[last] = -weight;
  for (std::size_t i = 0; i < nodes_; ++i) z[i] = (z[i] - (i > 0 ? lower[i] * z[i - 1] : 0)) * inverse[i];
  for (std::size_t i = last; i-- > 0;) z[i] -= above[i] * z[i + 1];
  corner_share_ = static_cast<Scalar>(share);
  corner_scale_ = static_cast<Scalar>(1 / (1 + z[0] + share * z[last]));
  correction_.assign(z.begin(), z.end());
}

template <class Scalar>
void diffusion_lines<Scalar>::solve(Scalar* u, std::size_t lines, std::size_t stride) const {
  for (std::size_t k = 0; k < lines; ++k) u[k] *= inverse_[0];
  for (std::size_t i = 1; i < nodes_; ++i) {
    const Scalar lower = lower_[i], inverse = inverse_[i];
    const Scalar* before = u + (i - 1) * stride;
    Scalar* here = u + i * stride;
    for (std::size_t k = 0; k < lines; ++k) here[k] = (here[k] - lower * before[k]) * inverse;
  }
  for (std::size_t i = nodes_ - 1; i-- > 0;) {
    const Scalar upper = upper_[i];
    const Scalar* behind = u + (i + 1) * stride;
    Scalar* here = u + i * stride;
    for (std::size_t k = 0; k < lines; ++k) here[k] -= upper * behind[k];
  }
  if (correction_.empty()) return;
  const Scalar* last = u + (nodes_ - 1) * stride;
  for (std::size_t k = 0; k < lines; ++k) {
    const Scalar by = (u[k] + corner_share_ * last[k]) * corner_scale_;
    for (std::size_t i = 0; i < nodes_; ++i) u[i * stride + k] -= by * correction_[i];
  }
}

template class diffusion_lines<double>;
template class diffusion_lines<float>;

}  // namespace shoal::reaction_diffusion
