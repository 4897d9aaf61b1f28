// The machine's fused multiply-adds per second, from registers alone.
#pragma once

#include <cstddef>

namespace bench {

/// GFMA/s of `threads` threads at once, in float32 or float64, on the instruction set that shoal's kernels use.
double multiply_add_peak(std::size_t threads, bool float32);

}  // namespace bench
