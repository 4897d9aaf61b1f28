// The kernels for tied mixtures of few rows: responsibilities from linear functions of a row, in float64.
//
// With z = x − m, ln πₖ N(x; μₖ, Σ) = constantₖ + aₖ·z − zᵀPz/2, where P = Σ⁻¹ = UUᵀ and aₖ = P(μₖ − m). The last term
// is the same for all components, so that it counts in log-likelihoods alone, whose sum over all rows Σ z zᵀ tells.
// That no model changes it is learnt once (row_sums.hpp). So neither densities nor moments multiply a row with a
// matrix.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/execution/cuda/device_piece.hpp>
#include <shoal/gmm/cuda/mixture.hpp>
#include <shoal/gmm/cuda/tied/kernels.hpp>

namespace shoal::gmm::tied {

/// How blocks share rows and columns. It depends on the shape alone, for the bits do.
struct linear_plan {
  unsigned tiles = 1;              ///< of 16 components, of a warp
  unsigned width = 64;             ///< columns of a warp
  bool shares_components = false;  ///< warps that share rows divide the components, and each has all columns
  unsigned warps_across = 1;       ///< that share a row's columns, or components
  unsigned warps_down = 1;         ///< of a block, with rows of their own: each is a lane
  unsigned lanes = 1;

  __host__ __device__ unsigned components() const { return 16 * tiles * (shares_components ? warps_across : 1); }
  __host__ __device__ unsigned columns() const { return width * (shares_components ? 1 : warps_across); }
  /// Numbers between components' coefficients: fragments are read from all banks.
  __host__ __device__ unsigned stride() const { return columns() + 4; }
  unsigned blocks() const { return lanes / warps_down; }
};

/// Columns that a warp has room for, whose sums for so many tiles of components stay in its registers.
constexpr unsigned most_linear_width(unsigned tiles) { return tiles == 1 ? 64 : (tiles == 4 ? 24 : 40); }
/// Kernels are compiled for some widths; with the smaller ones a multiprocessor has two blocks.
inline constexpr unsigned linear_widths[] = {24, 40, 64};
constexpr unsigned linear_blocks(unsigned tiles, unsigned width) {
  return (tiles == 1 && width <= 40) || (tiles == 2 && width <= 24) ? 2 : 1;
}

inline constexpr unsigned most_linear_tiles = 4, most_linear_warps = 8, linear_tile_rows = 16;

/// Numbers between rows of z, and between those of responsibilities, of a warp in shared memory.
constexpr unsigned linear_row_stride(unsigned width) { return width + 4; }
constexpr unsigned linear_weight_stride(unsigned tiles) { return 16 * tiles + 4; }

linear_plan plan_linear(std::size_t rows, std::size_t columns, std::size_t components, std::size_t multiprocessors);
/// Whether all columns and components have a place in it.
bool can_plan_linear(const linear_plan& plan, std::size_t columns, std::size_t components);
/// Shared memory of a block: the slopes, the origin, and what warps have of their own, z and responsibilities of their
/// rows; Σ r of a lane.
std::size_t linear_shared_bytes(const linear_plan& plan);

/// The memory of these kernels on one GPU.
struct linear_memory {
  double* slopes = nullptr;      ///< [components()][stride()] aₖ; zero beyond the last column and component
  double* constants = nullptr;   ///< [K]
  double* lines = nullptr;       ///< [K][d] Uᵀ(μₖ − m)
  double* traces = nullptr;      ///< [linear_traces()] what −zᵀPz/2 adds up to, in parts
  double* lanes = nullptr;       ///< [lanes][lane size] Σ r z [K][d], Σ r [K], Σ ln Σ exp
  double* sums = nullptr;        ///< [lane size] of all lanes
  int* stopped = nullptr;        ///< not zero: the mixture or its rows are others' business
  int* other_stopped = nullptr;  ///< not zero: others leave the rows alone
  int* leaves = nullptr;         ///< zero: what was summed is to be written
  /// The same as other_stopped for others that come behind these kernels, when that is set back.
  int* other_stopped_behind = nullptr;
};

__host__ __device__ inline std::size_t linear_lane_size(const kernel_layout& layout) {
  return std::size_t{layout.components} * (layout.columns + 1) + 1;
}
std::size_t linear_traces(const kernel_layout& layout);

/// Writes slopes, constants and traces, and who works.
void pack_linear(const kernel_layout& layout, const linear_plan& plan, const prepared_components<double>& in,
                 const learnt_rows& rows, const linear_memory& memory, double most_norm, const int* stopped,
                 cudaStream_t stream);
/// Adds a piece to the lanes, which begin with the first one.
template <class Scalar>
void add_linear(const kernel_layout& layout, const linear_plan& plan, const cuda::device_piece<Scalar>& piece,
                const double* origin, const linear_memory& memory, const int* stopped, cudaStream_t stream);
/// Writes the statistics, or sets the condition of `turn` if others have the rows.
void leave_linear(const kernel_layout& layout, const linear_plan& plan, const prepared_components<double>& in,
                  const learnt_rows& rows, const linear_memory& memory, const others_turn& turn, double* statistics,
                  const int* stopped, cudaStream_t stream);

}  // namespace shoal::gmm::tied
