// What blocks of one launch tell each other: words of memory that nobody has written before, so that a word is its own
// sign of being there.
#pragma once

#include <cuda_runtime.h>

namespace shoal {

inline constexpr unsigned long long unsaid = ~0ULL;   // the bits of no sum and of no finite number
inline constexpr unsigned long long nowhere = ~1ULL;  // in place of a row where none has any mass

__device__ inline void say(unsigned long long* where, unsigned long long word) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(where), "l"(word) : "memory");
}
__device__ inline unsigned long long said(const unsigned long long* where) {
  unsigned long long word;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(where) : "memory");
  return word;
}
__device__ inline unsigned long long hear(const unsigned long long* where) {
  unsigned long long word;
  do {
    word = said(where);
  } while (word == unsaid);
  return word;
}

// Waits for `count` words, which all threads of the block hear together; take(i, word). Where all blocks wait for the
// same few, they ask for them less often.
template <bool Seldom = false, class Take>
__device__ void hear_all(const unsigned long long* words, unsigned count, const Take& take) {
  constexpr unsigned together = 4;  // asked for before the first is there
  for (unsigned first = threadIdx.x; first < count; first += together * blockDim.x) {
    unsigned long long word[together];
    bool all;
    do {
      all = true;
#pragma unroll
      for (unsigned w = 0; w < together; ++w) {
        const unsigned i = first + w * blockDim.x;
        word[w] = i < count ? said(words + i) : 0;
      }
#pragma unroll
      for (unsigned w = 0; w < together; ++w) all = all && word[w] != unsaid;
      if (Seldom && !all) __nanosleep(100);
    } while (!all);
#pragma unroll
    for (unsigned w = 0; w < together; ++w) {
      const unsigned i = first + w * blockDim.x;
      if (i < count) take(i, word[w]);
    }
  }
}

__device__ inline unsigned long long bits_of(float value) { return __float_as_uint(value); }
__device__ inline unsigned long long bits_of(double value) {
  return static_cast<unsigned long long>(__double_as_longlong(value));
}
template <class Work>
__device__ Work from_bits(unsigned long long bits) {
  if constexpr (sizeof(Work) == 4) {
    return __uint_as_float(static_cast<unsigned>(bits));
  } else {
    return __longlong_as_double(static_cast<long long>(bits));
  }
}

}  // namespace shoal
