// What the host must know about the kernels of this room to launch them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/gmm/cuda/mixture.hpp>
#include <shoal/gmm/cuda/predictor.hpp>

namespace shoal::gmm::tensor_float64 {

/// Consecutive rows in hand, whose terms fit into the workspace.
template <class Scalar>
struct row_chunk {
  const Scalar* rows = nullptr;     ///< [count][columns]
  const Scalar* weights = nullptr;  ///< null: all one
  std::size_t count = 0;
  std::size_t share_first = 0;  ///< of the first row, among the rows that are summed together
};

/// A term of every row and component: ln πₖ N(x; μₖ, Σₖ) − log_shift, later w·r.
struct row_terms {
  double* values = nullptr;  ///< [K][stride]
  std::size_t stride = 0;    ///< rows of a chunk at most
  double* sums = nullptr;    ///< [tiles of score_tile_rows rows][2]: Σ w ln p(x) and Σ w
};

/// Rows are summed in sections, and section s of a share belongs to lane s mod lanes.
struct lane_plan {
  double* sums = nullptr;        ///< [lanes][size]
  std::size_t size = 0;          ///< of the statistics
  std::size_t section_rows = 0;  ///< divides cuda::piece_unit; a multiple of score_tile_rows
  unsigned lanes = 0;
  bool many = false;  ///< several threads add the lanes of a sum
};

/// Where a frame mostly leaves kernels nothing to do, more blocks than a GPU holds would take time to find that out.
inline constexpr unsigned any_blocks = ~0U;

/// ln πₖ N(x; μₖ, Σₖ) − log_shift of a chunk's rows under all components; of rows in at most so many blocks, where
/// there are no matrices.
template <class Scalar>
void launch_densities(const kernel_layout& layout, const row_chunk<Scalar>& chunk,
                      const prepared_parameters<Scalar>& parameters, const row_terms& terms, cudaStream_t stream,
                      unsigned most_blocks = any_blocks);

/// The same under full and tied covariances, of those tiles of density_rows rows alone for which `wanted` is not zero;
/// of none if `any` is zero.
inline constexpr int density_rows = 128;
void launch_wanted_densities(const kernel_layout& layout, const row_chunk<float>& chunk,
                             const prepared_parameters<float>& parameters, const row_terms& terms, const int* wanted,
                             const int* any, unsigned processors, cudaStream_t stream);

/// Densities to responsibilities times weights, and the rows' part of the score.
template <class Scalar>
void launch_responsibilities(const kernel_layout& layout, const row_chunk<Scalar>& chunk,
                             const prepared_parameters<Scalar>& parameters, const row_terms& terms, cudaStream_t stream,
                             unsigned most_blocks = any_blocks);

/// Both by one kernel, with the same bits, of full and tied covariances and as many rows and as few columns and
/// components as that takes; false, and nothing is launched, for others.
bool launch_row_responsibilities(const kernel_layout& layout, const row_chunk<double>& chunk,
                                 const prepared_parameters<double>& parameters, const row_terms& terms,
                                 cudaStream_t stream);

/// Densities to what `out` asks for, and the rows' part of the score.
template <class Scalar>
void launch_predictions(const kernel_layout& layout, const row_chunk<Scalar>& chunk,
                        const prepared_parameters<Scalar>& parameters, const row_terms& terms,
                        const prediction<Scalar>& out, cudaStream_t stream);

/// Adds a chunk's moments under its responsibilities to the lanes.
template <class Scalar>
void launch_moments(const kernel_layout& layout, const row_chunk<Scalar>& chunk,
                    const prepared_parameters<Scalar>& parameters, const row_terms& terms, const lane_plan& plan,
                    cudaStream_t stream);

/// The lanes of a shape. They depend on it alone, for the bits do.
template <class Scalar>
lane_plan plan_lanes(const accumulator_shape& shape, const kernel_layout& layout);
/// The same of a kernel that has `blocks` blocks to a lane, `turns` of them for each multiprocessor.
lane_plan plan_lanes(const accumulator_shape& shape, std::size_t blocks, std::size_t turns);

/// Blocks of launch_moments() to a lane.
template <class Scalar>
std::size_t moment_blocks(const kernel_layout& layout);

/// Sets the lanes to zero, and adds them up in order into `statistics` [size].
void clear_lanes(const lane_plan& plan, const int* stopped, cudaStream_t stream);
void merge_lanes(const lane_plan& plan, double* statistics, const int* stopped, cudaStream_t stream);

}  // namespace shoal::gmm::tensor_float64
