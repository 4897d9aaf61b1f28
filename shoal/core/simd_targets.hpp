// Which instruction sets the SIMD sources are compiled for: the baseline (NEON on 64-bit Arm), AVX2 and AVX-512.
// Include before Highway.
#pragma once

// Highway would compile every source for all of its x86 targets, which triples the build for machines that nobody
// has. Its names differ between versions, so these are its bits: SPR, ZEN4 and DL variants of AVX-512, SSE4, SSSE3; and
// the scalable vectors of Arm (SVE2_128, SVE_256, SVE2, SVE), whose size is not known to the compiler, so that they
// cannot be members of an array or a struct as the kernels keep them. The builds with sanitizers name their own
// (cmake/vector_sources.cmake). A source that multiplies integers defines SHOAL_INTEGER_PRODUCTS and is compiled for
// the DL variant too, which multiplies and adds them in one instruction.
#ifdef SHOAL_INTEGER_PRODUCTS
#define HWY_WANT_AVX3_DL
#endif
// With only NEON left there is nothing to choose at run time, and this is how Highway is told so. It would else compile
// its functions for processors with AES instructions alone, and GCC would not inline them into what the compiler writes
// itself, such as the constructors of arrays of vectors.
#if defined(__aarch64__) && !defined(TOOLCHAIN_MISS_SYS_AUXV_H)
#define TOOLCHAIN_MISS_SYS_AUXV_H
#endif
#ifndef HWY_DISABLED_TARGETS
#ifdef SHOAL_INTEGER_PRODUCTS
#define HWY_DISABLED_TARGETS ((1LL << 4) | (1LL << 6) | (1LL << 11) | (1LL << 12) | (15LL << 24))
#else
#define HWY_DISABLED_TARGETS ((1LL << 4) | (1LL << 6) | (1LL << 7) | (1LL << 11) | (1LL << 12) | (15LL << 24))
#endif
#endif
