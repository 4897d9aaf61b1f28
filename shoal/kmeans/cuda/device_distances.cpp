#include <shoal/kmeans/cuda/device_distances.hpp>

#include <algorithm>
#include <vector>

#include <shoal/execution/cuda/buffers.hpp>

namespace shoal::kmeans {
namespace {

// Distances of so many bytes wait on a GPU for their copy.
constexpr std::size_t most_waiting_bytes = std::size_t{64} << 20;

}  // namespace

template <class Scalar>
void distances_on_device(cuda::device_rows<Scalar>& rows, const model& model, Scalar* distances) {
  struct place {
    cuda::device_buffer<double> centroids;
    cuda::device_buffer<Scalar> waiting;
  };
  const std::size_t clusters = model.clusters;
  const std::size_t step = std::max<std::size_t>(1, most_waiting_bytes / (clusters * sizeof(Scalar)));
  cuda::device_group& group = rows.group();
  std::vector<place> places(group.size());
  for (std::size_t g = 0; g < group.size(); ++g) {
    const cuda::device_scope scope(group[g].device);
    places[g].centroids.upload(model.centroids, group[g].compute);
    places[g].waiting.grow(std::min({step, rows.share_rows(g), rows.most_piece_rows()}) * clusters);
  }
  rows.for_each_piece([&](std::size_t g, const cuda::device_piece<Scalar>& piece) {
    for (std::size_t begin = 0; begin < piece.count; begin += step) {
      const std::size_t count = std::min(step, piece.count - begin);
      measure_distances(piece.rows + begin * rows.columns(), count, rows.columns(), places[g].centroids.data(),
                        clusters, places[g].waiting.data(), group[g].compute);
      cuda::check(cudaMemcpyAsync(distances + (piece.first + begin) * clusters, places[g].waiting.data(),
                                  count * clusters * sizeof(Scalar), cudaMemcpyDefault, group[g].compute),
                  "copy distances from the device");
    }
  });
  group.synchronize();
}

template void distances_on_device(cuda::device_rows<float>&, const model&, float*);
template void distances_on_device(cuda::device_rows<double>&, const model&, double*);

}  // namespace shoal::kmeans
