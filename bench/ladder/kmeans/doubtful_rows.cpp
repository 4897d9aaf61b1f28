// The share of rows that the TF32 search leaves to the float64 definition, on noise and on clustered data.
#include <cstdio>
#include <vector>

#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/kmeans/cuda/kernels.hpp>
#include <shoal/kmeans/cuda/lloyd.hpp>
#include <shoal/kmeans/cuda/tensor_layout.hpp>

#include "made_rows.hpp"

namespace {

namespace cuda = shoal::cuda;

// Searches once about the centroids and prints how many rows were doubtful.
void count_doubtful(cuda::device_rows<float>& rows, const std::vector<double>& centroids, std::size_t clusters,
                    const char* name) {
  const std::size_t columns = rows.columns();
  const int padded = static_cast<int>((clusters + 63) / 64 * 64);
  const cuda::gpu& gpu = rows.group()[0];
  cuda::device_buffer<double> values, turned(columns * padded);
  cuda::device_buffer<float> rounded(clusters * columns), origin, negated(columns * padded), half_norms(padded);
  cuda::device_buffer<unsigned char> tensor(
      static_cast<std::size_t>(padded) / 64 *
      shoal::kmeans::tensor_tile_bytes(shoal::kmeans::tensor_columns(static_cast<int>(columns)),
                                       shoal::precision::float32));
  cuda::device_buffer<shoal::search_bounds> bounds(1);
  cuda::device_buffer<std::int32_t> labels(rows.rows());
  cuda::device_buffer<unsigned> counts(3);
  cuda::device_buffer<int2> list(rows.rows());
  cuda::device_buffer<int> stopped(1);
  std::vector<float> mean(columns);
  for (std::size_t i = 0; i < centroids.size(); ++i) {
    mean[i % columns] += static_cast<float>(centroids[i] / static_cast<double>(clusters));
  }
  values.upload(centroids, gpu.compute);
  origin.upload(mean, gpu.compute);
  tensor.fill_with_zeros(gpu.compute);
  bounds.fill_with_zeros(gpu.compute);
  counts.fill_with_zeros(gpu.compute);
  stopped.fill_with_zeros(gpu.compute);
  shoal::kmeans::device_centroids<float> device;
  device.clusters = static_cast<int>(clusters);
  device.columns = static_cast<int>(columns);
  device.padded = padded;
  device.values = values.data();
  device.turned = turned.data();
  device.rounded = rounded.data();
  device.origin = origin.data();
  device.negated = negated.data();
  device.half_norms = half_norms.data();
  device.tensor = tensor.data();
  device.bounds = bounds.data();
  shoal::kmeans::prepare_centroids(device, stopped.data(), gpu.compute);
  rows.for_each_piece([&](std::size_t, const cuda::device_piece<float>& piece) {
    shoal::kmeans::search_tensor(piece, device, labels.data(),
                                 {counts.data(), list.data(), static_cast<unsigned>(rows.rows())}, gpu.multiprocessors,
                                 gpu.shared_bytes, stopped.data(), gpu.compute);
  });
  const std::vector<unsigned> found = counts.download(2, gpu.compute);
  const double all = static_cast<double>(rows.rows());
  std::printf("%10zu %7zu %8zu %-22s %8.4f %% two left %8.4f %% more left\n", rows.rows(), columns, clusters, name,
              100 * found[0] / all, 100 * found[1] / all);
  std::fflush(stdout);
}

}  // namespace

int main() {
  const auto workers = shoal::make_threads(0);
  const shoal::fold_context context{workers.get(), 0, {}};
  const int device = 0;
  cuda::device_group group(std::span(&device, 1));
  for (const shape& s : {shape{100'000, 2, 128}, {1'000'000, 16, 64}, {1 << 20, 32, 256}, {1 << 18, 128, 1024}}) {
    for (const bool clustered : {false, true}) {
      const std::vector<float> values = make_rows(s, clustered);
      const shoal::view_source<float> source(shoal::matrix_view<const float>(values.data(), s.rows, s.columns));
      cuda::device_rows<float> rows(group, context, {&source, nullptr, 1});
      const std::vector<double> first = first_rows(s, values);
      count_doubtful(rows, first, s.clusters, clustered ? "clustered, first step" : "noise, first step");
      // The rows are drawn about the origin: it may stand for their mean.
      const auto stepper = shoal::kmeans::make_device_lloyd<float>(
          rows, context, s.clusters, [&](std::size_t) { return first; }, {}, std::vector<double>(s.columns, 0.0));
      stepper->seed(0);
      for (int step = 0; step < 10; ++step) {
        if (stepper->advance(1).back().settled) break;
      }
      count_doubtful(rows, stepper->centroids(), s.clusters, clustered ? "clustered, later" : "noise, later");
    }
  }
}
