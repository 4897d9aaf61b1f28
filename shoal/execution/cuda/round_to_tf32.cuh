// Numbers as TF32 products take them.
#pragma once

#include <cuda_runtime.h>

namespace shoal::cuda {

/// The nearest TF32 number (11 significant bits; ties away from zero), infinite beyond the largest. Products would cut
/// the rest off.
__device__ inline float round_to_tf32(float value) {
  return __uint_as_float((__float_as_uint(value) + 0x1000u) & 0xffffe000u);
}

}  // namespace shoal::cuda
