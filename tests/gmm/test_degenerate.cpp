// Every row of docs/degenerate-data.md that concerns mixtures: the decision and its message.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include <shoal/gmm/predict.hpp>
#include "fit_data.hpp"

namespace {

using namespace fit_data;
using shoal::gmm::covariance_type;
using shoal::gmm::initialization;

shoal::gmm::options options_for(std::size_t components, covariance_type type, double regularization = 1e-6) {
  shoal::gmm::options options;
  options.components = components;
  options.covariance_type = type;
  options.regularization = regularization;
  options.threads = 2;
  return options;
}

void expect_finite(const shoal::gmm::fit_result& result) {
  for (const auto* values : {&result.model.weights, &result.model.means, &result.model.covariances, &result.history}) {
    for (const double value : *values) EXPECT_TRUE(std::isfinite(value));
  }
  EXPECT_TRUE(std::isfinite(result.mean_log_likelihood));
  double sum = 0;
  for (const double weight : result.model.weights) sum += weight;
  EXPECT_NEAR(sum, 1.0, 1e-9);
}

template <class Scalar>
void for_types(const std::function<void(covariance_type)>& body) {
  for (const auto type : all_types()) {
    SCOPED_TRACE(static_cast<int>(type));
    body(type);
  }
}

template <class Scalar>
class DegenerateData : public testing::Test {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(DegenerateData, scalars);

TYPED_TEST(DegenerateData, DuplicatedRowsWithAsManyComponents) {
  const std::vector<double> values{1, 2, 1, 2, 1, 2, 3, 4};
  for_types<TypeParam>([&](covariance_type type) {
    expect_finite(fit<TypeParam>(values, 2, options_for(4, type)));
    const std::string message = message_of([&] { fit<TypeParam>(values, 2, options_for(4, type, 0)); });
    EXPECT_NE(message.find("component"), std::string::npos) << message;
    EXPECT_NE(message.find("ill-defined empirical covariance"), std::string::npos) << message;
  });
}

TYPED_TEST(DegenerateData, ConstantColumn) {
  auto values = clusters(300, 3, 2, 6);
  for (std::size_t i = 0; i < 300; ++i) values[i * 3 + 2] = 7;
  for_types<TypeParam>([&](covariance_type type) { expect_finite(fit<TypeParam>(values, 3, options_for(2, type))); });
  for (const auto type : {covariance_type::full, covariance_type::tied, covariance_type::diag}) {
    EXPECT_NE(message_of([&] {
                fit<TypeParam>(values, 3, options_for(2, type, 0));
              }).find("ill-defined empirical covariance"),
              std::string::npos);
  }
  expect_finite(fit<TypeParam>(values, 3, options_for(2, covariance_type::spherical, 0)));
}

TYPED_TEST(DegenerateData, CollinearColumns) {
  auto values = clusters(300, 2, 2, 6);
  for (std::size_t i = 0; i < 300; ++i) values[i * 2 + 1] = 2 * values[i * 2];
  for_types<TypeParam>([&](covariance_type type) { expect_finite(fit<TypeParam>(values, 2, options_for(2, type))); });
}

TYPED_TEST(DegenerateData, ComponentOfOneRow) {
  auto values = clusters(300, 2, 1, 0);
  values.insert(values.end(), {1000, 1000});
  for_types<TypeParam>([&](covariance_type type) {
    const auto result = fit<TypeParam>(values, 2, options_for(2, type));
    expect_finite(result);
    const std::size_t lone = result.model.weights[0] < result.model.weights[1] ? 0 : 1;
    EXPECT_NEAR(result.model.weights[lone], 1.0 / 301, 1e-6);
    EXPECT_NEAR(result.model.means[lone * 2], 1000, 1e-2);
  });
}

TYPED_TEST(DegenerateData, AnEmptyComponentIsReseededAtTheRowThatFitsWorstAndCounted) {
  const auto values = clusters(600, 2, 2, 40);
  for_types<TypeParam>([&](covariance_type type) {
    auto options = options_for(2, type);
    options.init = initialization::model;
    options.start.covariance_type = type;
    options.start.components = 2;
    options.start.columns = 2;
    options.start.weights = {0.5, 0.5};
    options.start.means = {0, 0, 1e7, 1e7};
    options.start.covariances.assign(shoal::gmm::covariance_size(type, 2, 2), 0.0);
    if (type == covariance_type::diag || type == covariance_type::spherical) {
      for (double& value : options.start.covariances) value = 1;
    } else {
      for (std::size_t m = 0; m + 4 <= options.start.covariances.size(); m += 4)
        options.start.covariances[m] = options.start.covariances[m + 3] = 1;
    }
    options.max_iterations = 200;
    options.tolerance = 1e-9;
    const auto result = fit<TypeParam>(values, 2, options);
    expect_finite(result);
    EXPECT_GE(result.reseeded, 1u);
    // One covariance for all has grown to span both clusters, and a single row cannot narrow it again.
    if (type == covariance_type::tied) return;
    const double low = std::min(result.model.means[0], result.model.means[2]);
    const double high = std::max(result.model.means[0], result.model.means[2]);
    EXPECT_NEAR(low, 0, 0.5);
    EXPECT_NEAR(high, 40, 0.5);
  });
}

TYPED_TEST(DegenerateData, FewerRowsThanComponents) {
  const std::vector<double> values{1, 2, 3, 4};
  for_types<TypeParam>([&](covariance_type type) {
    const std::string message = message_of([&] { fit<TypeParam>(values, 2, options_for(3, type)); });
    EXPECT_NE(message.find("3 components"), std::string::npos) << message;
  });
  const auto many = clusters(10, 2, 1, 0);
  std::vector<double> weights(10, 0.0);
  weights[3] = weights[4] = 1;
  EXPECT_NE(message_of([&] {
              fit<TypeParam>(many, 2, options_for(3, covariance_type::full), &weights);
            }).find("positive weight"),
            std::string::npos);
}

TYPED_TEST(DegenerateData, NotFinite) {
  auto values = clusters(700, 2, 1, 0);
  values[613 * 2 + 1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(
      message_of([&] { fit<TypeParam>(values, 2, options_for(2, covariance_type::full)); }).find("row 613, column 1"),
      std::string::npos);
}

TYPED_TEST(DegenerateData, ASpreadWhoseSquareIsBeyondTheScalarIsRefused) {
  const double huge = sizeof(TypeParam) == 4 ? 1e30 : 1e200;
  std::vector<double> values = clusters(100, 2, 1, 0);
  values[51] = huge;
  values[61] = -huge;
  const std::string message = message_of([&] { fit<TypeParam>(values, 2, options_for(2, covariance_type::full)); });
  EXPECT_NE(message.find("column 1 spans"), std::string::npos) << message;
}

// The first statistics of such rows are made in float64, about centres that must be there.
TEST(DegenerateValues, RowsThatFloat32IsTooCoarseForInAFirstModel) {
  std::vector<float> values;
  for (int i = 0; i < 400; ++i) values.push_back(static_cast<float>(i % 7) + (i % 4 < 2 ? 0.0f : 50.0f));
  values[10] = values[11] = 1e19f;
  for (const auto type : all_types()) {
    for (const auto init : {initialization::kmeans, initialization::plus_plus, initialization::random_rows,
                            initialization::random_responsibilities}) {
      auto options = options_for(3, type);
      options.init = init;
      try {
        expect_finite(shoal::gmm::fit({values.data(), 200, 2}, options));
      } catch (const shoal::error&) {  // a refusal is an answer; a signal is none
      }
    }
  }
}

// Rows that somebody changes after they were checked.
class changing_source final : public shoal::row_source<float> {
 public:
  explicit changing_source(float later) : later_(later) {}
  std::size_t rows() const override { return 200; }
  std::size_t columns() const override { return 2; }
  bool resident() const override { return false; }
  shoal::matrix_view<const float> read(std::size_t first, std::size_t count,
                                       shoal::aligned_buffer<float>& buffer) const override {
    buffer.grow(2 * count);
    const bool checked = reads_++ > 0;
    for (std::size_t i = 0; i < 2 * count; ++i) {
      buffer[i] = checked && i == 10 ? later_ : static_cast<float>((2 * first + i) % 7);
    }
    return {buffer.data(), count, 2};
  }

 private:
  float later_;
  mutable std::atomic<int> reads_{0};
};

// The first statistics of rows that float32 is too coarse for are made in float64, about centres that must be there.
TEST(DegenerateValues, RowsThatChangeAfterTheyWereCheckedAreNoCrash) {
  for (const float later : {1e19F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    for (const auto type : all_types()) {
      auto options = options_for(3, type);
      options.init = initialization::random_responsibilities;
      options.max_iterations = 3;
      try {
        shoal::gmm::fit(changing_source(later), options);
      } catch (const shoal::error&) {  // a refusal is an answer; a signal is none
      }
    }
  }
}

TEST(DegenerateValues, ValuesNearFloat32sLargestFitInFloat64) {
  auto values = clusters(200, 2, 2, 8);
  for (double& value : values) value *= 1e37;
  auto options = options_for(2, covariance_type::full);
  options.init = initialization::kmeans;
  expect_finite(fit<double>(values, 2, options));
}

TYPED_TEST(DegenerateData, Denormals) {
  auto values = clusters(200, 2, 2, 8);
  for (double& value : values) value *= sizeof(TypeParam) == 4 ? 1e-40 : 1e-310;
  for_types<TypeParam>([&](covariance_type type) {
    auto options = options_for(2, type);
    for (const auto init : {initialization::kmeans, initialization::kmeans_of_tenth}) {
      options.init = init;
      expect_finite(fit<TypeParam>(values, 2, options));
    }
  });
  const std::string message = message_of([&] { fit<TypeParam>(values, 2, options_for(1, covariance_type::diag, 0)); });
  EXPECT_NE(message.find("component 0"), std::string::npos) << message;
}

TYPED_TEST(DegenerateData, OneRowAndOneColumn) {
  for_types<TypeParam>([&](covariance_type type) {
    const auto one = fit<TypeParam>({2.5}, 1, options_for(1, type));
    expect_finite(one);
    EXPECT_DOUBLE_EQ(one.model.means[0], 2.5);
    EXPECT_NEAR(one.model.covariances[0], 1e-6, 1e-12);
    expect_finite(fit<TypeParam>(clusters(50, 1, 2, 9), 1, options_for(2, type)));
    expect_finite(fit<TypeParam>(clusters(1, 9, 1, 0), 9, options_for(1, type)));
  });
}

TYPED_TEST(DegenerateData, ARowFarFromEveryComponentHasAFiniteDensityAndWholeResponsibilities) {
  const auto values = clusters(400, 2, 2, 5);
  for_types<TypeParam>([&](covariance_type type) {
    const auto result = fit<TypeParam>(values, 2, options_for(2, type));
    for (const double far : {1e3, 1e6, 1e12}) {
      const std::vector<TypeParam> row{static_cast<TypeParam>(far), static_cast<TypeParam>(-far)};
      const shoal::view_source<TypeParam> source({row.data(), 1, 2});
      std::int32_t label = -1;
      TypeParam responsibilities[2]{}, density = 0;
      const double mean = shoal::gmm::predict(result.model, source, {&label, responsibilities, &density});
      EXPECT_TRUE(std::isfinite(mean)) << far;
      EXPECT_NEAR(responsibilities[0] + responsibilities[1], 1.0, 1e-6);
      EXPECT_GE(label, 0);
    }
  });
}

TEST(BadArgument, EachOptionIsCheckedAndNamed) {
  const auto values = clusters(50, 2, 1, 0);
  const auto refused = [&](auto&& change, const char* expected) {
    auto options = options_for(2, covariance_type::full);
    change(options);
    try {
      fit<double>(values, 2, options);
      ADD_FAILURE() << expected << " was accepted";
    } catch (const shoal::bad_argument& failure) {
      EXPECT_NE(std::string(failure.what()).find(expected), std::string::npos) << failure.what();
    }
  };
  refused([](auto& o) { o.components = 0; }, "components");
  refused([](auto& o) { o.tolerance = -1; }, "tolerance");
  refused([](auto& o) { o.tolerance = std::nan(""); }, "tolerance");
  refused([](auto& o) { o.regularization = -1e-6; }, "regularization");
  refused([](auto& o) { o.regularization = std::numeric_limits<double>::infinity(); }, "regularization");
  refused([](auto& o) { o.restarts = 0; }, "restarts");
  refused([](auto& o) { o.threads = 100000; }, "threads");
  refused([](auto& o) { o.init = initialization::model; }, "start");
  refused(
      [](auto& o) {
        o.init = initialization::model;
        o.start.components = 2;
        o.start.columns = 3;
        o.start.weights = {0.5, 0.5};
        o.start.means.assign(6, 0.0);
        o.start.covariances.assign(18, 0.0);
        for (std::size_t k = 0; k < 2; ++k) {
          for (std::size_t j = 0; j < 3; ++j) o.start.covariances[k * 9 + j * 4] = 1;
        }
      },
      "columns");
  shoal::gmm::model model;
  model.components = 1;
  model.columns = 1;
  model.weights = {1};
  model.means = {0};
  model.covariances = {-1};
  const double value = 0;
  const shoal::view_source<double> source({&value, 1, 1});
  EXPECT_THROW(shoal::gmm::predict(model, source, {}), shoal::error);
}

}  // namespace
