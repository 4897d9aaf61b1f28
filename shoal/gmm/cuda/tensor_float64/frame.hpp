// Diagonal and spherical mixtures about an origin that all components share, so that log-densities and moments are
// products of matrices: with z = x − m, ln πₖ N(x; μₖ, Σₖ) = constantₖ + Σⱼ lineₖⱼ zⱼ + Σⱼ curveₖⱼ zⱼ².
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include <shoal/gmm/cuda/mixture.hpp>

namespace shoal::gmm::tensor_float64 {

/// Columns that the operands of a step of the log-densities hold.
inline constexpr int frame_step = 16;

/// Threads of a group of four warps, which multiply float16 terms together.
inline constexpr int group_threads = 128;

/// Steps of 16 columns between two barriers of the products of float16 terms.
inline constexpr int half_steps = 2;
constexpr unsigned half_columns(unsigned columns) {
  constexpr unsigned width = half_steps * frame_step;
  return (columns + width - 1) / width * width;
}

/// Of at most so many components a block of the log-densities has all.
inline constexpr unsigned most_block_components = 256;

/// The same of products of float16 terms; of more components, and so many columns, blocks have a tile of so many each.
inline constexpr unsigned most_half_components = 128, least_tiled_columns = 129;

/// Of components in several tiles so many at most are left out of the frame of products of float16 terms, which then
/// holds all others.
inline constexpr unsigned most_left_out = 32;

/// Components are filled up to whole tiles of them.
constexpr unsigned tile_components(unsigned components) {
  return components <= 32 ? 32 : (components <= 64 ? 64 : (components <= 128 ? 128 : most_block_components));
}

/// What a block's sums that go on from section to section are (half_moments.cuh): none yet, or times
/// half_scale(exponent), of tiles of which `greatest` is the greatest exponent.
struct kept_state {
  int any = 0;
  int exponent = 0;
  int greatest = 0;
  int begun = 0;  ///< zero: what the lane has in memory is of another pass
};

/// Components that a frame leaves out (left_out.hpp). In order they are those of which the arrays have the parts.
struct left_out_components {
  int* marks = nullptr;        ///< [components, padded] not zero: the component is left out
  unsigned* count = nullptr;   ///< null: the frame has to hold all
  unsigned* places = nullptr;  ///< [most_left_out] which they are, in any order
  double* terms = nullptr;     ///< [most_left_out][rows of a chunk]
  double* sums = nullptr;      ///< [most_left_out][sums of a component] about the frame's origin
};

struct component_frame {
  double* origin = nullptr;     ///< [steps · frame_step] m; zero beyond the last column
  double* operands = nullptr;   ///< [step][component / 8][feature][half of the step][64], as operand_place() says
  double* constants = nullptr;  ///< [components, padded] −∞ for an empty component and beyond the last one
  double* curves = nullptr;     ///< [components, padded] of spherical ones, whose features are z alone
  double* norms = nullptr;      ///< [rows of a chunk] ‖z‖², spherical
  int* together = nullptr;      ///< zero: components are too far from each other for a common origin, or a deviation
                                ///< is so large or small that squares about it would leave float64's range

  // For float32's grade by products of float16 terms, of float32 rows and at most most_half_components components; null
  // for others. z is in units of powers of two there. Operands lie as tensor::operand_place() says, [component][column]
  // with a step's columns as tensor::step_place() orders them, and [component][row].
  int* near = nullptr;               ///< next to together; zero: components are too far from each other for that grade
  float2* units = nullptr;           ///< [columns, padded] S and −mS; zero beyond the last column
  float2* half_constants = nullptr;  ///< [components, padded] constants as two float32 terms
  float2* half_curves = nullptr;     ///< [components, padded] curves in that unit, spherical
  /// [tile of at most most_half_components][step][term][feature][components of a tile · frame_step]
  std::uint16_t* half_operands = nullptr;
  /// [1 + tiles][rows of a chunk] the greatest term of all tiles and of each, and Σ exp(term − greatest), where there
  /// are several tiles
  float2* half_parts = nullptr;
  std::size_t part_rows = 0;
  left_out_components left_out;
  unsigned stretches = 1;              ///< of the columns, which different blocks take for the same rows
  float4* stretch_sums = nullptr;      ///< [score tile][tile of components][stretch]; where there are several
  unsigned* stretches_done = nullptr;  ///< [score tile][tile of components] zero between two kernels
  /// [score tile of a chunk][block of components][step of 16 rows][term][components of the block · 16], times
  /// half_scale()
  std::uint16_t* half_responsibilities = nullptr;
  float* half_weights = nullptr;  ///< [score tile][components, padded] Σ w r
  float* half_norms = nullptr;    ///< [score tile][components, padded] Σ w r ‖z‖², spherical, in the frame's unit
  int* far = nullptr;             ///< [score tiles of a chunk] not zero: some row is beyond that grade
  int* exponents = nullptr;       ///< [score tiles of a chunk] of the greatest weight
  float* kept_sums = nullptr;     ///< [kept_blocks][numbers of a block] sums that go on, between two chunks
  kept_state* kept = nullptr;     ///< [kept_blocks]
  unsigned kept_blocks = 0;       ///< with one product
  int products = 3;               ///< of float16 terms for one of float32's grade; 1: of one term each
  unsigned multiprocessors = 0;   ///< of this GPU

  bool float_rows = false;  ///< whose digits a wider frame keeps
  unsigned steps = 0;
  unsigned eights = 0;  ///< of components, padded

  __host__ __device__ unsigned half_tile() const {
    return eights * 8 < most_half_components ? eights * 8 : most_half_components;
  }
  __host__ __device__ unsigned half_tiles() const { return eights * 8 / half_tile(); }
};

inline bool has_frame(const kernel_layout& layout) {
  return layout.type == covariance_type::diag || layout.type == covariance_type::spherical;
}
/// Whether products of float16 terms take float32 rows of a mixture.
inline bool takes_halves(const kernel_layout& layout) {
  return has_frame(layout) && (layout.components <= most_half_components || layout.columns >= least_tiled_columns);
}
constexpr unsigned features_of(covariance_type type) { return type == covariance_type::spherical ? 1 : 2; }

/// Sizes of a mixture's frame.
inline component_frame frame_sizes(const kernel_layout& layout) {
  component_frame frame;
  frame.steps = (layout.columns + frame_step - 1) / frame_step;
  const unsigned tile = tile_components(layout.components);
  frame.eights = (layout.components + tile - 1) / tile * (tile / 8);
  return frame;
}
inline std::size_t operands_size(const kernel_layout& layout, const component_frame& frame) {
  return std::size_t{frame.steps} * frame.eights * features_of(layout.type) * 128;
}

/// Terms that a float32 number is split into.
constexpr unsigned half_terms(int products) { return products == 3 ? 2 : 1; }

inline std::size_t half_operands_size(const kernel_layout& layout, const component_frame& frame) {
  return std::size_t{half_columns(layout.columns)} * frame.eights * 8 * features_of(layout.type) *
         half_terms(frame.products);
}

/// Where in a step's block of eight components lies what lane 4 g + t of a warp multiplies by, component g and
/// column `column` of the step: b of the products, whose t'th four columns each lane has.
constexpr unsigned operand_place(unsigned component, unsigned column) {
  return column / 8 * 64 + (component % 8 * 4 + column % 4) * 2 + column % 8 / 4;
}
}  // namespace shoal::gmm::tensor_float64
