// Rows drawn from a mixture: named by (model, seed, row), and distributed as the model says for every covariance type.
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <shoal/core/error.hpp>
#include <shoal/gmm/sample.hpp>

#include "tests/random/statistics.hpp"

namespace {

using namespace shoal::testing;
using shoal::gmm::covariance_type;
using shoal::random::normal_method;

constexpr std::size_t columns = 3;
constexpr std::size_t components = 2;

// Two components in three columns, with correlations where the type has them, far from zero and of unlike scales.
shoal::gmm::model mixture(covariance_type type) {
  shoal::gmm::model model;
  model.covariance_type = type;
  model.components = components;
  model.columns = columns;
  model.weights = {0.3, 0.7};
  model.means = {100, -2, 0.5, -50, 7, 0};
  const std::vector<double> first{4, 1.8, -0.3, 1.8, 1, -0.1, -0.3, -0.1, 0.09},
      second{1, -0.5, 0, -0.5, 9, 3, 0, 3, 2};
  switch (type) {
    case covariance_type::full:
      model.covariances = first;
      model.covariances.insert(model.covariances.end(), second.begin(), second.end());
      break;
    case covariance_type::tied:
      model.covariances = first;
      break;
    case covariance_type::diag:
      model.covariances = {4, 1, 0.09, 1, 9, 2};
      break;
    case covariance_type::spherical:
      model.covariances = {4, 0.25};
      break;
  }
  return model;
}

// The covariance of component k as a matrix, written out by type.
Eigen::Matrix3d covariance(const shoal::gmm::model& model, std::size_t k) {
  const double* values = model.covariances.data();
  using row_major = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
  switch (model.covariance_type) {
    case covariance_type::full:
      return Eigen::Map<const row_major>(values + 9 * k);
    case covariance_type::tied:
      return Eigen::Map<const row_major>(values);
    case covariance_type::diag:
      return Eigen::Map<const Eigen::Vector3d>(values + 3 * k).asDiagonal();
    default:
      return values[k] * Eigen::Matrix3d::Identity();
  }
}

template <class Scalar>
struct drawn {
  std::vector<Scalar> rows;
  std::vector<std::int32_t> labels;
};

template <class Scalar = double>
drawn<Scalar> draw(const shoal::gmm::model& model, std::uint64_t seed, std::size_t first, std::size_t count,
                   normal_method method = normal_method::ziggurat) {
  drawn<Scalar> result{std::vector<Scalar>(count * model.columns), std::vector<std::int32_t>(count)};
  sample(model, seed, first, shoal::matrix_view<Scalar>(result.rows.data(), count, model.columns), result.labels.data(),
         method);
  return result;
}

// The rows of component k, taken back to standard normals by the model's own mean and covariance, one series a column.
std::vector<std::vector<double>> whitened(const shoal::gmm::model& model, const drawn<double>& data, std::size_t k) {
  const Eigen::Matrix3d factor = covariance(model, k).llt().matrixL();
  std::vector<std::vector<double>> series(columns);
  for (std::size_t i = 0; i < data.labels.size(); ++i) {
    if (data.labels[i] != static_cast<std::int32_t>(k)) continue;
    Eigen::Vector3d row = Eigen::Map<const Eigen::Vector3d>(data.rows.data() + columns * i) -
                          Eigen::Map<const Eigen::Vector3d>(model.means.data() + columns * k);
    factor.triangularView<Eigen::Lower>().solveInPlace(row);
    for (std::size_t j = 0; j < columns; ++j) series[j].push_back(row[static_cast<Eigen::Index>(j)]);
  }
  return series;
}

// The least p-value over the columns, and over the squared norms, which are χ²(3).
double least_p(const std::vector<std::vector<double>>& series) {
  double least = 1;
  std::vector<double> norms(series[0].size());
  for (const auto& column : series) {
    least = std::min(least, ks_test(column, normal_cdf));
    for (std::size_t i = 0; i < column.size(); ++i) norms[i] += column[i] * column[i];
  }
  return std::min(least, ks_test(norms, [](double x) { return gamma_p(1.5, x / 2); }));
}

double greatest_correlation(const std::vector<std::vector<double>>& series) {
  double greatest = 0;
  for (std::size_t a = 0; a < columns; ++a)
    for (std::size_t b = 0; b < a; ++b) greatest = std::max(greatest, std::abs(correlation(series[a], series[b])));
  return greatest;
}

using parameters = std::tuple<covariance_type, normal_method>;
class Sample : public ::testing::TestWithParam<parameters> {
 protected:
  shoal::gmm::model model_ = mixture(std::get<0>(GetParam()));
  normal_method method_ = std::get<1>(GetParam());
};

TEST_P(Sample, FollowsTheModel) {
  const auto data = draw(model_, 1, 0, 100000, method_);
  std::vector<std::size_t> counts(components);
  for (const std::int32_t label : data.labels) ++counts[static_cast<std::size_t>(label)];
  EXPECT_GT(chi_squared_test(counts, model_.weights), least_p_value);
  for (std::size_t k = 0; k < components; ++k) {
    const auto series = whitened(model_, data, k);
    for (const auto& column : series) EXPECT_LT(moments_deviation(column, 0, 1, 0, 3), 5);
    EXPECT_GT(least_p(series), least_p_value);
    EXPECT_LT(greatest_correlation(series), 5 / std::sqrt(double(series[0].size())));
  }
}

// Negative control: a model whose covariances are 4 % off, or whose means are off by 2 % of a deviation, or whose
// weights are off by one per cent, is refused by the same tests.
TEST_P(Sample, TheTestsHavePower) {
  const auto data = draw(model_, 1, 0, 100000, method_);
  auto wrong = model_;
  for (double& value : wrong.covariances) value *= 1.04;
  EXPECT_LT(least_p(whitened(wrong, data, 1)), least_p_value);
  EXPECT_GT(moments_deviation(whitened(wrong, data, 1)[0], 0, 1, 0, 3), 5);
  wrong = model_;
  wrong.means[3] += 0.02 * std::sqrt(covariance(model_, 1)(0, 0));
  EXPECT_LT(least_p(whitened(wrong, data, 1)), least_p_value);
  std::vector<std::size_t> counts(components);
  for (const std::int32_t label : data.labels) ++counts[static_cast<std::size_t>(label)];
  EXPECT_LT(chi_squared_test(counts, std::vector<double>{0.31, 0.69}), least_p_value);
}

// The mixture as a whole, without the labels: mean Σ π μ and covariance Σ π (Σ_k + μμᵀ) − mean·meanᵀ.
TEST_P(Sample, HasTheMomentsOfTheMixture) {
  constexpr std::size_t count = 100000;
  const auto data = draw(model_, 2, 0, count, method_);
  Eigen::Vector3d mean = Eigen::Vector3d::Zero();
  Eigen::Matrix3d second = Eigen::Matrix3d::Zero();
  for (std::size_t k = 0; k < components; ++k) {
    const Eigen::Map<const Eigen::Vector3d> center(model_.means.data() + columns * k);
    mean += model_.weights[k] * center;
    second += model_.weights[k] * (covariance(model_, k) + center * center.transpose());
  }
  const Eigen::Matrix3d expected = second - mean * mean.transpose();
  const auto as_is = [](double x) { return x; };
  std::vector<double> values(count);
  for (std::size_t a = 0; a < columns; ++a) {
    for (std::size_t i = 0; i < count; ++i) values[i] = data.rows[i * columns + a];
    EXPECT_LT(std::abs(mean_deviation(values, mean[a], as_is)), 5);
    for (std::size_t b = 0; b <= a; ++b) {
      for (std::size_t i = 0; i < count; ++i)
        values[i] = (data.rows[i * columns + a] - mean[a]) * (data.rows[i * columns + b] - mean[b]);
      EXPECT_LT(std::abs(mean_deviation(values, expected(a, b), as_is)), 5) << a << b;
    }
  }
}

TEST_P(Sample, RowIsTheSameInWhateverPiecesItIsDrawn) {
  constexpr std::size_t count = 1009;
  constexpr std::size_t first = (std::size_t{1} << 40) + 13;
  const auto whole = draw(model_, 3, first, count, method_);
  for (const std::size_t piece : {1, 7, 8, 512, 1008}) {
    drawn<double> joined;
    for (std::size_t done = 0; done < count; done += piece) {
      const auto part = draw(model_, 3, first + done, std::min(piece, count - done), method_);
      joined.rows.insert(joined.rows.end(), part.rows.begin(), part.rows.end());
      joined.labels.insert(joined.labels.end(), part.labels.begin(), part.labels.end());
    }
    EXPECT_EQ(joined.rows, whole.rows) << piece;
    EXPECT_EQ(joined.labels, whole.labels) << piece;
  }
}

TEST_P(Sample, FloatIsDoubleRoundedOnce) {
  const auto wide = draw<double>(model_, 4, 0, 5000, method_);
  const auto narrow = draw<float>(model_, 4, 0, 5000, method_);
  EXPECT_EQ(narrow.labels, wide.labels);
  for (std::size_t i = 0; i < wide.rows.size(); ++i) ASSERT_EQ(narrow.rows[i], static_cast<float>(wide.rows[i]));
}

TEST_P(Sample, NeighbouringRowsAndSeedsAreUnrelated) {
  constexpr std::size_t count = 50000;
  auto single = model_;  // one component, so that what is left is the normals
  single.weights = {0, 1};
  const auto a = draw(single, 5, 0, count + 1, method_), b = draw(single, 6, 0, count + 1, method_);
  std::vector<double> here(count), next(count), other(count);
  for (std::size_t i = 0; i < count; ++i) {
    here[i] = a.rows[columns * i];
    next[i] = a.rows[columns * (i + 1)];
    other[i] = b.rows[columns * i];
    ASSERT_EQ(a.labels[i], 1);
  }
  EXPECT_LT(std::abs(correlation(here, next)), 5 / std::sqrt(double(count)));
  EXPECT_LT(std::abs(correlation(here, other)), 5 / std::sqrt(double(count)));
}

std::string case_name(const ::testing::TestParamInfo<parameters>& instance) {
  const char* names[] = {"Full", "Tied", "Diag", "Spherical"};
  return std::string(names[static_cast<int>(std::get<0>(instance.param))]) +
         (std::get<1>(instance.param) == normal_method::ziggurat ? "Ziggurat" : "RatioOfUniforms");
}

INSTANTIATE_TEST_SUITE_P(TypesAndMethods, Sample,
                         ::testing::Combine(::testing::Values(covariance_type::full, covariance_type::tied,
                                                              covariance_type::diag, covariance_type::spherical),
                                            ::testing::Values(normal_method::ratio_of_uniforms,
                                                              normal_method::ziggurat)),
                         case_name);

TEST(SampleByHand, ADegenerateDrawLandsOnTheMean) {
  auto model = mixture(covariance_type::spherical);
  model.weights = {0, 1};
  model.covariances = {1e-300, 1e-300};
  const auto data = draw(model, 1, 0, 5);
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t j = 0; j < columns; ++j) EXPECT_NEAR(data.rows[i * columns + j], model.means[columns + j], 1e-140);
}

