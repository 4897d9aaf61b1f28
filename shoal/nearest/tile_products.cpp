#include <shoal/nearest/tile_products.hpp>

#include <algorithm>

#include <shoal/nearest/byte_rows.hpp>

// Compilers that know the unit, and the system that grants it.
#if defined(__x86_64__) && defined(__linux__) && \
    ((defined(__clang__) && __clang_major__ >= 12) || (!defined(__clang__) && defined(__GNUC__) && __GNUC__ >= 11))
#define SHOAL_TILE_UNIT
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace shoal {

tile_cut::tile_cut(std::size_t centroids, std::size_t fours_of_columns)
    : fours(fours_of_columns), steps((fours + most - 1) / most), tiles((centroids + most - 1) / most) {
  depth = (fours + steps - 1) / steps;
  height = (centroids + tiles - 1) / tiles;
}

#ifdef SHOAL_TILE_UNIT

namespace {

// What LDTILECFG reads.
struct alignas(64) tile_configuration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t unused[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};
static_assert(sizeof(tile_configuration) == 64);

bool asks_for_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned os_saves_state = 1U << 27, has_tiles = 1U << 24, has_bytes = 1U << 25;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & os_saves_state) == 0) return false;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & has_tiles) == 0 || (d & has_bytes) == 0) return false;
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr unsigned tile_state = 3U << 17;
  if ((low & tile_state) != tile_state) return false;
  // Since Linux 5.16 a process must ask before its first tile: what a thread saves grows by 8 KiB.
  constexpr long request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

// GCC's intrinsics do not say what they read: everything must be in memory before them.
void finish_writing() { asm volatile("" ::: "memory"); }

__attribute__((target("amx-tile"))) void configure(const tile_configuration& configuration) {
  finish_writing();
  _tile_loadconfig(&configuration);
}
__attribute__((target("amx-tile"))) void release() { _tile_release(); }

// Tiles 0 to 2 are sums, 3 is of centroids, 4 to 6 are of rows.
__attribute__((target("amx-tile,amx-int8"))) void multiply_tile(const tile_cut& cut, const std::int8_t* centroids,
                                                                const std::int32_t* rows, std::int32_t* out) {
  constexpr std::size_t stride = byte_panel_rows * sizeof(std::int32_t);
  const std::size_t step_bytes = cut.height * tile_cut::row_bytes;
  finish_writing();
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  for (std::size_t step = 0; step < cut.steps; ++step) {
    const std::int32_t* const from = rows + cut.first_four(step) * byte_panel_rows;
    _tile_loadd(3, centroids + step * step_bytes, tile_cut::row_bytes);
    _tile_loadd(4, from, stride);
    _tile_dpbsud(0, 3, 4);
    _tile_loadd(5, from + 16, stride);
    _tile_dpbsud(1, 3, 5);
    _tile_loadd(6, from + 32, stride);
    _tile_dpbsud(2, 3, 6);
  }
  _tile_stored(0, out, stride);
  _tile_stored(1, out + 16, stride);
  _tile_stored(2, out + 32, stride);
}

}  // namespace

bool has_tile_products() {
  static const bool has = asks_for_tiles();
  return has;
}

tile_unit::tile_unit(const tile_cut& cut) : cut_(cut) {
  tile_configuration configuration;
  const auto set = [&](std::size_t tile, std::size_t rows, std::size_t bytes) {
    configuration.rows[tile] = static_cast<std::uint8_t>(rows);
    configuration.row_bytes[tile] = static_cast<std::uint16_t>(bytes);
  };
  for (const std::size_t v : {0, 1, 2}) {
    set(v, cut.height, 64);
    set(4 + v, cut.depth, 64);
  }
  set(3, cut.height, 4 * cut.depth);
  configure(configuration);
}

tile_unit::~tile_unit() { release(); }

void tile_unit::multiply(const std::int8_t* centroids, const std::int32_t* rows, std::int32_t* out) const {
  multiply_tile(cut_, centroids, rows, out);
}

#else

bool has_tile_products() { return false; }
tile_unit::tile_unit(const tile_cut& cut) : cut_(cut) {}
tile_unit::~tile_unit() = default;
void tile_unit::multiply(const std::int8_t*, const std::int32_t*, std::int32_t*) const {}

#endif

}  // namespace shoal
