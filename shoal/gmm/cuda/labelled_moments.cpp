#include <shoal/gmm/cuda/labelled_moments.hpp>

#include <algorithm>
#include <vector>

#include <shoal/gmm/cuda/labelled_kernel.hpp>

namespace shoal::gmm {
namespace {

// One component's sums as they came from the devices, into the place that the layout gives them.
void add_component(const double* sums, const labelled_shape& shape, std::size_t k, statistics& into) {
  const statistics_layout& layout = into.layout();
  const std::size_t d = shape.columns;
  const std::span<double> values = into.values();
  values[statistics_layout::total_weight()] += sums[0];
  values[layout.weight(k)] += sums[0];
  const double* const first = sums + 1;
  for (std::size_t j = 0; j < d; ++j) values[layout.first(k, j)] += first[j];
  const double* second = first + d;
  for (std::size_t i = 0; i < d; ++i) {
    if (!shape.pairs) values[layout.second(k, i, i)] += *second++;
    for (std::size_t j = i; shape.pairs && j < d; ++j) values[layout.second(k, i, j)] += *second++;
  }
}

}  // namespace

template <class Scalar>
statistics labelled_statistics(cuda::device_rows<Scalar>& rows, const statistics_layout& layout,
                               std::span<const double> centres, const std::int32_t* labels) {
  labelled_shape shape{layout.components(), layout.columns(), layout.has_matrices(), 1};
  shape.lanes = std::clamp<std::size_t>(lane_memory / (shape.lane_size() * sizeof(double)), 1, most_lanes);
  cuda::device_group& group = rows.group();
  struct share {
    cuda::device_buffer<double> centres, lanes;
    cuda::device_buffer<std::int32_t> labels;
  };
  std::vector<share> shares(group.size());
  for (std::size_t g = 0; g < group.size(); ++g) {
    const cuda::device_scope scope(group[g].device);
    shares[g].centres.upload(centres, group[g].compute);
    shares[g].lanes.grow(shape.lanes * shape.lane_size());
    shares[g].lanes.fill_with_zeros(group[g].compute);
    shares[g].labels.grow(std::min(rows.most_piece_rows(), rows.share_rows(g)));
  }
  rows.for_each_piece([&](std::size_t g, const cuda::device_piece<Scalar>& piece) {
    shares[g].labels.upload({labels + piece.first, piece.count}, group[g].compute);
    add_labelled(piece, shares[g].labels.data(), shares[g].centres.data(), shape, shares[g].lanes.data(),
                 group[g].compute);
  });
  statistics all(layout);
  for (std::size_t g = 0; g < group.size(); ++g) {
    const cuda::device_scope scope(group[g].device);
    const std::vector<double> lanes = shares[g].lanes.download(shape.lanes * shape.lane_size(), group[g].compute);
    for (std::size_t lane = 0; lane < shape.lanes; ++lane) {
      for (std::size_t k = 0; k < shape.components; ++k) {
        add_component(lanes.data() + lane * shape.lane_size() + k * shape.component_size(), shape, k, all);
      }
    }
  }
  return all;
}

template statistics labelled_statistics(cuda::device_rows<float>&, const statistics_layout&, std::span<const double>,
                                        const std::int32_t*);
template statistics labelled_statistics(cuda::device_rows<double>&, const statistics_layout&, std::span<const double>,
                                        const std::int32_t*);

}  // namespace shoal::gmm
