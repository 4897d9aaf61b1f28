#include <shoal/som/cuda/covariance.hpp>

#include <shoal/execution/cuda/buffers.hpp>

namespace shoal::som {
namespace {

struct share_scatter {
  cuda::device_buffer<double> mean, lanes, scatter;
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
    shares[g].lanes.fill_with_zeros(group[g].compute);
    shares[g].scatter.grow(columns * columns);
  }
  rows.for_each_piece([&](std::size_t g, const cuda::device_piece<Scalar>& piece) {
    add_scatter(piece, columns, shares[g].mean.data(), shares[g].lanes.data(), group[g].compute);
  });
  std::vector<double*> parts;
  for (std::size_t g = 0; g < group.size(); ++g) {
    const cuda::device_scope scope(group[g].device);
    merge_scatter(shares[g].lanes.data(), columns, shares[g].scatter.data(), group[g].compute);
    parts.push_back(shares[g].scatter.data());
  }
  group.sum_on_first(parts, parts[0], columns * columns);
  const cuda::device_scope scope(group[0].device);
  std::vector<double> covariance = shares[0].scatter.download(columns * columns, group[0].compute);
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
