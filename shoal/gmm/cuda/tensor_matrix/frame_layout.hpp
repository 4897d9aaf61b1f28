// How the moments about a centre that all components share are arranged for tensor cores; shared by host and device.
//
// With z a row in the frame and z_d = 1, Σ r zᵢ zⱼ is one product of the rows' features zᵢzⱼ with their
// responsibilities, for all components at once. A tile has 64 features: four i, one for each of four warps, with
// sixteen j. Four tiles make a quad, sixteen i with sixteen j.
#pragma once

#include <cstddef>

namespace shoal::gmm::tensor_matrix {

/// Features of one product, and rows that it sums over.
inline constexpr int tile_features = 64;
inline constexpr int frame_step_rows = 16;
/// Rows of one stage, and rows that tensor cores sum before their sums are rounded to nearest.
inline constexpr int frame_stage_rows = 64;
inline constexpr int frame_float_rows = 128;
/// Rows of a section, which a lane takes at a time, at least and at most.
inline constexpr int least_frame_section_rows = 512;
inline constexpr int most_frame_section_rows = 4096;

/// Blocks of sixteen columns, and the quads of pairs i ≤ j of blocks.
constexpr int frame_blocks(int columns) { return (columns + 15) / 16; }
constexpr int pair_quads(int columns) { return frame_blocks(columns) * (frame_blocks(columns) + 1) / 2; }
/// After them come quads of which the first tile has i = d and 64 columns j, of which the last is d itself.
constexpr int frame_quads(int columns) { return pair_quads(columns) + columns / tile_features + 1; }
constexpr int frame_tiles(int columns) { return 4 * frame_quads(columns); }
/// Columns of rows in the frame, the one of ones among them.
constexpr int placed_columns(int columns) { return 16 * frame_blocks(columns + 1); }

/// Where Σ r zᵢ zⱼ of one component lies, i ≤ j < d, in units of 64 · components, and in these 64.
struct feature_place {
  int tile;
  int feature;
};
constexpr feature_place pair_place(int i, int j) {
  const int b = j / 16;
  return {4 * (b * (b + 1) / 2 + i / 16) + i % 16 / 4, 16 * (i % 4) + j % 16};
}
/// The same for Σ r zⱼ and, where j = d, Σ r.
constexpr feature_place single_place(int columns, int j) {
  return {4 * (pair_quads(columns) + j / tile_features), j % tile_features};
}

/// Components of one product.
constexpr int frame_components(int components) { return components <= 32 ? 32 : 64; }
constexpr int frame_component_tiles(int components) {
  return (components + frame_components(components) - 1) / frame_components(components);
}
constexpr int padded_components(int components) {
  return frame_component_tiles(components) * frame_components(components);
}

/// Tiles of four warps, so that their sums fit into registers; sums of float32 grade are kept twice.
constexpr int group_tiles(int components, int products) { return 256 / components / (products == 3 ? 2 : 1); }
/// Groups of four warps in a block, and blocks that share the tiles of one lane.
inline constexpr int frame_groups = 2;
constexpr int frame_roles(int columns, int components, int products) {
  const int block_tiles = frame_groups * group_tiles(frame_components(components), products);
  return (frame_tiles(columns) + block_tiles - 1) / block_tiles * frame_component_tiles(components);
}

/// float64 sums of one lane.
constexpr std::size_t frame_sums_size(int columns, int components) {
  return static_cast<std::size_t>(frame_tiles(columns) * padded_components(components)) * tile_features;
}

}  // namespace shoal::gmm::tensor_matrix
