// What the kernels that sort rows by label and those that add them up have in common.
#pragma once

#include <cuda_runtime.h>

#include <shoal/kmeans/cuda/sum_sorted.hpp>

namespace shoal::kmeans {

/// Of every kernel.
template <class Scalar>
struct sorted_arguments {
  sum_plan plan;
  cuda::device_piece<Scalar> piece;
  sort_buffers memory;
  int first_lane;
  int clusters;
  int columns;
  int tile_rows;
  int chunks;  ///< of columns
  const double* centroids;
  const Scalar* rounded;
  const std::int32_t* labels;
  double* lanes;
  unsigned long long* fingerprint;
  const int* stopped;
};

/// The rows of a lane that lie in the piece, as rows of the piece, and the tiles that they are sorted in.
struct lane_part {
  std::size_t begin, end;
  bool fresh, complete;
  int first_tile;  ///< among those of the piece
  int tiles;

  template <class Scalar>
  __device__ lane_part(const sorted_arguments<Scalar>& in, int lane_of_piece) {
    const int lane = in.first_lane + lane_of_piece;
    const std::size_t lane_begin = in.plan.lane_begin(lane), lane_end = in.plan.lane_end(lane);
    const std::size_t first = max(lane_begin, in.piece.share_first);
    const std::size_t last = min(lane_end, in.piece.share_first + in.piece.count);
    begin = first - in.piece.share_first;
    end = last - in.piece.share_first;
    fresh = first == lane_begin;
    complete = last == lane_end;
    first_tile = static_cast<int>(begin / in.tile_rows) + lane_of_piece;
    tiles = static_cast<int>((end - begin + in.tile_rows - 1) / in.tile_rows);
  }
};

/// The rows of a piece, lane by lane and label by label, into memory.order, and where each label begins into
/// memory.starts; the labels into the fingerprint.
template <class Scalar>
void sort_rows(const sorted_arguments<Scalar>& in, int lanes, cudaStream_t stream);

}  // namespace shoal::kmeans
