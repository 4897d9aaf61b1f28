#include <shoal/gmm/jump.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <shoal/gmm/maximise.hpp>

namespace shoal::gmm {
namespace {

// Each pass leaves of a distance what rounding leaves of it, so a third finds nothing more to do.
constexpr std::size_t most_passes = 3;

// δ of one component, or the root of Σ W δ² / ΣW of tied ones, in every column; and what it is held against.
struct move {
  std::vector<double> delta, second, place;  // [d]; the latter two are Q/W and μ²

  explicit move(std::size_t d) : delta(d), second(d), place(d) {}

  std::size_t farthest() const {
    return static_cast<std::size_t>(std::max_element(delta.begin(), delta.end()) - delta.begin());
  }
  static double sum(const std::vector<double>& of) { return std::accumulate(of.begin(), of.end(), 0.0); }
  double distance_squared() const { return std::inner_product(delta.begin(), delta.end(), delta.begin(), 0.0); }
};

move move_of(const statistics& sums, std::span<const double> centres, std::size_t k) {
  const std::size_t d = sums.layout().columns();
  const double weight = sums.weight(k);
  move of(d);
  for (std::size_t j = 0; j < d; ++j) {
    const double delta = sums.first(k, j) / weight, mean = centres[k * d + j] + delta;
    of.delta[j] = std::abs(delta);
    of.second[j] = sums.second(k, j, j) / weight;
    of.place[j] = mean * mean;
  }
  return of;
}

move move_of_all(const statistics& sums, std::span<const double> centres) {
  const std::size_t d = sums.layout().columns();
  double total = 0;
  move all(d);
  for (std::size_t k = 0; k < sums.layout().components(); ++k) {
    if (!(sums.weight(k) > least_weight)) continue;
    const double weight = sums.weight(k);
    const move of = move_of(sums, centres, k);
    total += weight;
    for (std::size_t j = 0; j < d; ++j) {
      all.delta[j] += weight * of.delta[j] * of.delta[j];
      all.place[j] += weight * of.place[j];
    }
  }
  for (std::size_t j = 0; j < d; ++j) {
    all.delta[j] = std::sqrt(all.delta[j] / total);
    all.place[j] /= total;
    all.second[j] = sums.second(0, j, j) / total;
  }
  return all;
}

bool spherical_jumped(const move& of, double variance, const jump_limit& limit) {
  const double between = of.distance_squared();
  return nearer_helps(between, move::sum(of.second), move::sum(of.place), limit) &&
         outweighs(between, variance * static_cast<double>(of.delta.size()), limit);
}

bool diagonal_jumped(const move& of, const double* variances, const jump_limit& limit) {
  for (std::size_t j = 0; j < of.delta.size(); ++j) {
    const double between = of.delta[j] * of.delta[j];
    if (nearer_helps(between, of.second[j], of.place[j], limit) && outweighs(between, variances[j], limit)) return true;
  }
  return false;
}

bool matrix_jumped(const move& of, const double* covariance, double regularization, const jump_limit& limit) {
  const std::size_t d = of.delta.size();
  bool helps = false;
  for (std::size_t j = 0; j < d && !helps; ++j) {
    helps = nearer_helps(of.delta[j] * of.delta[j], of.second[j], of.place[j], limit);
  }
  // No direction has less variance than the regularization.
  if (!helps || !outweighs(of.distance_squared(), regularization, limit)) return false;
  using matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto size = static_cast<Eigen::Index>(d);
  const Eigen::LLT<Eigen::MatrixXd> cholesky(Eigen::Map<const matrix>(covariance, size, size));
  if (cholesky.info() != Eigen::Success) return true;
  Eigen::MatrixXd inverse = Eigen::MatrixXd::Identity(size, size);
  cholesky.matrixL().solveInPlace(inverse);
  const Eigen::VectorXd whitened = inverse.cwiseAbs() * Eigen::Map<const Eigen::VectorXd>(of.delta.data(), size);
  // Written so that a NaN counts as one.
  return !(whitened.maxCoeff() * whitened.maxCoeff() <= limit.ratio);
}

}  // namespace

std::optional<jump> find_jump(const statistics& sums, std::span<const double> centres, double regularization,
                              const model& made, const jump_limit& limit) {
  const statistics_layout& layout = sums.layout();
  const std::size_t K = layout.components(), d = layout.columns();
  if (layout.type() == covariance_type::tied) {
    const move of = move_of_all(sums, centres);
    if (!matrix_jumped(of, made.covariances.data(), regularization, limit)) return {};
    jump found{0, of.farthest(), 0};
    for (std::size_t k = 0; k < K; ++k) {
      if (!(sums.weight(k) > least_weight)) continue;
      const double distance = move_of(sums, centres, k).delta[found.column];
      if (distance > found.distance) found = {k, found.column, distance};
    }
    return found;
  }
  for (std::size_t k = 0; k < K; ++k) {
    if (!(sums.weight(k) > least_weight)) continue;
    const move of = move_of(sums, centres, k);
    const bool jumped = layout.type() == covariance_type::full
                            ? matrix_jumped(of, made.covariances.data() + k * d * d, regularization, limit)
                        : layout.type() == covariance_type::diag
                            ? diagonal_jumped(of, made.covariances.data() + k * d, limit)
                            : spherical_jumped(of, made.covariances[k], limit);
    if (jumped) return jump{k, of.farthest(), of.delta[of.farthest()]};
  }
  return {};
}

std::string describe(const jump& found, std::size_t scalar_bytes) {
  return fmt::format(
      "the mean of component {} moved by {:.3g} in column {} in one step, which is farther than sums of {} rows about "
      "its old place can tell its covariance",
      found.component, found.distance, found.column, scalar_bytes == 4 ? "float32" : "float64");
}

template <class Scalar>
std::vector<std::size_t> maximise_closely(const statistics& sums, std::span<const double> centres,
                                          double regularization, model& into, executor* workers,
                                          const sums_about<Scalar>& again) {
  const statistics* present = &sums;
  parameters<Scalar> about;
  for (std::size_t pass = 0;; ++pass) {
    std::vector<std::size_t> empty = maximise(*present, centres, regularization, into, workers);
    if (pass == most_passes || !find_jump(*present, centres, regularization, into, jump_limit_of(sizeof(Scalar)))) {
      return empty;
    }
    about = prepare_centres<Scalar>(into.covariance_type, into.components, into.columns, into.means.data());
    present = &again(about);
    centres = about.centres;
  }
}
template std::vector<std::size_t> maximise_closely(const statistics&, std::span<const double>, double, model&,
                                                   executor*, const sums_about<float>&);
template std::vector<std::size_t> maximise_closely(const statistics&, std::span<const double>, double, model&,
                                                   executor*, const sums_about<double>&);

}  // namespace shoal::gmm
