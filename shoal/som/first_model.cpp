#include <shoal/som/first_model.hpp>

#include <algorithm>
#include <cmath>

#include <Eigen/Eigenvalues>

#include <shoal/core/error.hpp>
#include <shoal/random/stream.hpp>
#include <shoal/som/lattice_geometry.hpp>

namespace shoal::som {
namespace {

// Different uses of one seed.
constexpr std::uint64_t random_values_stream = random::mix(0x736f6d, 1);
constexpr std::uint64_t sampled_rows_stream = random::mix(0x736f6d, 2);

// Σ w(x − m)(x − m)ᵀ, the lower triangle.
struct scatter_monoid {
  using value_type = std::vector<double>;
  static constexpr algebra::operation_laws laws = algebra::rounded_sums;
  std::size_t columns = 0;

  value_type identity() const { return value_type(columns * columns); }
  void reset(value_type& value) const { std::fill(value.begin(), value.end(), 0.0); }
  void combine_into(value_type& into, const value_type& from) const {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] += from[i];
  }
  std::size_t bytes() const { return columns * columns * sizeof(double); }
};

template <class Scalar>
struct scatter_body {
  struct scratch {
    std::vector<std::vector<double>> members;
  };
  const double* mean = nullptr;

  void operator()(const row_block<Scalar>& piece, const team_member& member, scratch& memory,
                  std::vector<double>& into) const {
    if (member.rank() == 0) memory.members.resize(std::max(memory.members.size(), member.size()));
    member.wait();
    const std::size_t columns = piece.rows.columns();
    std::vector<double>& centred = memory.members[member.rank()];
    centred.resize(columns);
    for (std::size_t i = 0; i < piece.rows.rows(); ++i) {
      const double weight = piece.weights == nullptr ? 1.0 : static_cast<double>(piece.weights[i]);
      for (std::size_t j = 0; j < columns; ++j) centred[j] = static_cast<double>(piece.rows(i, j)) - mean[j];
      // Members share the rows of the triangle, so that the order within an element stays.
      for (std::size_t a = member.rank(); a < columns; a += member.size()) {
        const double factor = weight * centred[a];
        double* const row = into.data() + a * columns;
        for (std::size_t b = 0; b <= a; ++b) row[b] += factor * centred[b];
      }
    }
  }
};

// An eigenvalue that is no more than so much of the greatest, times the columns, is rounding.
constexpr double rounding = 1e-15;

struct axis {
  std::vector<double> step;  // [columns], one standard deviation along it
};

// The two principal axes; zero where there is none.
std::vector<axis> principal_axes(const std::vector<double>& covariance, std::size_t columns) {
  std::vector<axis> axes(2, {std::vector<double>(columns)});
  const auto d = static_cast<Eigen::Index>(columns);
  // Brought near one first: squares of deviations may be at the ends of the range.
  const Eigen::Map<const Eigen::MatrixXd> given(covariance.data(), d, d);
  const double scale = given.cwiseAbs().maxCoeff();
  if (!std::isfinite(scale)) {
    throw numerical_error(
        "the variances of the columns are not finite; divide the columns by a constant, or start from sampled rows");
  }
  if (!(scale > 0)) return axes;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(given / scale);
  if (solver.info() != Eigen::Success) {
    throw numerical_error("the principal components of the rows could not be computed; start from sampled rows");
  }
  for (std::size_t k = 0; k < std::min<std::size_t>(2, columns); ++k) {
    const Eigen::Index at = d - 1 - static_cast<Eigen::Index>(k);  // ascending
    const double variance = solver.eigenvalues()(at) * scale;
    if (!(solver.eigenvalues()(at) > rounding * static_cast<double>(d) * solver.eigenvalues()(d - 1))) continue;
    Eigen::VectorXd vector = solver.eigenvectors().col(at);
    Eigen::Index largest = 0;
    vector.cwiseAbs().maxCoeff(&largest);
    if (vector(largest) < 0) vector = -vector;
    for (std::size_t j = 0; j < columns; ++j) {
      axes[k].step[j] = std::sqrt(variance) * vector(static_cast<Eigen::Index>(j));
    }
  }
  return axes;
}

std::vector<double> on_principal_plane(const data_summary& summary, const options& options,
                                       const std::vector<double>& covariance) {
  const std::size_t columns = summary.columns, units = options.width * options.height;
  const std::vector<axis> axes = principal_axes(covariance, columns);
  const bool wide = options.width >= options.height;
  // Coordinates on the lattice, the greatest being half a column more on a hexagonal one with two rows or more.
  const bool hexagonal = options.lattice == lattice::hexagonal;
  const double last_column = static_cast<double>(options.width - 1) + (hexagonal && options.height > 1 ? 0.5 : 0.0);
  const auto last_row = static_cast<double>(options.height - 1);
  std::vector<double> codebook(units * columns);
  for (std::size_t u = 0; u < units; ++u) {
    const std::size_t row = u / options.width;
    const double column = static_cast<double>(u % options.width) + (hexagonal && row % 2 != 0 ? 0.5 : 0.0);
    const double across = last_column > 0 ? 2 * column / last_column - 1 : 0.0;
    const double down = last_row > 0 ? 2 * static_cast<double>(row) / last_row - 1 : 0.0;
    const double a = wide ? across : down, b = wide ? down : across;
    for (std::size_t j = 0; j < columns; ++j) {
      codebook[u * columns + j] = summary.mean[j] + (a * axes[0].step[j] + b * axes[1].step[j]);
    }
  }
  return codebook;
}

std::vector<double> at_random(const data_summary& summary, const options& options) {
  const std::size_t columns = summary.columns;
  std::vector<double> codebook(options.width * options.height * columns);
  for (std::size_t i = 0; i < codebook.size(); ++i) {
    const double low = summary.minimum[i % columns], high = summary.maximum[i % columns];
    const double u = random::uniform_at(options.seed, random_values_stream, i);
    codebook[i] = std::clamp(low * (1 - u) + high * u, low, high);
  }
  return codebook;
}

}  // namespace

