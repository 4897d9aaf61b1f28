#include <shoal/som/cuda/distances.hpp>

#include <algorithm>
#include <vector>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/som/codebook_index.hpp>

namespace shoal::som {
namespace {

// Distances of so many bytes wait on a GPU for their copy.
constexpr std::size_t most_waiting_bytes = std::size_t{64} << 20;

// Whether kernels of that GPU can write there.
bool is_memory_of(int device, const void* memory) {
  cudaPointerAttributes found{};
  cuda::check(cudaPointerGetAttributes(&found, memory), "ask where distances go");
  return found.type == cudaMemoryTypeDevice && found.device == device;
}

}  // namespace

template <class Scalar>
void distances_on_device(cuda::device_rows<Scalar>& rows, const model& model, Scalar* distances) {
  if (!rows.owns_shards()) return;
  struct place {
    cuda::device_buffer<double> units, lengths;
    cuda::device_buffer<Scalar> waiting;  // empty where the distances are written in place
    std::size_t step = 0;                 // rows that are measured at once
  };
  const std::size_t count = model.units();
  codebook_index<Scalar> index;
  index.set(model.metric, model.codebook, count, model.columns);
  const std::span<const double> exact(index.exact(0), count * model.columns);
  cuda::device_group& group = rows.group();
  std::vector<place> places(group.size());
  for (std::size_t g = 0; g < group.size(); ++g) {
    const cuda::device_scope scope(group[g].device);
    place& here = places[g];
    here.units.upload(exact, group[g].compute);
    here.step = std::max<std::size_t>(1, std::min(rows.share_rows(g), rows.most_piece_rows()));
    if (!is_memory_of(group[g].device, distances)) {
      here.step = std::min(here.step, std::max<std::size_t>(1, most_waiting_bytes / (count * sizeof(Scalar))));
      here.waiting.grow(here.step * count);
    }
    if (model.metric == metric::cosine) here.lengths.grow(here.step);
  }
  rows.for_each_piece([&](std::size_t g, const cuda::device_piece<Scalar>& piece) {
    place& here = places[g];
    for (std::size_t begin = 0; begin < piece.count; begin += here.step) {
      const std::size_t some = std::min(here.step, piece.count - begin);
      Scalar* const to = distances + (piece.first + begin) * count;
      Scalar* const measured = here.waiting.size() == 0 ? to : here.waiting.data();
      measure_distances<Scalar>(
          {piece.rows + begin * rows.columns(), some, rows.columns(), here.units.data(), count, here.lengths.data()},
          model.metric, measured, group[g].compute);
      if (measured == to) continue;
      cuda::check(cudaMemcpyAsync(to, measured, some * count * sizeof(Scalar), cudaMemcpyDefault, group[g].compute),
                  "copy distances from the device");
    }
  });
  group.synchronize();
}

template void distances_on_device(cuda::device_rows<float>&, const model&, float*);
template void distances_on_device(cuda::device_rows<double>&, const model&, double*);

}  // namespace shoal::som
