// Statistics that a GPU has made, against the host's.
#include <vector>

#include <shoal/kmeans/cuda/sum_sorted.hpp>
#include <shoal/kmeans/fit.hpp>
#include <shoal/kmeans/statistics.hpp>

#include "../../cuda_devices.hpp"
#include "../../model_statistics.hpp"
#include "../kmeans_reference.hpp"

namespace {

namespace kmeans = shoal::kmeans;

template <class Scalar>
class DeviceStatistics : public cuda_devices::on_one_device {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(DeviceStatistics, scalars);

// A block counts all labels: so many have no room on GPUs of compute capability 8.6, whose blocks have 99 KiB.
TEST(SumsByLabel, AreSortedWhereABlockHasRoomForAllCounts) {
  constexpr std::size_t of_hopper = 227 << 10, of_86 = 99 << 10;
  EXPECT_TRUE(kmeans::is_summed_sorted(32768, 128, of_hopper));
  EXPECT_FALSE(kmeans::is_summed_sorted(32768, 128, of_86));
  EXPECT_FALSE(kmeans::is_summed_sorted(25345, 128, of_86));
  EXPECT_TRUE(kmeans::is_summed_sorted(25344, 128, of_86));
}

TYPED_TEST(DeviceStatistics, AddUpWithThoseOfTheHost) {
  constexpr std::size_t rows = 20000, columns = 5, half = 9000;
  const auto made = kmeans_reference::clouds<TypeParam>(rows, columns, 6, 4);
  kmeans::options options;
  options.clusters = 6;
  options.max_iterations = 2;
  const kmeans::model model = kmeans::fit(shoal::view_source<TypeParam>(made.view()), options).model;
  const auto accumulate = [&](std::size_t first, std::size_t count, std::vector<int> devices) {
    kmeans::accumulate_options how;
    how.device.cuda = std::move(devices);
    return kmeans::accumulate(model, made.view().middle_rows(first, count), how);
  };
  const auto host = accumulate(0, rows, {});
  const auto both = kmeans::combine(accumulate(0, half, {0}), accumulate(half, rows - half, {}));
  EXPECT_EQ(both.rows(), rows);
  EXPECT_EQ(both.sums().weights, host.sums().weights);
  const double bound = sizeof(TypeParam) == 8 ? 1e-12 : 1e-5;
  EXPECT_NEAR(both.inertia(), host.inertia(), bound * host.inertia());
  model_statistics::expect_close(kmeans::maximise(both, model).centroids, kmeans::maximise(host, model).centroids,
                                 bound);
}

}  // namespace
