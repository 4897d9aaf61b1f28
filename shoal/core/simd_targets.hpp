// Which instruction sets the SIMD sources are compiled for: the baseline, AVX2 and AVX-512. Include before Highway.
#pragma once

// Highway would compile every source for all of its x86 targets, which triples the build for machines that nobody
// has. Its names differ between versions, so these are its bits: SPR, ZEN4 and DL variants of AVX-512, SSE4, SSSE3. The
// builds with sanitizers name their own (cmake/vector_sources.cmake). A source that multiplies integers defines
// SHOAL_INTEGER_PRODUCTS and is compiled for the DL variant too, which multiplies and adds them in one instruction.
#ifdef SHOAL_INTEGER_PRODUCTS
#define HWY_WANT_AVX3_DL
#endif
#ifndef HWY_DISABLED_TARGETS
#ifdef SHOAL_INTEGER_PRODUCTS
#define HWY_DISABLED_TARGETS ((1LL << 4) | (1LL << 6) | (1LL << 11) | (1LL << 12))
#else
#define HWY_DISABLED_TARGETS ((1LL << 4) | (1LL << 6) | (1LL << 7) | (1LL << 11) | (1LL << 12))
#endif
#endif