TEST(SampleByHand, WritesOnlyTheRowsOfAStridedViewAndNeedsNoLabels) {
  const auto model = mixture(covariance_type::full);
  const auto expected = draw<float>(model, 9, 0, 4);
  std::vector<float> buffer(4 * 5, -1);
  sample(model, 9, 0, shoal::matrix_view<float>(buffer.data(), 4, columns, 5), nullptr);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < columns; ++j) EXPECT_EQ(buffer[5 * i + j], expected.rows[columns * i + j]);
    EXPECT_EQ(buffer[5 * i + 3], -1);
    EXPECT_EQ(buffer[5 * i + 4], -1);
  }
  EXPECT_NO_THROW(sample(model, 9, 0, shoal::matrix_view<float>(nullptr, 0, columns), nullptr));
}

TEST(SampleByHand, MethodsAndSeedsDrawDifferentRows) {
  const auto model = mixture(covariance_type::full);
  const auto rows = draw(model, 1, 0, 10).rows;
  EXPECT_NE(rows, draw(model, 2, 0, 10).rows);
  EXPECT_NE(rows, draw(model, 1, 10, 10).rows);
  EXPECT_NE(rows, draw(model, 1, 0, 10, normal_method::ratio_of_uniforms).rows);
}

// A diagonal covariance written as a full one draws the same bits: the order of the normals does not depend on the
// type.
TEST(SampleByHand, AFullDiagonalCovarianceDrawsTheRowsOfTheDiagonalType) {
  const auto diagonal = mixture(covariance_type::diag);
  auto full = mixture(covariance_type::full);
  std::fill(full.covariances.begin(), full.covariances.end(), 0.0);
  for (std::size_t k = 0; k < components; ++k)
    for (std::size_t j = 0; j < columns; ++j) full.covariances[k * 9 + j * 4] = diagonal.covariances[k * columns + j];
  EXPECT_EQ(draw(full, 1, 0, 100).rows, draw(diagonal, 1, 0, 100).rows);
}

