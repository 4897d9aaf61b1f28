// Where rows in bytes lie in one piece of memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include <shoal/estimation/cuda/coarse_buffers.hpp>
#include <shoal/estimation/cuda/coarse_rows.hpp>
#include <shoal/estimation/cuda/device_parts.hpp>

namespace shoal {

struct coarse_places {
  std::size_t values, bounds, errors;

  /// Asks for room for so many rows, padding included.
  coarse_places(device_parts& parts, std::size_t padded, std::size_t columns)
      : values(parts.add<std::int8_t>(padded * coarse_buffers::pitch(columns))),
        bounds(parts.add<coarse_bound>(padded)),
        errors(parts.add<float>(padded)) {}
  /// Once there is memory.
  coarse_rows in(device_parts& parts, std::size_t count, std::size_t columns) const {
    return {count,
            columns,
            coarse_buffers::pitch(columns),
            parts.at<std::int8_t>(values),
            parts.at<coarse_bound>(bounds),
            parts.at<float>(errors)};
  }
};

}  // namespace shoal
