// Parameters, statistics and the maximisation step: closed forms, laws, and what is refused.
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/accumulate.hpp>
#include <shoal/gmm/check_model.hpp>
#include <shoal/gmm/maximise.hpp>
#include <shoal/gmm/parameters.hpp>
#include <shoal/gmm/statistics.hpp>
#include <shoal/gmm/tuning.hpp>

#include "kernel_checks.hpp"
#include "reference.hpp"

namespace {

using checks::all_types;
using shoal::gmm::covariance_type;

TEST(Maximise, IsTheSampleCovarianceForOneComponent) {
  // Four rows whose moments are known by hand: means 2 and 3, variances 5 and 2, covariance 3.
  const std::vector<double> rows = {-1, 1, 1, 3, 3, 3, 5, 5};
  auto model = reference::random_model(covariance_type::full, 1, 2, 1.0, 1);
  const auto ready = shoal::gmm::prepare<double>(model);
  const auto empty =
      shoal::gmm::maximise(checks::accumulate<double>(ready, {rows.data(), 4, 2}), ready.centres, 0.25, model);
  EXPECT_TRUE(empty.empty());
  const std::vector<double> expected_means = {2, 3};
  const std::vector<double> expected_covariance = {5.25, 3, 3, 2.25};
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(model.means[i], expected_means[i], 1e-14);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(model.covariances[i], expected_covariance[i], 1e-14);
  EXPECT_EQ(model.weights, std::vector<double>{1.0});
}

TEST(Maximise, NeverLowersTheLikelihood) {
  for (const covariance_type type : all_types) {
    auto model = reference::random_model(type, 4, 5, 1.0, 81);
    const auto values = reference::random_rows<double>(reference::random_model(type, 4, 5, 2.0, 82), 1500, 5, 83);
    double previous = -1e300;
    for (int iteration = 0; iteration < 25; ++iteration) {
      const auto ready = shoal::gmm::prepare<double>(model);
      const auto sums = checks::accumulate<double>(ready, {values.data(), 1500, 5});
      EXPECT_GE(sums.log_likelihood(), previous - 1e-9 * std::abs(previous)) << checks::name(type);
      previous = sums.log_likelihood();
      shoal::gmm::maximise(sums, ready.centres, 0.0, model);
      double weight = 0;
      for (const double w : model.weights) weight += w;
      EXPECT_NEAR(weight, 1.0, 1e-14);
    }
  }
}

// The step written out: every moment about the new mean itself.
TEST(Maximise, EqualsTheTextbook) {
  for (const covariance_type type : all_types) {
    const auto start = reference::random_model(type, 3, 4, 1.0, 91);
    const auto values = reference::random_rows<double>(start, 700, 4, 92);
    const shoal::matrix_view<const double> view(values.data(), 700, 4);
    const auto ready = shoal::gmm::prepare<double>(start);
    auto got = start;
    shoal::gmm::maximise(checks::accumulate<double>(ready, view), ready.centres, 1e-3, got);

    const reference::mixture mixture(start);
    std::vector<double> weight(3, 0.0);
    std::vector<double> mean(12, 0.0);
    std::vector<std::vector<double>> r;
    for (std::size_t n = 0; n < 700; ++n) {
      r.push_back(mixture.of(reference::row(view, n)).responsibilities);
      for (std::size_t k = 0; k < 3; ++k) {
        weight[k] += r[n][k];
        for (std::size_t j = 0; j < 4; ++j) mean[k * 4 + j] += r[n][k] * view(n, j);
      }
    }
    for (std::size_t i = 0; i < 12; ++i) mean[i] /= weight[i / 4];
    shoal::gmm::statistics about(shoal::gmm::statistics_layout(covariance_type::full, 3, 4));
    for (std::size_t n = 0; n < 700; ++n) {
      for (std::size_t k = 0; k < 3; ++k) reference::add(about, k, r[n][k], reference::row(view, n), &mean[k * 4]);
    }
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_NEAR(got.weights[k], weight[k] / 700, 1e-13);
      double trace = 0;
      for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_NEAR(got.means[k * 4 + i], mean[k * 4 + i], 1e-12);
        trace += about.second(k, i, i) / weight[k];
        if (type == covariance_type::diag) {
          EXPECT_NEAR(got.covariances[k * 4 + i], about.second(k, i, i) / weight[k] + 1e-3, 1e-12);
        }
        for (std::size_t j = 0; j < 4; ++j) {
          const double ridge = i == j ? 1e-3 : 0.0;
          if (type == covariance_type::full) {
            EXPECT_NEAR(got.covariances[(k * 4 + i) * 4 + j], about.second(k, i, j) / weight[k] + ridge, 1e-12);
          }
          if (type == covariance_type::tied) {
            double sum = 0;
            for (std::size_t c = 0; c < 3; ++c) sum += about.second(c, i, j);
            EXPECT_NEAR(got.covariances[i * 4 + j], sum / 700 + ridge, 1e-12);
          }
        }
      }
      if (type == covariance_type::spherical) {
        EXPECT_NEAR(got.covariances[k], trace / 4 + 1e-3, 1e-12);
      }
    }
  }
}

