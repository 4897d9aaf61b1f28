// Weights on devices: in any unit and scalar what they are on the host, and rows that weigh nothing.
#include <vector>

#include <gtest/gtest.h>

#include <shoal/estimation/cuda/device_data.hpp>
#include <shoal/gmm/gmm.hpp>
#include <shoal/kmeans/kmeans.hpp>

#include "../../cuda_devices.hpp"
#include "../../weighted_fits.hpp"

namespace {

using weighted_fits::answer;
using weighted_fits::table;

class DeviceWeights : public cuda_devices::on_one_device {
 protected:
  std::unique_ptr<shoal::executor> workers_ = shoal::make_threads(2);
  shoal::fold_context context_{workers_.get(), 0, {}};
};

const auto means_on_device = []<class Scalar>(const shoal::row_source<Scalar>& rows, shoal::row_weights weights) {
  shoal::gmm::options options;
  options.components = 3;
  options.seed = 5;
  options.max_iterations = 5;
  options.device = {cuda_devices::first(1), 0};
  const shoal::gmm::fit_result result = shoal::gmm::fit(rows, options, weights);
  return answer{result.model.means, result.total_weight};
};
const auto centroids_on_device = []<class Scalar>(const shoal::row_source<Scalar>& rows, shoal::row_weights weights) {
  shoal::kmeans::options options;
  options.clusters = 3;
  options.seed = 5;
  options.device = {cuda_devices::first(1), 0};
  const shoal::kmeans::fit_result result = shoal::kmeans::fit(rows, options, weights);
  return answer{result.model.centroids, result.total_weight};
};

TEST_F(DeviceWeights, TheirUnitAndScalarDoNotMatter) {
  weighted_fits::expect_any_unit(means_on_device);
  weighted_fits::expect_any_unit(centroids_on_device);
  weighted_fits::expect_exact_counts(means_on_device);
}

TEST_F(DeviceWeights, RowsOfWeightZeroAreAsIfAbsent) {
  weighted_fits::expect_absent(means_on_device, "mixture");
  weighted_fits::expect_absent(centroids_on_device, "k-means");
  weighted_fits::expect_absent_in_float64(means_on_device, "mixture");
  weighted_fits::expect_absent_in_float64(centroids_on_device, "k-means");
}

TEST_F(DeviceWeights, TheSummaryIsTheHosts) {
  table data;
  for (double& weight : data.weights) weight *= 1e39;
  data.add(1e30F, -1e30F, 0);
  const shoal::view_source<float> rows({data.rows.data(), data.count(), 2});
  const shoal::view_source<double> weights({data.weights.data(), data.count(), 1});
  const shoal::data_summary host = shoal::check_data<float>(context_, rows, &weights, true);
  shoal::device_data<float> device(context_, {cuda_devices::first(1), 0}, rows, &weights, true);
  EXPECT_EQ(device.summary().total_weight, host.total_weight);
  EXPECT_EQ(device.summary().largest_weight, host.largest_weight);
  EXPECT_EQ(device.summary().positive_rows, host.positive_rows);
  EXPECT_EQ(device.summary().minimum, host.minimum);
  EXPECT_EQ(device.summary().maximum, host.maximum);
  EXPECT_EQ(device.summary().lowest, host.lowest);
  EXPECT_EQ(device.summary().highest, host.highest);
  EXPECT_EQ(device.summary().fingerprint, host.fingerprint);
}

}  // namespace
