// The memory of moments in the frame, and what makes them moments about the components' centres.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/gmm/cuda/accumulator.hpp>
#include <shoal/gmm/cuda/tensor_wide/framed_moments.hpp>
#include <shoal/gmm/cuda/tensor_wide/held_rows.hpp>
#include <shoal/gmm/cuda/tensor_wide/layout.hpp>
#include <shoal/gmm/cuda/tensor_wide/moments.hpp>

namespace shoal::gmm::tensor_wide {

/// Moments in the frame on one GPU; empty for mixtures without one.
class framed_accumulator {
 public:
  framed_accumulator(const problem& mixture, const moment_plan& plan, std::size_t chunk_rows);

  /// After the mixture has been packed.
  void clear(const problem& mixture, cudaStream_t stream);
  /// Adds the moments of near components to a mixture's lanes.
  void add(const problem& mixture, const row_chunk& chunk, const held_sections& held, const moment_plan& plan,
           cudaStream_t stream);
  /// Moves the merged sums of a mixture to the components' centres.
  void merge(const problem& mixture, const moment_plan& plan, double* statistics, cudaStream_t stream);

 private:
  std::size_t rows_ = 0;  // that are in the frame at a time; 0: there is none
  framed_sums sums_;
  double* merged_ = nullptr;  // [K][columns + 1]
  cuda::device_buffer<std::uint16_t> row_memory_;
  cuda::device_buffer<double> first_memory_, merged_memory_;
};

}  // namespace shoal::gmm::tensor_wide