TEST(Maximise, OfSphericalLooksAtTheTraceAlone) {
  // Ten rows about the origin whose mean is (1, 0, 2) and whose squares sum to 110: (110 / 10 − 5) / 3 = 2.
  const auto variance = [](double first, double second, double third) {
    auto model = reference::random_model(covariance_type::spherical, 1, 3, 1.0, 1);
    const std::vector<double> centres(3, 0.0);
    shoal::gmm::statistics sums(shoal::gmm::statistics_layout(covariance_type::spherical, 1, 3));
    const auto& layout = sums.layout();
    sums.values()[layout.total_weight()] = sums.values()[layout.weight(0)] = 10;
    sums.values()[layout.first(0, 0)] = 10;
    sums.values()[layout.first(0, 2)] = 20;
    sums.values()[layout.second(0, 0, 0)] = first;
    sums.values()[layout.second(0, 1, 1)] = second;
    sums.values()[layout.second(0, 2, 2)] = third;
    shoal::gmm::maximise(sums, centres, 0.5, model);
    return model.covariances[0];
  };
  EXPECT_DOUBLE_EQ(variance(30, 20, 60), 2.5);
  EXPECT_DOUBLE_EQ(variance(110, 0, 0), 2.5);
}

TEST(Maximise, ReportsEmptyComponentsAndLeavesThemAsTheyWere) {
  for (const covariance_type type : all_types) {
    auto model = reference::random_model(type, 3, 2, 1.0, 95);
    const auto values = reference::random_rows<float>(model, 200, 2, 96);
    model.means[2] = 1e5;  // component 1
    model.means[3] = -1e5;
    const auto before = model;
    const auto ready = shoal::gmm::prepare<float>(model);
    const auto empty =
        shoal::gmm::maximise(checks::accumulate<float>(ready, {values.data(), 200, 2}), ready.centres, 1e-6, model);
    EXPECT_EQ(empty, std::vector<std::size_t>{1}) << checks::name(type);
    EXPECT_EQ(model.means[2], before.means[2]);
    EXPECT_EQ(model.means[3], before.means[3]);
    EXPECT_EQ(model.weights[1], 0.0);
    for (const double element : model.covariances) EXPECT_TRUE(std::isfinite(element));
    if (type == covariance_type::full) {
      for (std::size_t i = 4; i < 8; ++i) EXPECT_EQ(model.covariances[i], before.covariances[i]);
    }
  }
}

shoal::gmm::statistics sums_of(covariance_type type, const std::vector<double>& centres, unsigned seed,
                               std::size_t rows) {
  const auto model = reference::random_model(type, 3, 4, 1.0, 101);
  const auto values = reference::random_rows<double>(model, rows, 4, seed);
  return reference::accumulate(model, centres, shoal::matrix_view<const double>(values.data(), rows, 4));
}

