// The mixture's arithmetic written for clarity: float64, one row after another, plain loops.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include <shoal/core/matrix_view.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/statistics.hpp>

namespace reference {

using shoal::gmm::covariance_type;
using matrix = std::vector<std::vector<double>>;

// The covariance of component k as a whole matrix, whatever the type.
inline matrix covariance(const shoal::gmm::model& model, std::size_t k) {
  const std::size_t d = model.columns;
  matrix result(d, std::vector<double>(d, 0.0));
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < d; ++j) {
      if (model.covariance_type == covariance_type::full) result[i][j] = model.covariances[(k * d + i) * d + j];
      if (model.covariance_type == covariance_type::tied) result[i][j] = model.covariances[i * d + j];
      if (model.covariance_type == covariance_type::diag && i == j) result[i][j] = model.covariances[k * d + i];
      if (model.covariance_type == covariance_type::spherical && i == j) result[i][j] = model.covariances[k];
    }
  }
  return result;
}

// Lower triangular L with LLᵀ = a.
inline matrix cholesky(const matrix& a) {
  const std::size_t d = a.size();
  matrix l(d, std::vector<double>(d, 0.0));
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i][j];
      for (std::size_t t = 0; t < j; ++t) sum -= l[i][t] * l[j][t];
      l[i][j] = i == j ? std::sqrt(sum) : sum / l[j][j];
    }
  }
  return l;
}

// ln πₖ N(x; μₖ, Σₖ), by solving L y = x − μ.
inline double log_joint(const shoal::gmm::model& model, const matrix& l, std::size_t k, const std::vector<double>& x) {
  const std::size_t d = model.columns;
  std::vector<double> y(d);
  double norm = 0;
  double log_determinant = 0;
  for (std::size_t i = 0; i < d; ++i) {
    double sum = x[i] - model.means[k * d + i];
    for (std::size_t t = 0; t < i; ++t) sum -= l[i][t] * y[t];
    y[i] = sum / l[i][i];
    norm += y[i] * y[i];
    log_determinant += std::log(l[i][i]);
  }
  return std::log(model.weights[k]) - log_determinant -
         0.5 * (static_cast<double>(d) * std::log(2 * std::numbers::pi) + norm);
}

struct posterior {
  std::vector<double> responsibilities;
  double log_density = 0;
  std::int32_t label = 0;
};

class mixture {
 public:
  explicit mixture(const shoal::gmm::model& model) : model_(model) {
    for (std::size_t k = 0; k < model.components; ++k) factors_.push_back(cholesky(covariance(model, k)));
  }

  posterior of(const std::vector<double>& x) const {
    posterior result;
    std::vector<double> logs;
    for (std::size_t k = 0; k < model_.components; ++k) logs.push_back(log_joint(model_, factors_[k], k, x));
    double greatest = -std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < logs.size(); ++k) {
      if (logs[k] > greatest) {
        greatest = logs[k];
        result.label = static_cast<std::int32_t>(k);
      }
    }
    double sum = 0;
    for (const double log : logs) sum += std::exp(log - greatest);
    result.log_density = greatest + std::log(sum);
    for (const double log : logs) result.responsibilities.push_back(std::exp(log - result.log_density));
    return result;
  }

 private:
  const shoal::gmm::model& model_;
  std::vector<matrix> factors_;
};

template <class Scalar>
std::vector<double> row(shoal::matrix_view<const Scalar> rows, std::size_t r) {
  std::vector<double> x;
  for (std::size_t j = 0; j < rows.columns(); ++j) x.push_back(static_cast<double>(rows(r, j)));
  return x;
}

// Adds w r, w r (x − c), w r (x − c)(x − c)ᵀ of one row and component.
inline void add(shoal::gmm::statistics& into, std::size_t k, double weight, const std::vector<double>& x,
                const double* centre) {
  const shoal::gmm::statistics_layout& layout = into.layout();
  const std::size_t d = layout.columns();
  into.values()[layout.weight(k)] += weight;
  for (std::size_t i = 0; i < d; ++i) {
    into.values()[layout.first(k, i)] += weight * (x[i] - centre[i]);
    for (std::size_t j = i; j < (layout.has_matrices() ? d : i + 1); ++j) {
      into.values()[layout.second(k, i, j)] += weight * (x[i] - centre[i]) * (x[j] - centre[j]);
    }
  }
}

// The statistics of all rows about `centres` [K][d].
template <class Scalar>
shoal::gmm::statistics accumulate(const shoal::gmm::model& model, const std::vector<double>& centres,
                                  shoal::matrix_view<const Scalar> rows, const Scalar* weights = nullptr) {
  const mixture mixture(model);
  shoal::gmm::statistics sums(shoal::gmm::statistics_layout(model.covariance_type, model.components, model.columns));
  for (std::size_t r = 0; r < rows.rows(); ++r) {
    const std::vector<double> x = row(rows, r);
    const posterior p = mixture.of(x);
    const double weight = weights == nullptr ? 1.0 : static_cast<double>(weights[r]);
    sums.values()[shoal::gmm::statistics_layout::log_likelihood()] += weight * p.log_density;
    sums.values()[shoal::gmm::statistics_layout::total_weight()] += weight;
    for (std::size_t k = 0; k < model.components; ++k) {
      add(sums, k, weight * p.responsibilities[k], x, centres.data() + k * model.columns);
    }
  }
  return sums;
}

// A mixture with random means of spread `spread` and random, well-conditioned covariances.
inline shoal::gmm::model random_model(covariance_type type, std::size_t components, std::size_t columns, double spread,
                                      unsigned seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0.5, 1.5);
  shoal::gmm::model model;
  model.covariance_type = type;
  model.components = components;
  model.columns = columns;
  double sum = 0;
  for (std::size_t k = 0; k < components; ++k) {
    model.weights.push_back(uniform(engine));
    sum += model.weights.back();
  }
  for (double& weight : model.weights) weight /= sum;
  for (std::size_t i = 0; i < components * columns; ++i) model.means.push_back(spread * normal(engine));
  const std::size_t matrices = type == covariance_type::full ? components : (type == covariance_type::tied ? 1 : 0);
  for (std::size_t k = 0; k < matrices; ++k) {
    // I + v vᵀ / d, scaled: positive definite, with correlations in every pair of columns.
    std::vector<double> v;
    for (std::size_t i = 0; i < columns; ++i) v.push_back(normal(engine));
    const double scale = uniform(engine);
    for (std::size_t i = 0; i < columns; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        model.covariances.push_back(scale * ((i == j ? 1.0 : 0.0) + v[i] * v[j] / static_cast<double>(columns)));
      }
    }
  }
  if (matrices == 0) {
    const std::size_t count = type == covariance_type::diag ? components * columns : components;
    for (std::size_t i = 0; i < count; ++i) model.covariances.push_back(uniform(engine));
  }
  return model;
}

// Rows drawn near the means of the model with unit spread (not a sample of it: any rows will do).
template <class Scalar>
std::vector<Scalar> random_rows(const shoal::gmm::model& model, std::size_t rows, std::size_t stride, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<std::size_t> component(0, model.components - 1);
  std::vector<Scalar> values(rows * stride, std::numeric_limits<Scalar>::quiet_NaN());
  for (std::size_t r = 0; r < rows; ++r) {
    const std::size_t k = component(engine);
    for (std::size_t j = 0; j < model.columns; ++j) {
      values[r * stride + j] = static_cast<Scalar>(model.means[k * model.columns + j] + normal(engine));
    }
  }
  return values;
}

}  // namespace reference
