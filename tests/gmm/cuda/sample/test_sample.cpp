// Rows drawn on a GPU, against those that the host draws.
#include <algorithm>
#include <cmath>
#include <vector>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/stream.hpp>
#include <shoal/gmm/sample.hpp>

#include "../../../cuda_devices.hpp"
#include "../../kernel_checks.hpp"
#include "../../reference.hpp"

namespace {

namespace gmm = shoal::gmm;
using shoal::random::normal_method;

template <class Scalar>
class DeviceSample : public cuda_devices::on_one_device {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(DeviceSample, scalars);

constexpr normal_method methods[] = {normal_method::ziggurat, normal_method::ratio_of_uniforms};

TYPED_TEST(DeviceSample, DrawsWhatTheHostDraws) {
  for (const gmm::covariance_type type : checks::all_types) {
    for (const std::size_t columns : {1ul, 2ul, 5ul, 33ul}) {
      for (const normal_method method : methods) {
        const std::size_t rows = 40'013, first = 1'000'003;
        auto model = reference::random_model(type, 7, columns, 3.0, 5);
        model.weights[2] += model.weights[4];
        model.weights[4] = 0;
        std::vector<TypeParam> host(rows * columns), device(rows * columns, TypeParam{-7});
        std::vector<std::int32_t> host_labels(rows), device_labels(rows, -7);
        gmm::sample(model, 3, first, shoal::matrix_view<TypeParam>(host.data(), rows, columns), host_labels.data(),
                    method);
        gmm::sample(model, 3, first, shoal::matrix_view<TypeParam>(device.data(), rows, columns), device_labels.data(),
                    method, {{0}, 0});
        ASSERT_EQ(device_labels, host_labels);
        std::size_t different = 0;
        for (std::size_t i = 0; i < host.size(); ++i) {
          different += host[i] != device[i] ? 1 : 0;
          // The last bit of a normal, spread over a row of terms of order one.
          const double tolerance = sizeof(TypeParam) == 4 ? 2.5e-7 : 1e-14;
          ASSERT_NEAR(device[i], host[i], tolerance * (10 + std::abs(host[i]))) << "element " << i;
        }
        if (method == normal_method::ziggurat) {
          EXPECT_LE(different, host.size() / 100) << columns << " columns";
        }
      }
    }
  }
}

TYPED_TEST(DeviceSample, DrawsFewRowsToo) {
  const auto model = reference::random_model(gmm::covariance_type::full, 3, 3, 3.0, 5);
  for (const std::size_t rows : {1ul, 127ul, 129ul}) {
    std::vector<TypeParam> host(rows * 3), device(rows * 3);
    std::vector<std::int32_t> host_labels(rows), device_labels(rows, -7);
    gmm::sample(model, 3, 7, shoal::matrix_view<TypeParam>(host.data(), rows, 3), host_labels.data());
    gmm::sample(model, 3, 7, shoal::matrix_view<TypeParam>(device.data(), rows, 3), device_labels.data(),
                normal_method::ziggurat, {{0}, 0});
    EXPECT_EQ(device_labels, host_labels);
    for (std::size_t i = 0; i < host.size(); ++i) ASSERT_NEAR(device[i], host[i], 1e-5) << i;
  }
}

// Pieces, and memory of the host and of the device, with rows apart.
TYPED_TEST(DeviceSample, WritesWhereItIsTold) {
  const std::size_t columns = 70, rows = 130'001;
  const auto model = reference::random_model(gmm::covariance_type::diag, 3, columns, 3.0, 5);
  std::vector<TypeParam> once(rows * columns), apart(rows * (columns + 3), TypeParam{-7});
  std::vector<std::int32_t> labels(rows);
  gmm::sample(model, 3, 5, shoal::matrix_view<TypeParam>(once.data(), rows, columns), labels.data(),
              normal_method::ziggurat, {{0}, 0});
  gmm::sample(model, 3, 5, shoal::matrix_view<TypeParam>(apart.data(), rows, columns, columns + 3), nullptr,
              normal_method::ziggurat, {{0}, 0});
  shoal::cuda::stream stream;
  shoal::cuda::device_buffer<TypeParam> there(rows * columns);
  shoal::cuda::device_buffer<std::int32_t> labels_there(rows);
  gmm::sample(model, 3, 5, shoal::matrix_view<TypeParam>(there.data(), rows, columns), labels_there.data(),
              normal_method::ziggurat, {{0}, 0});
  EXPECT_EQ(there.download(rows * columns, stream), once);
  EXPECT_EQ(labels_there.download(rows, stream), labels);
  for (std::size_t i = 0; i < rows; ++i) {
    const TypeParam* const row = apart.data() + i * (columns + 3);
    ASSERT_TRUE(std::equal(row, row + columns, once.data() + i * columns)) << i;
    ASSERT_EQ(row[columns], TypeParam{-7}) << i;
  }
  // A later range by itself.
  std::vector<TypeParam> part(100 * columns);
  gmm::sample(model, 3, 5 + 90'000, shoal::matrix_view<TypeParam>(part.data(), 100, columns), nullptr,
              normal_method::ziggurat, {{0}, 0});
  EXPECT_TRUE(std::equal(part.begin(), part.end(), once.begin() + 90'000 * columns));
}

TYPED_TEST(DeviceSample, AgreesOnTwoDevices) {
  SHOAL_NEEDS_DEVICES(2);
  const std::size_t columns = 70, rows = 130'001;
  const auto model = reference::random_model(gmm::covariance_type::full, 3, columns, 3.0, 5);
  std::vector<TypeParam> one(rows * columns), two(rows * columns);
  gmm::sample(model, 3, 5, shoal::matrix_view<TypeParam>(one.data(), rows, columns), nullptr, normal_method::ziggurat,
              {{0}, 0});
  gmm::sample(model, 3, 5, shoal::matrix_view<TypeParam>(two.data(), rows, columns), nullptr, normal_method::ziggurat,
              {{0, 1}, 0});
  EXPECT_EQ(one, two);
}

TYPED_TEST(DeviceSample, RefusesWhatTheHostRefuses) {
  auto model = reference::random_model(gmm::covariance_type::full, 3, 2, 3.0, 5);
  std::vector<TypeParam> rows(20);
  const auto draw = [&](std::size_t columns) {
    gmm::sample(model, 3, 0, shoal::matrix_view<TypeParam>(rows.data(), 5, columns), nullptr, normal_method::ziggurat,
                {{0}, 0});
  };
  EXPECT_THROW(draw(3), shoal::bad_argument);
  model.covariances[4] = -1;
  EXPECT_THROW(draw(2), shoal::numerical_error);
}

}  // namespace
