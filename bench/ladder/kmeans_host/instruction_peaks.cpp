// How often a core issues the instructions that bound the search for the nearest centroid: 512-bit ones, twelve
// independent chains of each, the best of many short runs. x86-64 with AVX-512 and its integer dot products.
#include <algorithm>
#include <chrono>
#include <cstdio>

namespace {

#define SHOAL_CHAINS(one)                                                                                     \
  one("zmm0") one("zmm1") one("zmm2") one("zmm3") one("zmm4") one("zmm5") one("zmm6") one("zmm7") one("zmm8") \
      one("zmm9") one("zmm10") one("zmm11")
// Registers 12 to 15: operands, and a place for products that are added in an instruction of their own.
#define SHOAL_FUSED_PAIRS(sum) "vpdpwssd %%zmm12, %%zmm13, %%" sum "\n"
#define SHOAL_FUSED_BYTES(sum) "vpdpbusd %%zmm12, %%zmm13, %%" sum "\n"
#define SHOAL_PAIRS(sum) "vpmaddwd %%zmm12, %%zmm13, %%zmm14\nvpaddd %%zmm14, %%" sum ", %%" sum "\n"
#define SHOAL_MULTIPLY_ADD(sum) "vfmadd231ps %%zmm12, %%zmm13, %%" sum "\n"
#define SHOAL_MINIMUM(sum) "vpminsd %%zmm12, %%" sum ", %%" sum "\n"
#define SHOAL_MASK(sum) "vpternlogd $0xea, %%zmm12, %%zmm13, %%" sum "\n"
#define SHOAL_PAIRS_AND_MINIMUM(sum) SHOAL_FUSED_PAIRS(sum) "vpminsd %%zmm12, %%zmm15, %%zmm14\n"

constexpr long steps = 300'000;
constexpr int chains = 12, repeats = 31;

template <class F>
void print(const char* name, const F& run) {
  double best = 1e300;
  for (int i = 0; i < repeats; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::printf("%-26s %.2f in a nanosecond\n", name, chains * static_cast<double>(steps) / best * 1e-9);
}

#define SHOAL_PRINT(name, instruction)                                                                            \
  print(name, [] {                                                                                                \
    for (long i = 0; i < steps; ++i) {                                                                            \
      asm volatile(SHOAL_CHAINS(instruction)::                                                                    \
                       : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
                         "xmm11", "xmm14");                                                                       \
    }                                                                                                             \
  })

}  // namespace

int main() {
  if (!__builtin_cpu_supports("avx512vnni")) {
    std::puts("This processor has no integer dot products.");
    return 1;
  }
  asm volatile("vpxord %%zmm12, %%zmm12, %%zmm12\nvpxord %%zmm13, %%zmm13, %%zmm13" ::: "xmm12", "xmm13");
  SHOAL_PRINT("vfmadd231ps", SHOAL_MULTIPLY_ADD);
  SHOAL_PRINT("vpmaddwd and vpaddd", SHOAL_PAIRS);
  SHOAL_PRINT("vpdpwssd", SHOAL_FUSED_PAIRS);
  SHOAL_PRINT("vpdpbusd", SHOAL_FUSED_BYTES);
  SHOAL_PRINT("vpminsd", SHOAL_MINIMUM);
  SHOAL_PRINT("vpternlogd", SHOAL_MASK);
  SHOAL_PRINT("vpdpwssd and vpminsd", SHOAL_PAIRS_AND_MINIMUM);
}
