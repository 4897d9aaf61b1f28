// A mixture in the memory of a GPU, for tests and benchmarks of accumulators: what the maximisation leaves there.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <vector>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/stream.hpp>
#include <shoal/gmm/cuda/device_accumulator.hpp>
#include <shoal/gmm/parameters.hpp>

namespace shoal::gmm {

/// device_components with the memory that they point to.
template <class Arithmetic>
class device_mixture_buffers {
 public:
  device_mixture_buffers(const packed_components<Arithmetic>& packed, covariance_type type, std::size_t components,
                         std::size_t columns, cudaStream_t stream) {
    std::vector<Arithmetic> centres(packed.centres.data(), packed.centres.data() + components * columns);
    std::vector<Arithmetic> offsets(components * columns);
    for (std::size_t k = 0; k < components; ++k) {
      for (std::size_t j = 0; j < columns; ++j) {
        offsets[k * columns + j] = packed.offsets[k * packed.padded_columns + j];
      }
    }
    const std::size_t matrices = type == covariance_type::tied ? 1 : components;
    std::vector<Arithmetic> factors(matrices * columns * columns);
    for (std::size_t k = 0; k < matrices; ++k) {
      const Arithmetic* const triangle = packed.factors.data() + k * packed.factor_stride;
      for (std::size_t i = 0; i < columns; ++i) {
        for (std::size_t j = i; j < columns; ++j) {
          const std::size_t tile = j / factor_tile * factor_tile;
          factors[(k * columns + i) * columns + j] = triangle[packed_tile_start(tile) + i * factor_tile + (j - tile)];
        }
      }
    }
    const std::vector<Arithmetic> constants(packed.log_constants.data(), packed.log_constants.data() + components);
    centres_.upload(centres, stream);
    offsets_.upload(offsets, stream);
    factors_.upload(factors, stream);
    constants_.upload(constants, stream);
    shift_.upload(std::span<const double>(&packed.log_shift, 1), stream);
    cuda::check(cudaStreamSynchronize(stream), "finish its work");
  }

  device_components<Arithmetic> view() const {
    return {centres_.data(), offsets_.data(), factors_.data(), constants_.data(), shift_.data()};
  }

 private:
  cuda::device_buffer<Arithmetic> centres_, offsets_, factors_, constants_;
  cuda::device_buffer<double> shift_;
};

/// A prepared mixture on the current GPU: full and tied covariances, float32 data.
class device_mixture {
 public:
  device_mixture(const parameters<float>& ready, cudaStream_t stream)
      : packed_(ready.packed, ready.covariance_type, ready.components, ready.columns, stream),
        in_double_(ready.in_double, ready.covariance_type, ready.components, ready.columns, stream) {
    set_stopped(false, stream);
  }

  void set_stopped(bool stopped, cudaStream_t stream) {
    const int value = stopped ? 1 : 0;
    stopped_.upload(std::span<const int>(&value, 1), stream);
    cuda::check(cudaStreamSynchronize(stream), "finish its work");
  }
  device_parameters<float> view() const { return {packed_.view(), in_double_.view(), stopped_.data()}; }

 private:
  device_mixture_buffers<float> packed_;
  device_mixture_buffers<double> in_double_;
  cuda::device_buffer<int> stopped_;
};

}  // namespace shoal::gmm
