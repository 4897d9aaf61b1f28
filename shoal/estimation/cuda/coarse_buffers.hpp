// Owns rows in bytes on a GPU (coarse_rows.hpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <shoal/estimation/cuda/coarse_rows.hpp>
#include <shoal/estimation/data_summary.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/stream.hpp>

namespace shoal {

/// How bytes stand for rows of that summary.
class coarse_frame {
 public:
  coarse_frame(const data_summary& summary, cudaStream_t stream) {
    // Rows farther out than that are clipped, so that bytes tell the others apart.
    constexpr double deviations = 4;
    double range = 0, variance = 0;
    for (std::size_t j = 0; j < summary.columns; ++j) {
      range = std::max({range, summary.highest[j] - summary.mean[j], summary.mean[j] - summary.lowest[j]});
      variance = std::max(variance, summary.variance[j]);
    }
    const double wide = deviations * std::sqrt(variance), width = wide > 0 ? std::min(range, wide) : range;
    middle_.upload(summary.mean, stream);
    scale_ = {middle_.data(), width > 0 ? width / box : 1, box};
  }
  const coarse_scale& scale() const { return scale_; }

 private:
  static constexpr double box = 127;
  cuda::device_buffer<double> middle_;
  coarse_scale scale_{};
};

/// Memory for rows in bytes.
class coarse_buffers {
 public:
  static std::size_t pitch(std::size_t columns) { return columns <= 16 ? 16 : (columns + 31) / 32 * 32; }
  static std::size_t bytes(std::size_t count, std::size_t columns) {
    return count * (pitch(columns) + sizeof(coarse_bound) + sizeof(float));
  }

  /// For `count` rows, of which memory has `padded`.
  coarse_rows make(std::size_t count, std::size_t columns, std::size_t padded) {
    values_.grow(padded * pitch(columns));
    bounds_.grow(padded);
    errors_.grow(padded);
    return {count, columns, pitch(columns), values_.data(), bounds_.data(), errors_.data()};
  }
  void fill_with_zeros(cudaStream_t stream) {
    values_.fill_with_zeros(stream);
    bounds_.fill_with_zeros(stream);
    errors_.fill_with_zeros(stream);
  }

 private:
  cuda::device_buffer<std::int8_t> values_;
  cuda::device_buffer<coarse_bound> bounds_;
  cuda::device_buffer<float> errors_;
};

/// Whether so many points are measured sooner by bytes first, where distances are in Work: fewer points, or rows of
/// fewer columns, are measured as soon one by one.
template <class Work>
bool measured_coarsely(std::size_t points, std::size_t columns) {
  return points >= 64 && columns >= (sizeof(Work) == 4 ? 9 : 5) && columns <= most_coarse_columns;
}

/// Whether so much memory of the current device, and some more, is free.
inline bool has_room(std::size_t bytes) {
  std::size_t free = 0, total = 0;
  cuda::check(cudaMemGetInfo(&free, &total), "ask for its free memory");
  return bytes + bytes / 8 <= free;
}

}  // namespace shoal
