// The score of predicted rows, in fixed lanes.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/shard_plan.hpp>
#include <shoal/gmm/cuda/predictor.hpp>

namespace shoal::gmm {

/// Rows whose Σ w ln p(x) and Σ w a block of a predictor sums.
inline constexpr unsigned score_tile_rows = 64;
static_assert(predictor<float>::unit % score_tile_rows == 0 && cuda::piece_unit % predictor<float>::unit == 0);

/// Tile t of a shard is summed in lane t mod their number, by one thread.
class score_lanes {
 public:
  score_lanes(std::size_t most_rows, cudaStream_t stream);

  /// [tile][2] for the kernel that predicts: Σ w ln p(x) and Σ w of each tile of rows.
  double* tiles() { return tiles_.data(); }
  /// Adds the tiles of `count` rows, of which the first is row `share_first` of those that are summed together; row 0
  /// begins another sum.
  void add(std::size_t share_first, std::size_t count, cudaStream_t stream);
  /// The sums in the order in which they were begun, the last cuda::most_shards at most. Waits.
  std::vector<score_sums> totals(cudaStream_t stream) const;

 private:
  cuda::device_buffer<double> tiles_;
  cuda::device_buffer<double> lanes_;  // [cuda::most_shards][lanes][2], sum i at place i mod their number
  std::size_t begun_ = 0;
};

constexpr std::size_t score_tiles(std::size_t rows) { return (rows + score_tile_rows - 1) / score_tile_rows; }

}  // namespace shoal::gmm