template <class Scalar>
std::vector<double> covariance_of(const fold_context& context, const weighted_rows<Scalar>& data,
                                  const data_summary& summary) {
  const std::size_t columns = summary.columns;
  std::vector<double> scatter =
      fold<Scalar>(context, data, scatter_monoid{columns}, scatter_body<Scalar>{summary.mean.data()});
  const double weight = summary.total_weight / data.weight_scale;
  for (std::size_t a = 0; a < columns; ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      scatter[a * columns + b] /= weight;
      scatter[b * columns + a] = scatter[a * columns + b];
    }
  }
  return scatter;
}

template <class Scalar>
std::vector<double> first_codebook(const fold_context& context, const weighted_rows<Scalar>& data,
                                   const data_summary& summary, const options& options,
                                   const find_covariance& covariance, const make_passes& passes) {
  switch (options.init) {
    case initialization::principal_plane:
      return on_principal_plane(summary, options, covariance());
    case initialization::sampled_rows:
      return seed_random_rows(context, data, summary,
                              {options.width * options.height, options.seed, sampled_rows_stream}, passes);
    case initialization::random_values:
      return at_random(summary, options);
    case initialization::codebook:
      break;
  }
  return options.codebook;
}

template std::vector<double> covariance_of(const fold_context&, const weighted_rows<float>&, const data_summary&);
template std::vector<double> covariance_of(const fold_context&, const weighted_rows<double>&, const data_summary&);
template std::vector<double> first_codebook(const fold_context&, const weighted_rows<float>&, const data_summary&,
                                            const options&, const find_covariance&, const make_passes&);
template std::vector<double> first_codebook(const fold_context&, const weighted_rows<double>&, const data_summary&,
                                            const options&, const find_covariance&, const make_passes&);

}  // namespace shoal::som
