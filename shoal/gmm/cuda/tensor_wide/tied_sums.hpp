// Sums of tied components about an origin m that all share: second moments are those of all rows about m, less what
// centres account for (tensor_float64/tied_frame.hpp), so that their products do not grow with the components.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/gmm/cuda/accumulator.hpp>
#include <shoal/gmm/cuda/tensor_float64/tied_frame.hpp>
#include <shoal/gmm/cuda/tensor_wide/layout.hpp>
#include <shoal/gmm/cuda/tensor_wide/moments.hpp>

namespace shoal::gmm::tensor_wide {

/// The memory of these sums on one GPU; empty for other mixtures.
class tied_sums {
 public:
  tied_sums(const accumulator_shape& shape, std::size_t chunk_rows);

  bool used() const { return used_; }
  /// After the mixture has been packed.
  void clear(const problem& mixture, cudaStream_t stream);
  /// Adds Σ w r, Σ w r z and the score of a chunk to a mixture's lanes, and Σ w z zᵀ to lanes of its own; z = x − m.
  void add(const problem& mixture, const row_chunk& chunk, const row_terms& terms,
           const tensor_float64::lane_plan& lanes, cudaStream_t stream);
  /// Adds its lanes to the merged sums of a mixture, and moves these to the components' centres.
  void merge(const problem& mixture, double* statistics, cudaStream_t stream);

  /// With these, kernels do nothing but where components are too far apart.
  prepared_parameters<float> apart(prepared_parameters<float> parameters) const {
    if (used_) parameters.stopped = frame_.together;
    return parameters;
  }

 private:
  // As if one component at the origin had all rows.
  prepared_parameters<float> of_rows(const problem& mixture) const;

  bool used_;
  kernel_layout layout_;  // of that component
  moment_plan plan_;
  tensor_float64::tied_frame frame_;
  cuda::device_buffer<double> origin_, weights_, lanes_, sums_;
  cuda::device_buffer<int> flags_;
};

}  // namespace shoal::gmm::tensor_wide