TEST(Statistics, AreTakenOutAgain) {
  for (const covariance_type type : all_types) {
    const std::vector<double> centres(12, 0.25);
    const shoal::gmm::statistics_group group(shoal::gmm::statistics_layout(type, 3, 4));
    const auto a = sums_of(type, centres, 1, 40);
    const auto b = sums_of(type, centres, 2, 50);
    auto without_b = a;
    group.combine_into(without_b, b);
    group.subtract_from(without_b, b);
    checks::expect_close(without_b, a, 1e-13, "(a + b) − b = a");
    EXPECT_EQ(group.bytes(), a.values().size() * sizeof(double));
  }
}

TEST(Statistics, MoveToOtherCentresAndBack) {
  for (const covariance_type type : all_types) {
    std::vector<double> here;
    std::vector<double> there;
    for (std::size_t i = 0; i < 12; ++i) {
      here.push_back(0.1 * static_cast<double>(i));
      there.push_back(2.0 - 0.3 * static_cast<double>(i % 5));
    }
    const auto about_here = sums_of(type, here, 7, 100);
    const auto about_there = sums_of(type, there, 7, 100);
    auto moved = about_here;
    shoal::gmm::translate(moved, here, there);
    checks::expect_close(moved, about_there, 1e-13, checks::name(type) + " moved");
    shoal::gmm::translate(moved, there, here);
    checks::expect_close(moved, about_here, 1e-13, checks::name(type) + " moved back");
  }
}

TEST(Statistics, GiveEveryElementItsOwnPlace) {
  for (const covariance_type type : all_types) {
    for (const std::size_t columns : {1, 2, 5}) {
      const shoal::gmm::statistics_layout layout(type, 3, columns);
      std::vector<int> used(layout.size(), 0);
      ++used[layout.log_likelihood()];
      ++used[layout.total_weight()];
      ++used[layout.far_rows()];
      for (std::size_t k = 0; k < 3; ++k) {
        ++used[layout.weight(k)];
        for (std::size_t i = 0; i < columns; ++i) {
          ++used[layout.first(k, i)];
          if (type == covariance_type::tied && k > 0) continue;
          for (std::size_t j = i; j < (layout.has_matrices() ? columns : i + 1); ++j) ++used[layout.second(k, i, j)];
        }
      }
      std::size_t spare = 0;
      for (const int count : used) {
        EXPECT_LE(count, 1);
        spare += count == 0 ? 1 : 0;
      }
      EXPECT_EQ(spare, 1u) << checks::name(type);
    }
  }
}

std::string failure_of(const shoal::gmm::model& model) {
  try {
    shoal::gmm::prepare<float>(model);
  } catch (const shoal::numerical_error& failure) {
    return failure.what();
  }
  return "";
}

TEST(Parameters, NameTheComponentThatCollapsed) {
  for (const covariance_type type : all_types) {
    auto model = reference::random_model(type, 4, 3, 1.0, 5);
    const std::size_t size = model.covariances.size();
    const std::size_t last = type == covariance_type::tied ? 0 : 3;
    const std::size_t each = size / (type == covariance_type::tied ? 1 : 4);
    for (std::size_t i = 0; i < each; ++i) model.covariances[last * each + i] = 0;
    const std::string message = failure_of(model);
    EXPECT_NE(message.find("ill-defined empirical covariance"), std::string::npos) << message;
    EXPECT_NE(message.find("regularization"), std::string::npos) << message;
    if (type != covariance_type::tied) {
      EXPECT_NE(message.find("component 3"), std::string::npos) << message;
    }
    model.covariances[last * each] = std::nan("");
    EXPECT_NE(failure_of(model).find("ill-defined"), std::string::npos);
  }
}

TEST(Parameters, RefuseAMeanBeyondTheScalar) {
  auto model = reference::random_model(covariance_type::diag, 2, 3, 1.0, 5);
  model.means[4] = 1e39;
  const std::string message = failure_of(model);
  EXPECT_NE(message.find("component 1 in column 1"), std::string::npos) << message;
  EXPECT_NO_THROW(shoal::gmm::prepare<double>(model));
}

