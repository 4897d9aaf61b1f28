// Rows drawn from a mixture: each row has a random stream of its own, so that ranges can be drawn by anybody.
#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <shoal/core/error.hpp>
#include <shoal/gmm/gmm.hpp>
#include <shoal/random/categorical.hpp>
#include <shoal/random/normal.hpp>

namespace shoal::gmm {
namespace {

// Keeps the streams of sample apart from those of other uses of the same seed.
constexpr std::uint64_t sampling = 0x73616d706c65;  // "sample"

[[noreturn]] void refuse_covariance(covariance_type type, std::size_t component) {
  const auto which = type == covariance_type::tied ? std::string("the tied covariance")
                                                   : fmt::format("the covariance of component {}", component);
  throw numerical_error(
      fmt::format("sample: {} is not positive definite; correct the model or add to its diagonal", which));
}

void check_sizes(const model& model, std::size_t columns) {
  const std::size_t k = model.components, d = model.columns;
  if (k == 0 || d == 0) throw bad_argument(fmt::format("sample: the model has {} components in {} columns", k, d));
  if (columns != d) throw bad_argument(fmt::format("sample: the rows have {} columns, the model has {}", columns, d));
  std::size_t expected = 0;
  switch (model.covariance_type) {
    case covariance_type::full:
      expected = k * d * d;
      break;
    case covariance_type::tied:
      expected = d * d;
      break;
    case covariance_type::diag:
      expected = k * d;
      break;
    case covariance_type::spherical:
      expected = k;
      break;
  }
  if (model.weights.size() != k || model.means.size() != k * d || model.covariances.size() != expected)
    throw bad_argument(
        fmt::format("sample: the model states {} components in {} columns but holds {} weights, {} means and {} "
                    "covariance elements",
                    k, d, model.weights.size(), model.means.size() / d, model.covariances.size()));
}

// The factors L_k, stored as the loops below read them.
class factors {
 public:
  explicit factors(const model& model)
      : columns_(model.columns),
        triangular_(model.covariance_type == covariance_type::full || model.covariance_type == covariance_type::tied) {
    const std::size_t d = columns_;
    if (triangular_) {
      const std::size_t matrices = model.covariances.size() / (d * d);
      for (std::size_t k = 0; k < matrices; ++k) add_triangle(model, k);
      size_ = matrices == 1 ? 0 : d * (d + 1) / 2;
    } else {
      const bool spherical = model.covariance_type == covariance_type::spherical;
      for (std::size_t i = 0; i < model.components * d; ++i) {
        const double variance = model.covariances[spherical ? i / d : i];
        if (!(variance > 0) || !std::isfinite(variance)) refuse_covariance(model.covariance_type, i / d);
        values_.push_back(std::sqrt(variance));
      }
      size_ = d;
    }
  }

  /// row += L_k·η, η drawn in the order of the columns.
  void add_deviation(std::size_t k, random::stream& bits, random::normal_method method, double* row) const {
    const double* factor = values_.data() + k * size_;
    if (!triangular_) {
      for (std::size_t j = 0; j < columns_; ++j) row[j] += factor[j] * random::normal(bits, method);
      return;
    }
    for (std::size_t j = 0; j < columns_; ++j) {
      const double normal = random::normal(bits, method);
      for (std::size_t i = j; i < columns_; ++i) row[i] += normal * *factor++;
    }
  }

 private:
  // The lower triangle column by column, so that one normal is spent on consecutive elements.
  void add_triangle(const model& model, std::size_t k) {
    const auto d = static_cast<Eigen::Index>(columns_);
    const Eigen::Map<const Eigen::MatrixXd> covariance(model.covariances.data() + k * columns_ * columns_, d, d);
    const Eigen::LLT<Eigen::MatrixXd> factorisation(covariance);
    const Eigen::MatrixXd factor = factorisation.matrixL();
    if (factorisation.info() != Eigen::Success || !factor.allFinite()) refuse_covariance(model.covariance_type, k);
    for (Eigen::Index j = 0; j < d; ++j)
      for (Eigen::Index i = j; i < d; ++i) values_.push_back(factor(i, j));
  }

  std::size_t columns_;
  bool triangular_;
  std::size_t size_ = 0;  // elements from one component's factor to the next one's; none when all share one
  std::vector<double> values_;
};

template <class Scalar>
void draw(const model& model, std::uint64_t seed, std::size_t first, matrix_view<Scalar> rows, std::int32_t* labels,
          random::normal_method method) {
  check_sizes(model, rows.columns());
  const random::categorical component(model.weights);
  const factors factor(model);
  const std::uint64_t key = random::mix(seed, sampling);
  std::vector<double> row(model.columns);
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    random::stream bits(key, first + i);
    const std::size_t k = component(bits);
    const double* mean = model.means.data() + k * model.columns;
    std::copy(mean, mean + model.columns, row.begin());
    factor.add_deviation(k, bits, method, row.data());
    std::transform(row.begin(), row.end(), rows.row(i), [](double value) { return static_cast<Scalar>(value); });
    if (labels) labels[i] = static_cast<std::int32_t>(k);
  }
}

}  // namespace

void sample(const model& model, std::uint64_t seed, std::size_t first, matrix_view<float> rows, std::int32_t* labels,
            random::normal_method method) {
  draw(model, seed, first, rows, labels, method);
}

void sample(const model& model, std::uint64_t seed, std::size_t first, matrix_view<double> rows, std::int32_t* labels,
            random::normal_method method) {
  draw(model, seed, first, rows, labels, method);
}

}  // namespace shoal::gmm
