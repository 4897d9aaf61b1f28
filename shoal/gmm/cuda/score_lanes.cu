#include <shoal/gmm/cuda/score_lanes.hpp>

#include <algorithm>
#include <vector>

#include <shoal/execution/cuda/check.hpp>

namespace shoal::gmm {
namespace {

constexpr unsigned lanes = 256;

__global__ void add_tiles(const double* tiles, std::size_t count, std::size_t before, double* sums) {
  const std::size_t lane = threadIdx.x;
  for (std::size_t tile = (lane + lanes - before % lanes) % lanes; tile < count; tile += lanes) {
    sums[2 * lane] += tiles[2 * tile];
    sums[2 * lane + 1] += tiles[2 * tile + 1];
  }
}

}  // namespace

score_lanes::score_lanes(std::size_t most_rows, cudaStream_t stream)
    : tiles_(2 * std::max<std::size_t>(1, score_tiles(most_rows))), lanes_(cuda::most_shards * 2 * lanes) {
  lanes_.fill_with_zeros(stream);
}

void score_lanes::add(std::size_t share_first, std::size_t count, cudaStream_t stream) {
  if (share_first == 0) ++begun_;
  double* const sums = lanes_.data() + (begun_ - 1) % cuda::most_shards * 2 * lanes;
  if (share_first == 0) {
    cuda::check(cudaMemsetAsync(sums, 0, 2 * lanes * sizeof(double), stream), "clear device memory");
  }
  add_tiles<<<1, lanes, 0, stream>>>(tiles_.data(), score_tiles(count), share_first / score_tile_rows, sums);
  cuda::check_launch("add_tiles");
}

std::vector<score_sums> score_lanes::totals(cudaStream_t stream) const {
  const std::vector<double> values = lanes_.download(lanes_.size(), stream);
  std::vector<score_sums> sums;
  for (std::size_t i = begun_ - std::min(begun_, cuda::most_shards); i < begun_; ++i) {
    const double* const of = values.data() + i % cuda::most_shards * 2 * lanes;
    score_sums& sum = sums.emplace_back();
    for (unsigned lane = 0; lane < lanes; ++lane) {
      sum.log_likelihood += of[2 * lane];
      sum.weight += of[2 * lane + 1];
    }
  }
  return sums;
}

}  // namespace shoal::gmm
