// The kernels for float32 rows in the frame by products of float16 terms. They do nothing when components are not near
// each other, and leave out score tiles of far rows, which those for float64 products do.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>

#include <shoal/gmm/cuda/tensor_float64/frame.hpp>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>

namespace shoal::gmm::tensor_float64 {

/// A group of four warps sums the moments of so many columns.
inline constexpr unsigned half_group_columns = 64;
/// Components of a block of the moments.
constexpr unsigned half_block_components(unsigned components) { return components <= 32 ? 32 : 64; }
/// Groups of a block at most. With two a thread has 232 registers, with three 160, which hold the sums of one product:
/// diag (200,000, 768, 64) takes 0.71 and 0.81 ms an iteration with two and three, 0.57 and 0.52 in tf32; spherical
/// 0.61 and 0.63, 0.51 and 0.55. An odd number of groups is better cut by three: with two, one has nothing to do.
constexpr unsigned half_moment_groups(const kernel_layout& layout, int products) {
  const unsigned all = (layout.columns + half_group_columns - 1) / half_group_columns;
  if (layout.type == covariance_type::diag) {
    if (products == 1) return 3;
    return all == 3 && half_block_components(layout.components) == 32 ? 3 : 2;
  }
  return all == 3 || all == 5 ? 3 : 2;
}
/// Blocks that share the columns of a lane, and columns of each.
constexpr unsigned half_column_blocks(const kernel_layout& layout, int products) {
  const unsigned most = half_moment_groups(layout, products) * half_group_columns;
  return (layout.columns + most - 1) / most;
}
constexpr unsigned half_block_columns(const kernel_layout& layout, int products) {
  const unsigned groups = (layout.columns + half_group_columns - 1) / half_group_columns;
  const unsigned blocks = half_column_blocks(layout, products);
  return (groups + blocks - 1) / blocks * half_group_columns;
}

/// Blocks of half_moments() to a lane.
constexpr unsigned half_moment_blocks(const kernel_layout& layout, int products) {
  const unsigned own = half_block_components(layout.components);
  return half_column_blocks(layout, products) * ((layout.components + own - 1) / own);
}

/// Blocks of all lanes at most, and sums of each.
constexpr std::size_t most_half_blocks(const kernel_layout& layout, int products, std::size_t multiprocessors) {
  return std::max<std::size_t>(multiprocessors, half_moment_blocks(layout, products));
}
constexpr std::size_t half_block_sums(const kernel_layout& layout, int products) {
  return std::size_t{half_moment_groups(layout, products)} * half_group_columns *
         half_block_components(layout.components) * features_of(layout.type);
}

/// Rows of at most so many columns and components are read once, by one kernel for log-densities and moments.
inline constexpr unsigned least_one_pass_columns = 17, most_one_pass_columns = 128, most_one_pass_components = 64;
inline bool is_one_pass(const kernel_layout& layout) {
  return layout.columns <= most_one_pass_columns && layout.components <= most_one_pass_components;
}
constexpr unsigned one_pass_components(unsigned components) {
  return components <= 16 ? 16 : components <= 40 ? 40 : 64;
}
constexpr unsigned one_pass_width(unsigned columns) { return columns <= 32 ? 32 : columns <= 64 ? 64 : 128; }
/// Groups of a block, of which a multiprocessor has one: as many as have room for their rows, and registers for sums.
constexpr unsigned one_pass_groups(bool spherical, unsigned components, unsigned width) {
  if (width == 128) return components == 16 ? 3 : 2;
  const unsigned groups = components == 16 ? 4 : components == 40 ? 3 : 2;
  return spherical || width == 32 ? groups + 1 : groups;
}
void one_pass_diag(const kernel_layout& layout, const row_chunk<float>& chunk, const component_frame& frame,
                   const prepared_parameters<float>& parameters, const row_terms& terms, const lane_plan& plan,
                   cudaStream_t stream);
void one_pass_spherical(const kernel_layout& layout, const row_chunk<float>& chunk, const component_frame& frame,
                        const prepared_parameters<float>& parameters, const row_terms& terms, const lane_plan& plan,
                        cudaStream_t stream);

/// As responsibilities_in_frame() and moments_in_frame(); responsibilities lie in the frame.
void half_responsibilities(const kernel_layout& layout, const row_chunk<float>& chunk, const component_frame& frame,
                           const prepared_parameters<float>& parameters, const row_terms& terms, cudaStream_t stream);
void half_moments(const kernel_layout& layout, const row_chunk<float>& chunk, const component_frame& frame,
                  const prepared_parameters<float>& parameters, const lane_plan& plan, cudaStream_t stream);

/// As clear_lanes() and merge_lanes() where sums go on from section to section, once the frame is packed.
void clear_kept_lanes(const kernel_layout& layout, const component_frame& frame, const lane_plan& plan,
                      const int* stopped, cudaStream_t stream);
void merge_kept_lanes(const kernel_layout& layout, const component_frame& frame, const lane_plan& plan,
                      double* statistics, const int* stopped, cudaStream_t stream);

}  // namespace shoal::gmm::tensor_float64
