#include <shoal/reaction_diffusion/diffusion_lines.hpp>

namespace shoal::reaction_diffusion {

template <class Scalar>
diffusion_lines<Scalar>::diffusion_lines(std::size_t nodes, line_ends ends, std::size_t count,
                                         const std::vector<double>& field, std::size_t node_stride,
                                         std::size_t line_stride)
    : nodes_(nodes), ends_(ends), matrices_(count), between_(nodes * count) {
  for (std::size_t i = 0; i < nodes; ++i) {
    for (std::size_t k = 0; k < count; ++k) {
      const double here = field[i * node_stride + k * line_stride];
      const double next = field[(i + 1) % nodes * node_stride + k * line_stride];
      between_[i * count + k] = (here + next) / 2;
    }
  }
}

template <class Scalar>
void diffusion_lines<Scalar>::prepare(double weight) {
  if (weight == weight_) return;
  weight_ = weight;
  for (std::vector<Scalar>* part : {&lower_, &inverse_, &upper_}) part->resize(nodes_ * matrices_);
  if (ends_ == line_ends::around) {
    correction_.resize(nodes_ * matrices_);
    corner_share_.resize(matrices_);
    corner_scale_.resize(matrices_);
  }
  for (std::size_t line = 0; line < matrices_; ++line) eliminate(line, weight);
}

template <class Scalar>
void diffusion_lines<Scalar>::eliminate(std::size_t line, double weight) {
  const std::size_t last = nodes_ - 1;
  const auto behind = [&](std::size_t i) { return weight * (between_.empty() ? 1 : between_[i * matrices_ + line]); };
  std::vector<double> lower(nodes_), diagonal(nodes_), upper(nodes_), above(nodes_), inverse(nodes_);
  for (std::size_t i = 0; i < nodes_; ++i) {
    const double one = behind(i > 0 ? i - 1 : last), other = behind(i);
    lower[i] = -one;
    upper[i] = -other;
    diagonal[i] = 1 + (one + other);
  }
  const double corner = -behind(last), first = diagonal[0];
  if (ends_ == line_ends::mirror) {
    upper[0] *= 2;
    lower[last] *= 2;
    diagonal[0] = 1 - upper[0];
    diagonal[last] = 1 - lower[last];
  } else if (ends_ == line_ends::open) {
    diagonal[0] = 1 - upper[0];
    diagonal[last] = 1 - lower[last];
  } else {
    // The corners are a product of two vectors (Sherman & Morrison 1950).
    diagonal[last] += corner * corner / first;
    diagonal[0] *= 2;
  }
  for (std::size_t i = 0; i < nodes_; ++i) {
    inverse[i] = 1 / (diagonal[i] - (i > 0 ? lower[i] * above[i - 1] : 0));
    above[i] = upper[i] * inverse[i];
    const std::size_t at = i * matrices_ + line;
    lower_[at] = static_cast<Scalar>(lower[i]);
    inverse_[at] = static_cast<Scalar>(inverse[i]);
    upper_[at] = static_cast<Scalar>(above[i]);
  }
  if (ends_ != line_ends::around) return;
  const double share = -corner / first;
  std::vector<double> z(nodes_);
  z[0] = -first;
  z[last] = corner;
  for (std::size_t i = 0; i < nodes_; ++i) z[i] = (z[i] - (i > 0 ? lower[i] * z[i - 1] : 0)) * inverse[i];
  for (std::size_t i = last; i-- > 0;) z[i] -= above[i] * z[i + 1];
  corner_share_[line] = static_cast<Scalar>(share);
  corner_scale_[line] = static_cast<Scalar>(1 / (1 + z[0] + share * z[last]));
  for (std::size_t i = 0; i < nodes_; ++i) correction_[i * matrices_ + line] = static_cast<Scalar>(z[i]);
}

template <class Scalar>
void diffusion_lines<Scalar>::solve(Scalar* u, std::size_t first, std::size_t lines, std::size_t stride) const {
  if (matrices_ == 1) {
    solve(u, lines, stride, [](std::size_t i, std::size_t) { return i; });
  } else {
    solve(u, lines, stride, [&](std::size_t i, std::size_t k) { return i * matrices_ + first + k; });
  }
}

// `at`: where the coefficients of node i of line k are.
template <class Scalar>
template <class At>
void diffusion_lines<Scalar>::solve(Scalar* u, std::size_t lines, std::size_t stride, const At& at) const {
  for (std::size_t k = 0; k < lines; ++k) u[k] *= inverse_[at(0, k)];
  for (std::size_t i = 1; i < nodes_; ++i) {
    const Scalar* before = u + (i - 1) * stride;
    Scalar* here = u + i * stride;
    for (std::size_t k = 0; k < lines; ++k) here[k] = (here[k] - lower_[at(i, k)] * before[k]) * inverse_[at(i, k)];
  }
  for (std::size_t i = nodes_ - 1; i-- > 0;) {
    const Scalar* behind = u + (i + 1) * stride;
    Scalar* here = u + i * stride;
    for (std::size_t k = 0; k < lines; ++k) here[k] -= upper_[at(i, k)] * behind[k];
  }
  if (correction_.empty()) return;
  const Scalar* last = u + (nodes_ - 1) * stride;
  for (std::size_t k = 0; k < lines; ++k) {
    const Scalar by = (u[k] + corner_share_[at(0, k)] * last[k]) * corner_scale_[at(0, k)];
    for (std::size_t i = 0; i < nodes_; ++i) u[i * stride + k] -= by * correction_[at(i, k)];
  }
}

template class diffusion_lines<double>;
template class diffusion_lines<float>;

}  // namespace shoal::reaction_diffusion
