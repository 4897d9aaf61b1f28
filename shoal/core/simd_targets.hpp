// Which instruction sets Highway compiles each kernel for. Include before any Highway header, in kernels only.
#pragma once

// The compiler's baseline, AVX2 and AVX-512 on x86, NEON on Arm: the machines in use, at a compile time that stays
// short. Vectors of unknown length (SVE, RISC-V) are left out because kernels keep vectors in arrays. Highway expands
// this where it is used, so that it may name targets that the next lines find.
#define HWY_DISABLED_TARGETS                                                                                          \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | SHOAL_DISABLED_ZEN4 | SHOAL_DISABLED_SPR | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | \
   HWY_SVE2_128 | HWY_RVV)

#include <hwy/detect_targets.h>

// Variants of AVX-512 that only newer releases of Highway know.
#ifdef HWY_AVX3_ZEN4
#define SHOAL_DISABLED_ZEN4 HWY_AVX3_ZEN4
#else
#define SHOAL_DISABLED_ZEN4 0
#endif
#ifdef HWY_AVX3_SPR
#define SHOAL_DISABLED_SPR HWY_AVX3_SPR
#else
#define SHOAL_DISABLED_SPR 0
#endif
