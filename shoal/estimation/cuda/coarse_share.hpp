// Many points against the rows of one GPU, by bytes first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <shoal/estimation/cuda/coarse_buffers.hpp>
#include <shoal/estimation/cuda/coarse_kernels.hpp>
#include <shoal/execution/cuda/device_piece.hpp>
#include <shoal/execution/plan.hpp>

namespace shoal {

/// The rows of a resident share in bytes, made when they are first wanted.
template <class Scalar, class Work>
class coarse_share {
 public:
  /// Does what apply_points() does; false unless points are measured_coarsely(), and where a copy of the rows in bytes
  /// has no room.
  bool apply(const cuda::device_piece<Scalar>& all, const data_summary& summary, const Work* points, std::size_t count,
             std::int32_t first, Work* least, std::int32_t* owner, cudaStream_t stream) {
    const std::size_t columns = summary.columns;
    if (!measured_coarsely<Work>(count, columns)) return false;
    if (!frame_) {
      const std::size_t padded = (all.count + block_rows - 1) / block_rows * block_rows;
      if (!has_room(coarse_buffers::bytes(padded, columns))) return false;
      frame_.emplace(summary, stream);
      made_ = rows_.make(all.count, columns, padded);
      coarsen(all.rows, frame_->scale(), made_, padded, stream);
    }
    const std::size_t padded = (count + coarse_unit - 1) / coarse_unit * coarse_unit;
    const coarse_rows made = points_.make(count, columns, padded);
    coarsen(points, frame_->scale(), made, padded, stream);
    apply_points_coarsely(all.rows, made_, frame_->scale(), points, made, first, nullptr, least, owner, stream);
    return true;
  }

 private:
  std::optional<coarse_frame> frame_;
  coarse_buffers rows_, points_;
  coarse_rows made_{};
};

}  // namespace shoal
