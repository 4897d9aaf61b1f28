#include <shoal/kmeans/cuda/far_rows.hpp>

#include <algorithm>

namespace shoal::kmeans {
namespace {

// Rows that are measured between two looks of the host.
constexpr std::size_t rows_at_once = std::size_t{1} << 20;

template <class Element>
void fetch(const Element* from, std::size_t count, cuda::pinned_buffer<Element>& to, cudaStream_t stream) {
  to.grow(count);
  cuda::check(cudaMemcpyAsync(to.data(), from, count * sizeof(Element), cudaMemcpyDeviceToHost, stream),
              "copy from the device");
}

}  // namespace

template <class Scalar>
std::vector<far_row> farthest_rows_on_devices(device_fold<Scalar>& fold, std::size_t count) {
  cuda::device_rows<Scalar>& rows = fold.rows();
  const std::size_t columns = rows.columns();
  const farthest_rows_monoid farthest(count);
  auto found = farthest.identity();
  std::vector<cuda::device_buffer<double>> distances(rows.group().size());
  cuda::pinned_buffer<double> distances_here;
  cuda::pinned_buffer<std::int32_t> labels_here;
  cuda::pinned_buffer<Scalar> weights_here;
  fold.begin({});
  fold.enqueue([&](const cuda::device_piece<Scalar>& piece, const std::int32_t* labels, cudaStream_t stream) {
    const std::size_t g = rows.gpu_of(rows.shards().shard_of(piece.first));
    for (std::size_t begin = 0; begin < piece.count; begin += rows_at_once) {
      const std::size_t some = std::min(rows_at_once, piece.count - begin);
      distances[g].grow(some);
      measure_own_distances(piece.rows + begin * columns, labels + begin, some, columns, fold.centroids_on(g),
                            distances[g].data(), stream);
      fetch(distances[g].data(), some, distances_here, stream);
      fetch(labels + begin, some, labels_here, stream);
      if (piece.weights != nullptr) fetch(piece.weights + begin, some, weights_here, stream);
      cuda::check(cudaStreamSynchronize(stream), "finish its work");
      for (std::size_t i = 0; i < some; ++i) {
        const double weight = piece.weights == nullptr ? 1.0 : static_cast<double>(weights_here[i]);
        if (!(weight > 0) || !(distances_here[i] > 0)) continue;
        farthest.insert(found,
                        {distances_here[i], piece.first + begin + i, static_cast<std::size_t>(labels_here[i]), weight});
      }
    }
  });
  rows.group().synchronize();
  auto of_all = farthest.identity();
  for (const far_row& one : rows.gathered(farthest.sorted(std::move(found)))) farthest.insert(of_all, one);
  return farthest.sorted(std::move(of_all));
}

template std::vector<far_row> farthest_rows_on_devices(device_fold<float>&, std::size_t);
template std::vector<far_row> farthest_rows_on_devices(device_fold<double>&, std::size_t);

}  // namespace shoal::kmeans