TEST(Parameters, AreTheSameOnAnyExecutor) {
  struct shape {
    covariance_type type;
    std::size_t components, columns;
  };
  // The last is large enough that the workers are woken.
  static_assert(90 * 40 * 40 >= shoal::gmm::least_shared_elements);
  static_assert(90 * 40 * 40 * 40 >= shoal::gmm::least_shared_factor_work);
  std::vector<shape> shapes{{covariance_type::full, 90, 40}};
  for (const covariance_type type : all_types) shapes.push_back({type, 5, 6});
  const auto workers = shoal::make_threads(3);
  for (const shape& s : shapes) {
    auto model = reference::random_model(s.type, s.components, s.columns, 1.0, 9);
    const auto values = reference::random_rows<float>(model, 700, s.columns, 10);
    const auto alone = shoal::gmm::prepare<float>(model);
    const auto shared = shoal::gmm::prepare<float>(model, workers.get());
    for (std::size_t i = 0; i < alone.packed.factors.size(); ++i) {
      ASSERT_EQ(alone.packed.factors[i], shared.packed.factors[i]);
    }
    for (std::size_t k = 0; k < s.components; ++k) {
      ASSERT_EQ(alone.packed.log_constants[k], shared.packed.log_constants[k]);
    }
    const auto sums = checks::accumulate<float>(alone, {values.data(), 700, s.columns});
    auto other = model;
    shoal::gmm::maximise(sums, alone.centres, 1e-6, model);
    shoal::gmm::maximise(sums, alone.centres, 1e-6, other, workers.get());
    EXPECT_EQ(model.means, other.means);
    EXPECT_EQ(model.covariances, other.covariances);
  }
}

TEST(Model, CountsItsParameters) {
  // Two columns and three components, as scikit-learn counts them; and its 13, 21, 26, 41 for five columns, two
  // components.
  EXPECT_EQ(shoal::gmm::free_parameters(covariance_type::full, 3, 2), 17);
  EXPECT_EQ(shoal::gmm::free_parameters(covariance_type::spherical, 2, 5), 13);
  EXPECT_EQ(shoal::gmm::free_parameters(covariance_type::diag, 2, 5), 21);
  EXPECT_EQ(shoal::gmm::free_parameters(covariance_type::tied, 2, 5), 26);
  EXPECT_EQ(shoal::gmm::free_parameters(covariance_type::full, 2, 5), 41);
}

void expect_refused(const shoal::gmm::model& model, const std::string& part) {
  try {
    shoal::gmm::validate_model(model);
    ADD_FAILURE() << "accepted; expected a message with: " << part;
  } catch (const shoal::bad_argument& failure) {
    EXPECT_NE(std::string(failure.what()).find(part), std::string::npos) << failure.what();
  }
}

TEST(Model, IsRefusedWithAReason) {
  for (const covariance_type type : all_types) {
    EXPECT_NO_THROW(shoal::gmm::validate_model(reference::random_model(type, 3, 4, 1.0, 5)));
    const auto good = reference::random_model(type, 3, 4, 1.0, 5);
    auto model = good;
    model.covariances.pop_back();
    expect_refused(model, "elements of covariances");
    model = good;
    model.covariances[0] = -1;
    expect_refused(model, "must be positive");
    model = good;
    model.covariances[0] = std::nan("");
    expect_refused(model, "finite");
  }
  const auto good = reference::random_model(covariance_type::full, 3, 4, 1.0, 5);
  auto model = good;
  model.weights[1] += 0.1;
  expect_refused(model, "sum to");
  model = good;
  model.weights[1] = -model.weights[1];
  expect_refused(model, "component 1");
  model = good;
  model.means[6] = std::nan("");
  expect_refused(model, "component 1 in column 2");
  model = good;
  model.covariances[16 + 1] += 0.5;
  expect_refused(model, "component 1 is not symmetric");
  model = good;
  model.components = 0;
  expect_refused(model, "at least one");
}

}  // namespace
