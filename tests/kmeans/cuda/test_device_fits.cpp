// Whole fits by Lloyd's algorithm on a GPU: the CPU's results, the same bits twice, resumed, on two GPUs.
#include <span>
#include <vector>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <shoal/kmeans/cuda/lloyd.hpp>
#include <shoal/kmeans/fit.hpp>
#include <shoal/kmeans/predict.hpp>

#include "../../cuda_devices.hpp"
#include "../kmeans_reference.hpp"
#include "rows_on_device.hpp"

namespace {

namespace kmeans = shoal::kmeans;
using kmeans_on_device::on_device;
using kmeans_reference::clouds;
using kmeans_reference::spread_rows;
using kmeans_reference::table;

template <class Scalar>
class DeviceFit : public testing::Test {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(DeviceFit, scalars);

// A fit to its end, as kmeans::fit runs it, from given centroids.
template <class Scalar>
struct whole_fit {
  std::vector<double> centroids;
  double inertia = 0;
  shoal::loop_result loop;
  std::size_t relocated = 0;
};

template <class Scalar>
whole_fit<Scalar> fit_on_device(on_device<Scalar>& data, const std::vector<double>& first, double tolerance,
                                kmeans::stop_rule rule) {
  double mean_variance = 0;
  for (const double v : data.summary.variance) mean_variance += v / static_cast<double>(data.summary.columns);
  kmeans::stop_limits limits;
  if (tolerance > 0 && rule == kmeans::stop_rule::scikit_learn) limits.absolute = tolerance * mean_variance;
  if (tolerance > 0 && rule == kmeans::stop_rule::relative_shift) limits.relative = tolerance;
  auto stepper = kmeans::make_device_lloyd<Scalar>(
      data.rows, data.context, first.size() / data.summary.columns, [&](std::size_t) { return first; }, limits,
      data.summary.mean);
  shoal::loop_options loop;
  loop.max_iterations = 300;
  loop.stop = [&](std::span<const shoal::step_record> steps) {
    if (steps.back().change <= limits.absolute) return true;
    return steps.size() > 1 && steps.back().change <= limits.relative * steps[steps.size() - 2].change;
  };
  whole_fit<Scalar> result;
  result.loop = shoal::run_fit(*stepper, loop, {});
  result.centroids = stepper->centroids();
  result.inertia = stepper->inertia();
  result.relocated = stepper->relocated();
  return result;
}

TYPED_TEST(DeviceFit, WholeFitsAreTheCpus) {
  SHOAL_NEEDS_DEVICES(1);
  for (const auto rule : {kmeans::stop_rule::scikit_learn, kmeans::stop_rule::relative_shift}) {
    for (const double tolerance : {0.0, 1e-3}) {
      for (const std::size_t columns : {2, 20, 128}) {
        for (const std::size_t clusters : {3, 40}) {
          const auto made = clouds<TypeParam>(10007, columns, 7, 3);
          kmeans::options options;
          options.clusters = clusters;
          options.init = kmeans::seeding::centroids;
          options.centroids = spread_rows(made.view(), clusters);
          options.tolerance = tolerance;
          options.stop = rule;
          const kmeans::fit_result fact = kmeans::fit(made.view(), options);
          on_device<TypeParam> data(made.view());
          const auto got = fit_on_device<TypeParam>(data, options.centroids, tolerance, rule);
          EXPECT_EQ(got.loop.iterations, fact.iterations);
          EXPECT_EQ(got.loop.converged, fact.converged);
          EXPECT_NEAR(got.inertia, fact.inertia, 1e-6 * fact.inertia);
          std::vector<std::int32_t> labels(made.rows), expected(made.rows);
          kmeans::predict_on_device(data.rows, {clusters, columns, got.centroids, {}}, labels.data());
          kmeans::predict(fact.model, data.source, expected.data());
          EXPECT_EQ(labels, expected);
        }
      }
    }
  }
}

TYPED_TEST(DeviceFit, EmptyClustersTakeFarRows) {
  SHOAL_NEEDS_DEVICES(1);
  const auto made = clouds<TypeParam>(5003, 3, 5, 6);
  kmeans::options options;
  options.clusters = 9;
  options.init = kmeans::seeding::centroids;
  options.centroids = spread_rows(made.view(), 9);
  for (std::size_t j = 0; j < 3; ++j) {
    options.centroids[3 * 4 + j] = 1e5;  // nobody's
    options.centroids[3 * 7 + j] = -1e5;
  }
  options.tolerance = 0;
  const kmeans::fit_result fact = kmeans::fit(made.view(), options);
  ASSERT_GT(fact.relocated, 1u);
  on_device<TypeParam> data(made.view());
  const auto got = fit_on_device<TypeParam>(data, options.centroids, 0, kmeans::stop_rule::scikit_learn);
  EXPECT_EQ(got.relocated, fact.relocated);
  EXPECT_EQ(got.loop.iterations, fact.iterations);
  EXPECT_NEAR(got.inertia, fact.inertia, 1e-6 * fact.inertia);
}

TYPED_TEST(DeviceFit, ClustersStayEmptyWhenNoRowIsOffItsCentroid) {
  SHOAL_NEEDS_DEVICES(1);
  table<TypeParam> two{4100, 2, {}};
  for (std::size_t i = 0; i < two.rows * 2; ++i) two.values.push_back(i / 2 % 2 ? 1 : 5);
  on_device<TypeParam> data(two.view());
  const std::vector<double> first{1, 1, 5, 5, 9, 9};
  const auto got = fit_on_device<TypeParam>(data, first, 0, kmeans::stop_rule::scikit_learn);
  EXPECT_EQ(got.centroids, first);
  EXPECT_EQ(got.inertia, 0);
  EXPECT_TRUE(got.loop.converged);
}

TYPED_TEST(DeviceFit, SameBitsTwiceAndStreamed) {
  SHOAL_NEEDS_DEVICES(1);
  for (const std::size_t columns : {2, 17, 130}) {
    for (const std::size_t clusters : {2, 70, 300}) {
      const auto made = clouds<TypeParam>(50021, columns, 7, 2);
      const std::vector<double> first = spread_rows(made.view(), clusters);
      on_device<TypeParam> resident(made.view());
      const std::size_t memory = 3 * 4096 * columns * sizeof(TypeParam);
      on_device<TypeParam> streamed(made.view(), nullptr, memory);
      ASSERT_TRUE(resident.rows.resident());
      ASSERT_FALSE(streamed.rows.resident());
      const auto a = fit_on_device<TypeParam>(resident, first, 1e-4, kmeans::stop_rule::scikit_learn);
      const auto b = fit_on_device<TypeParam>(resident, first, 1e-4, kmeans::stop_rule::scikit_learn);
      const auto c = fit_on_device<TypeParam>(streamed, first, 1e-4, kmeans::stop_rule::scikit_learn);
      EXPECT_EQ(a.centroids, b.centroids);
      EXPECT_EQ(a.loop.history, b.loop.history);
      EXPECT_EQ(a.centroids, c.centroids);
      EXPECT_EQ(a.loop.history, c.loop.history);
      EXPECT_EQ(a.inertia, c.inertia);
    }
  }
}

TYPED_TEST(DeviceFit, SavesAndRestores) {
  SHOAL_NEEDS_DEVICES(1);
  const auto made = clouds<TypeParam>(20011, 4, 9, 1.5);
  const std::vector<double> first = spread_rows(made.view(), 25);
  on_device<TypeParam> data(made.view());
  const auto make = [&] {
    return kmeans::make_device_lloyd<TypeParam>(
        data.rows, data.context, 25, [&](std::size_t) { return first; }, {}, data.summary.mean);
  };
  const auto a = make(), b = make();
  a->seed(0);
  for (int i = 0; i < 4; ++i) a->advance(1);
  b->restore(a->save());
  EXPECT_EQ(a->save(), b->save());
  a->advance(1);
  b->advance(1);
  EXPECT_EQ(a->centroids(), b->centroids());
}

TYPED_TEST(DeviceFit, TwoDevicesAgreeWithOne) {
  SHOAL_NEEDS_DEVICES(2);
  for (const std::size_t columns : {2, 40}) {
    for (const std::size_t clusters : {3, 70}) {
      const auto made = clouds<TypeParam>(30011, columns, 7, 3);
      const std::vector<double> first = spread_rows(made.view(), clusters);
      on_device<TypeParam> one(made.view()), two(made.view(), nullptr, 0, {0, 1});
      const auto a = fit_on_device<TypeParam>(one, first, 0, kmeans::stop_rule::scikit_learn);
      const auto b = fit_on_device<TypeParam>(two, first, 0, kmeans::stop_rule::scikit_learn);
      EXPECT_EQ(a.loop.iterations, b.loop.iterations);
      EXPECT_NEAR(a.inertia, b.inertia, 1e-9 * a.inertia);
    }
  }
}

}  // namespace
