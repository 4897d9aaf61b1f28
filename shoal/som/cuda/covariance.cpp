#include <shoal/som/cuda/covariance.hpp>

#include <shoal/execution/cuda/buffers.hpp>

namespace shoal::som {
namespace {

// On one GPU, whose shards are summed one after another.
struct share_scatter {
  cuda::device_buffer<double> mean, lanes;
  cuda::device_buffer<double> scatter;  // [shards][columns][columns]
};

}  // namespace

template <class Scalar>
std::vector<double> covariance_on_devices(cuda::device_rows<Scalar>& rows, const data_summary& summary) {
  cuda::device_group& group = rows.group();
  const std::size_t columns = rows.columns();
  std::vector<share_scatter> shares(group.size());
  for (std::size_t g = 0; g < group.size(); ++g) {
    const cuda::device_scope scope(group[g].device);
    shares[g].mean.upload(summary.mean, group[g].compute);
    shares[g].lanes.grow(scatter_lanes(columns) * columns * columns);
    shares[g].scatter.grow(rows.shards_of(g) * columns * columns);
  }
  std::vector<cuda::group_part<double>> parts(rows.own_shards());
  for (std::size_t turn = 0; turn < rows.turns(); ++turn) {
    for (std::size_t g = 0; g < group.size(); ++g) {
      const cuda::device_scope scope(group[g].device);
      shares[g].lanes.fill_with_zeros(group[g].compute);
    }
    rows.for_each_piece_of(
        turn, {0, rows.most_shard_rows()}, [&](std::size_t g, std::size_t, const cuda::device_piece<Scalar>& piece) {
          add_scatter(piece, columns, shares[g].mean.data(), shares[g].lanes.data(), group[g].compute);
        });
    for (std::size_t g = 0; g < group.size(); ++g) {
      if (turn >= rows.shards_of(g)) continue;
      const cuda::device_scope scope(group[g].device);
      double* const scatter = shares[g].scatter.data() + turn * columns * columns;
      merge_scatter(shares[g].lanes.data(), columns, scatter, group[g].compute);
      parts[rows.first_shard(g) - rows.first_shard(0) + turn] = {g, scatter};
    }
  }
  const cuda::device_scope scope(group[0].device);
  cuda::device_buffer<double> total(columns * columns);
  rows.sum_on_first(parts, total.data(), columns * columns);
  std::vector<double> covariance = total.download(columns * columns, group[0].compute);
  const double weight = summary.total_weight / rows.data().weight_scale;
  for (std::size_t a = 0; a < columns; ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      covariance[a * columns + b] /= weight;
      covariance[b * columns + a] = covariance[a * columns + b];
    }
  }
  group.synchronize();
  return covariance;
}

template std::vector<double> covariance_on_devices(cuda::device_rows<float>&, const data_summary&);
template std::vector<double> covariance_on_devices(cuda::device_rows<double>&, const data_summary&);

}  // namespace shoal::som