std::string message(const shoal::gmm::model& model, std::size_t width) {
  std::vector<double> buffer(width);
  try {
    sample(model, 0, 0, shoal::matrix_view<double>(buffer.data(), 1, width), nullptr);
  } catch (const shoal::error& failure) {
    return failure.what();
  }
  return "";
}

TEST(SampleRefuses, ACovarianceThatIsNotPositiveDefiniteByComponent) {
  for (const auto type : {covariance_type::full, covariance_type::diag, covariance_type::spherical})
    for (const double wrong : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
      auto model = mixture(type);
      model.covariances[model.covariances.size() / 2] = wrong;
      EXPECT_NE(message(model, columns).find("the covariance of component 1 "), std::string::npos) << wrong;
    }
  auto tied = mixture(covariance_type::tied);
  tied.covariances[8] = -1;
  EXPECT_NE(message(tied, columns).find("the tied covariance"), std::string::npos);
  tied.covariances[8] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(message(tied, columns).find("the tied covariance"), std::string::npos);
}

TEST(SampleRefuses, SizesThatDoNotAgree) {
  const auto model = mixture(covariance_type::full);
  EXPECT_NE(message(model, 2).find("the rows have 2 columns; the model has 3"), std::string::npos);
  auto wrong = model;
  wrong.weights.pop_back();
  EXPECT_NE(message(wrong, columns).find("1 weights"), std::string::npos);
  wrong = model;
  wrong.means.resize(3);
  EXPECT_NE(message(wrong, columns).find("1 means"), std::string::npos);
  wrong = model;
  wrong.covariances.pop_back();
  EXPECT_NE(message(wrong, columns).find("17 covariance elements"), std::string::npos);
  EXPECT_NE(message({}, 0).find("0 components"), std::string::npos);
}

}  // namespace
