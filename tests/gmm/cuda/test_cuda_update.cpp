// Stepwise EM through the door, on CUDA devices against the host.
#include <cmath>
#include <limits>
#include <vector>

#include <shoal/core/error.hpp>
#include <shoal/gmm/fit.hpp>
#include <shoal/gmm/update.hpp>

#include "../../cuda_devices.hpp"
#include "../../kmeans/kmeans_reference.hpp"
#include "../fit_data.hpp"

namespace {

namespace gmm = shoal::gmm;
using kmeans_reference::clouds;
using kmeans_reference::table;

struct batches {
  gmm::model model;
  std::vector<double> log_likelihoods;
};

template <class Scalar>
std::vector<Scalar> uneven_weights(std::size_t rows) {
  std::vector<Scalar> weights;
  for (std::size_t i = 0; i < rows; ++i) weights.push_back(static_cast<Scalar>(i % 5 == 0 ? 0.0 : 40.0 + i % 7));
  return weights;
}

template <class Scalar>
batches after_batches(const table<Scalar>& made, gmm::model model, const std::vector<Scalar>* weights,
                      const shoal::device_choice& device) {
  batches done{std::move(model), {}};
  constexpr std::size_t batch = 9001;
  double step = 1;
  for (std::size_t first = 0; first < made.rows; first += batch, step *= 0.6) {
    const std::size_t count = std::min(batch, made.rows - first);
    const shoal::view_source<Scalar> rows(made.view().middle_rows(first, count));
    const Scalar* const own = weights == nullptr ? nullptr : weights->data() + first;
    const shoal::view_source<Scalar> held({own, count, 1});
    done.log_likelihoods.push_back(
        gmm::update(done.model, rows, {step, 1e-6, 2, 0, device}, own == nullptr ? nullptr : &held));
  }
  return done;
}

void expect_near(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance * (1 + std::abs(b[i]))) << i;
}

template <class Scalar>
class CudaUpdate : public cuda_devices::on_one_device {
 protected:
  static gmm::model start(const table<Scalar>& made, gmm::covariance_type type, std::size_t components) {
    gmm::options options;
    options.components = components;
    options.covariance_type = type;
    options.init = gmm::initialization::parallel;
    options.max_iterations = 2;
    options.threads = 2;
    return gmm::fit(shoal::view_source<Scalar>(made.view()), options).model;
  }
};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(CudaUpdate, scalars);

TYPED_TEST(CudaUpdate, LeadsToTheHostsModel) {
  const double tolerance = sizeof(TypeParam) == 4 ? 1e-4 : 1e-9;
  for (const std::size_t columns : {1, 3, 18}) {
    const auto made = clouds<TypeParam>(20'011, columns, 4, 6, 50);
    const auto weights = uneven_weights<TypeParam>(made.rows);
    for (const gmm::covariance_type type : fit_data::all_types()) {
      SCOPED_TRACE(testing::Message() << columns << " columns, type " << static_cast<int>(type));
      const gmm::model first = this->start(made, type, 4);
      for (const auto* const given : {static_cast<const std::vector<TypeParam>*>(nullptr), &weights}) {
        const auto host = after_batches<TypeParam>(made, first, given, {});
        const auto device = after_batches<TypeParam>(made, first, given, {{0}, 0});
        const auto streamed =
            after_batches<TypeParam>(made, first, given, {{0}, 2 * 4096 * (columns + 1) * sizeof(TypeParam)});
        expect_near(device.log_likelihoods, host.log_likelihoods, tolerance);
        expect_near(device.model.weights, host.model.weights, tolerance);
        expect_near(device.model.means, host.model.means, tolerance);
        expect_near(device.model.covariances, host.model.covariances, tolerance);
        EXPECT_EQ(streamed.model.means, device.model.means);
        EXPECT_EQ(streamed.model.covariances, device.model.covariances);
      }
    }
  }
}

// A whole step is an iteration of EM, on the device too.
TYPED_TEST(CudaUpdate, AWholeStepIsAnIteration) {
  const auto made = clouds<TypeParam>(10'007, 3, 4, 6);
  const shoal::view_source<TypeParam> rows(made.view());
  gmm::model model = this->start(made, gmm::covariance_type::full, 4);
  gmm::options options;
  options.components = 4;
  options.init = gmm::initialization::model;
  options.start = model;
  options.max_iterations = 1;
  options.device = {{0}, 0};
  const gmm::fit_result fitted = gmm::fit(rows, options);
  EXPECT_EQ(gmm::update(model, rows, {1, options.regularization, 2, 0, options.device}), fitted.history[0]);
  expect_near(model.covariances, fitted.model.covariances, 1e-10);
}

TYPED_TEST(CudaUpdate, AgreesOnTwoDevices) {
  SHOAL_NEEDS_DEVICES(2);
  const auto made = clouds<TypeParam>(20'011, 5, 4, 6);
  const auto weights = uneven_weights<TypeParam>(made.rows);
  for (const gmm::covariance_type type : fit_data::all_types()) {
    const gmm::model first = this->start(made, type, 4);
    const auto one = after_batches<TypeParam>(made, first, &weights, {{0}, 0});
    const auto two = after_batches<TypeParam>(made, first, &weights, {{0, 1}, 0});
    const double tolerance = sizeof(TypeParam) == 4 ? 1e-5 : 1e-9;
    expect_near(two.log_likelihoods, one.log_likelihoods, tolerance);
    expect_near(two.model.covariances, one.model.covariances, tolerance);
  }
}

TYPED_TEST(CudaUpdate, LeavesTheModelAloneWhenItIsRefused) {
  auto made = clouds<TypeParam>(5000, 3, 4, 6);
  gmm::model model = this->start(made, gmm::covariance_type::full, 4);
  const std::vector<double> before = model.means;
  made.values[3 * 4321 + 1] = std::numeric_limits<TypeParam>::quiet_NaN();
  const shoal::view_source<TypeParam> rows(made.view());
  const gmm::update_options options{0.5, 1e-6, 2, 0, {{0}, 0}};
  EXPECT_NE(fit_data::message_of([&] { gmm::update(model, rows, options); }).find("row 4321, column 1"),
            std::string::npos);
  EXPECT_EQ(model.means, before);
}

}  // namespace
