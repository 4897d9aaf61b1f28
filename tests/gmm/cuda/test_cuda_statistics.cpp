// Statistics that a GPU has made, against the host's.
#include <vector>

#include <shoal/gmm/fit.hpp>
#include <shoal/gmm/statistics.hpp>

#include "../../cuda_devices.hpp"
#include "../../kmeans/kmeans_reference.hpp"
#include "../../model_statistics.hpp"

namespace {

namespace gmm = shoal::gmm;

template <class Scalar>
class CudaStatistics : public cuda_devices::on_one_device {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(CudaStatistics, scalars);

TYPED_TEST(CudaStatistics, AddUpWithThoseOfTheHost) {
  constexpr std::size_t rows = 20000, columns = 5, half = 9000;
  const auto made = kmeans_reference::clouds<TypeParam>(rows, columns, 3, 4);
  std::vector<TypeParam> weights;
  // Not in step with the clusters: one without weight would have a mean that rests on the tails of the others.
  for (std::size_t i = 0; i < rows; ++i) weights.push_back(static_cast<TypeParam>(1e-9 * static_cast<double>(i % 5)));
  gmm::options options;
  options.components = 3;
  options.max_iterations = 2;
  const gmm::model model = gmm::fit(shoal::view_source<TypeParam>(made.view()), options).model;
  const auto accumulate = [&](std::size_t first, std::size_t count, std::vector<int> devices) {
    const shoal::view_source<TypeParam> source(made.view().middle_rows(first, count));
    const shoal::view_source<TypeParam> held({weights.data() + first, count, 1});
    gmm::accumulate_options how;
    how.device.cuda = std::move(devices);
    return gmm::accumulate(model, source, how, &held);
  };
  const auto host = accumulate(0, rows, {});
  const auto both = gmm::combine(accumulate(0, half, {0}), accumulate(half, rows - half, {}));
  const double bound = sizeof(TypeParam) == 8 ? 1e-10 : 1e-4;
  EXPECT_EQ(both.rows(), rows);
  EXPECT_NEAR(both.total_weight(), host.total_weight(), 1e-12 * host.total_weight());
  EXPECT_NEAR(both.mean_log_likelihood(), host.mean_log_likelihood(), bound);
  model_statistics::expect_close(gmm::maximise(both, model).means, gmm::maximise(host, model).means, bound);
}

}  // namespace
