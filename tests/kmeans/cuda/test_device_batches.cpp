// Batches, distances and chosen rows on a GPU against the CPU's.
#include <limits>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/stream.hpp>
#include <shoal/kmeans/choose_rows.hpp>
#include <shoal/kmeans/distances.hpp>
#include <shoal/kmeans/update.hpp>

#include "../../cuda_devices.hpp"
#include "../kmeans_reference.hpp"

namespace {

namespace kmeans = shoal::kmeans;
using kmeans_reference::clouds;
using kmeans_reference::spread_rows;
using kmeans_reference::table;

template <class Scalar>
std::vector<Scalar> uneven_weights(std::size_t rows) {
  std::vector<Scalar> weights;
  for (std::size_t i = 0; i < rows; ++i) weights.push_back(static_cast<Scalar>(i % 5 == 0 ? 0.0 : 100.0 + i % 7));
  return weights;
}

shoal::device_choice gpus(std::size_t count = 1, std::size_t memory = 0) {
  return {cuda_devices::first(count), memory};
}

template <class Scalar>
class DeviceBatches : public cuda_devices::on_one_device {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(DeviceBatches, scalars);

// The state of k-means on batches, as it goes.
struct centroids_so_far {
  kmeans::model model;
  std::vector<double> seen;
  std::vector<std::int32_t> labels;
  std::vector<double> inertia;
};

template <class Scalar>
centroids_so_far after_batches(const table<Scalar>& made, std::size_t clusters, const std::vector<Scalar>* weights,
                               const shoal::device_choice& device) {
  centroids_so_far state{{clusters, made.columns, spread_rows(made.view(), clusters), {}},
                         std::vector<double>(clusters, 0.0),
                         std::vector<std::int32_t>(made.rows, -1),
                         {}};
  constexpr std::size_t batch = 9001;
  for (std::size_t first = 0; first < made.rows; first += batch) {
    const std::size_t count = std::min(batch, made.rows - first);
    const shoal::view_source<Scalar> rows(made.view().middle_rows(first, count));
    const Scalar* const own = weights == nullptr ? nullptr : weights->data() + first;
    const shoal::view_source<Scalar> held({own, count, 1});
    state.inertia.push_back(kmeans::update(state.model, state.seen, rows, state.labels.data() + first, 2, 0,
                                           own == nullptr ? nullptr : &held, {}, device));
  }
  return state;
}

TYPED_TEST(DeviceBatches, LeadToTheCpusCentroids) {
  for (const std::size_t columns : {1, 3, 17, 130}) {
    for (const std::size_t clusters : {1, 5, 64, 300}) {
      SCOPED_TRACE(testing::Message() << columns << " columns, " << clusters << " clusters");
      const auto made = clouds<TypeParam>(20'011, columns, 5, 4);
      const auto weights = uneven_weights<TypeParam>(made.rows);
      for (const auto* const given : {static_cast<const std::vector<TypeParam>*>(nullptr), &weights}) {
        const auto host = after_batches<TypeParam>(made, clusters, given, {});
        const auto device = after_batches<TypeParam>(made, clusters, given, gpus());
        const auto streamed =
            after_batches<TypeParam>(made, clusters, given, gpus(1, 2 * 4096 * (columns + 1) * sizeof(TypeParam)));
        EXPECT_EQ(streamed.model.centroids, device.model.centroids);
        EXPECT_EQ(streamed.labels, device.labels);
        std::size_t different = 0;
        for (std::size_t i = 0; i < made.rows; ++i) different += device.labels[i] != host.labels[i];
        EXPECT_LE(different, made.rows / 5000);  // centroids differ in their last bits from the second batch on
        for (std::size_t k = 0; k < clusters; ++k) EXPECT_NEAR(device.seen[k], host.seen[k], 1e-3 * host.seen[k] + 110);
        for (std::size_t i = 0; i < device.model.centroids.size(); ++i) {
          EXPECT_NEAR(device.model.centroids[i], host.model.centroids[i], 1e-3);
        }
        for (std::size_t i = 0; i < host.inertia.size(); ++i) {
          EXPECT_NEAR(device.inertia[i], host.inertia[i], 1e-4 * host.inertia[i]);
        }
      }
    }
  }
}

TYPED_TEST(DeviceBatches, LeaveTheModelAloneWhenTheyAreRefused) {
  auto made = clouds<TypeParam>(5000, 3, 5, 4);
  made.values[3 * 4321 + 1] = std::numeric_limits<TypeParam>::quiet_NaN();
  kmeans::model model{2, 3, {0, 0, 0, 1, 1, 1}, {}};
  std::vector<double> seen{1, 2};
  const shoal::view_source<TypeParam> rows(made.view());
  EXPECT_THROW(kmeans::update(model, seen, rows, nullptr, 2, 0, nullptr, {}, gpus()), shoal::bad_data);
  EXPECT_EQ(model.centroids, (std::vector<double>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(seen, (std::vector<double>{1, 2}));
}

TYPED_TEST(DeviceBatches, DistancesHaveTheCpusBits) {
  for (const std::size_t columns : {1, 2, 15, 16, 17, 33, 257}) {
    for (const std::size_t clusters : {1, 2, 15, 16, 17, 63, 64, 65, 131}) {
      for (const std::size_t rows : {1, 63, 64, 65, 4099}) {
        const auto made = clouds<TypeParam>(rows, columns, 5, 2.5, 1e6);
        const shoal::view_source<TypeParam> source(made.view());
        kmeans::model model{clusters, columns, {}, {}};
        kmeans_reference::uniform u(clusters);
        for (std::size_t i = 0; i < clusters * columns; ++i) model.centroids.push_back(1e6 + 10 * u());
        std::vector<TypeParam> host(rows * clusters, -1), device(rows * clusters, -2);
        kmeans::distances(model, source, host.data(), 2);
        kmeans::distances(model, source, device.data(), 2, 0, {}, gpus());
        ASSERT_EQ(device, host) << rows << " x " << columns << ", K = " << clusters;
      }
    }
  }
}

TYPED_TEST(DeviceBatches, DistancesOfStreamedRowsAndIntoDeviceMemory) {
  const std::size_t rows = 3 * 4096 + 77, columns = 5, clusters = 2500;  // more than one part waits for its copy
  const auto made = clouds<TypeParam>(rows, columns, 5, 2.5);
  const shoal::view_source<TypeParam> source(made.view());
  const kmeans::model model{clusters, columns, spread_rows(made.view(), clusters), {}};
  std::vector<TypeParam> host(rows * clusters), streamed(rows * clusters);
  kmeans::distances(model, source, host.data(), 2);
  kmeans::distances(model, source, streamed.data(), 2, 0, {}, gpus(1, 2 * 4096 * columns * sizeof(TypeParam)));
  EXPECT_TRUE(streamed == host);
  const shoal::cuda::device_scope scope(0);
  shoal::cuda::device_buffer<TypeParam> there(rows * clusters);
  kmeans::distances(model, source, there.data(), 2, 0, {}, gpus());
  EXPECT_TRUE(there.download(rows * clusters, cudaStreamPerThread) == host);
}

TYPED_TEST(DeviceBatches, ChosenRowsAreTheCpus) {
  for (const std::size_t trials : {0, 1, 11}) {
    const auto made = clouds<TypeParam>(30'001, 4, 7, 5);
    const auto weights = uneven_weights<TypeParam>(made.rows);
    const shoal::view_source<TypeParam> rows(made.view()), weight_rows({weights.data(), made.rows, 1});
    for (const auto* const given : {static_cast<decltype(&weight_rows)>(nullptr), &weight_rows}) {
      kmeans::choice_options options;
      options.clusters = 20;
      options.seed = 3;
      options.trials = trials;
      options.threads = 2;
      const auto host = kmeans::choose_rows(rows, options, given);
      options.device = gpus();
      EXPECT_EQ(kmeans::choose_rows(rows, options, given), host);
    }
  }
}

TYPED_TEST(DeviceBatches, AgreeOnTwoDevices) {
  SHOAL_NEEDS_DEVICES(2);
  const auto made = clouds<TypeParam>(50'021, 6, 5, 4);
  const shoal::view_source<TypeParam> rows(made.view());
  const auto one = after_batches<TypeParam>(made, 9, nullptr, gpus(1));
  const auto two = after_batches<TypeParam>(made, 9, nullptr, gpus(2));
  for (std::size_t i = 0; i < one.model.centroids.size(); ++i) {
    EXPECT_NEAR(two.model.centroids[i], one.model.centroids[i], 1e-9);
  }
  std::vector<TypeParam> once(made.rows * 9), again(made.rows * 9);
  kmeans::distances(one.model, rows, once.data(), 2, 0, {}, gpus(1));
  kmeans::distances(one.model, rows, again.data(), 2, 0, {}, gpus(2));
  EXPECT_TRUE(again == once);
}

}  // namespace
