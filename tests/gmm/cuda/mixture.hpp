// Mixtures and rows in the memory of a GPU, for tests and benchmarks of its kernels.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/execution/cuda/stream.hpp>
#include <shoal/gmm/cuda/accumulator.hpp>
#include <shoal/gmm/parameters.hpp>
#include <shoal/gmm/statistics.hpp>

namespace checks {

// The arrays of one arithmetic, as device_components lays them out.
template <class Arithmetic>
class device_arrays {
 public:
  template <class Scalar>
  void upload(const shoal::gmm::parameters<Scalar>& from, const shoal::gmm::packed_components<Arithmetic>& packed,
              cudaStream_t stream) {
    const std::size_t K = from.components, d = from.columns;
    std::vector<Arithmetic> centres(K * d), offsets(K * d), factors, constants(K);
    for (std::size_t k = 0; k < K; ++k) {
      constants[k] = packed.log_constants[k];
      for (std::size_t j = 0; j < d; ++j) {
        centres[k * d + j] = packed.centres[k * d + j];
        offsets[k * d + j] = packed.offsets[k * packed.padded_columns + j];
      }
    }
    const bool tied = from.covariance_type == shoal::gmm::covariance_type::tied;
    for (std::size_t k = 0; k < (tied ? 1 : K); ++k) {
      const Arithmetic* const own = packed.factors.data() + k * packed.factor_stride;
      if (!from.has_matrices()) {
        factors.insert(factors.end(), own, own + d);
        continue;
      }
      for (std::size_t i = 0; i < d; ++i) {
        for (std::size_t j = 0; j < d; ++j) {
          const std::size_t tile = j / shoal::gmm::factor_tile * shoal::gmm::factor_tile;
          const std::size_t place = shoal::gmm::packed_tile_start(tile) + i * shoal::gmm::factor_tile + (j - tile);
          factors.push_back(i <= j ? own[place] : Arithmetic{0});
        }
      }
    }
    centres_.upload(centres, stream);
    offsets_.upload(offsets, stream);
    factors_.upload(factors, stream);
    constants_.upload(constants, stream);
    shift_.upload(std::vector<double>{packed.log_shift}, stream);
    shoal::cuda::check(cudaStreamSynchronize(stream), "upload a mixture");
  }

  shoal::gmm::prepared_components<Arithmetic> view() const {
    return {centres_.data(), offsets_.data(), factors_.data(), constants_.data(), shift_.data()};
  }

 private:
  shoal::cuda::device_buffer<Arithmetic> centres_, offsets_, factors_, constants_;
  shoal::cuda::device_buffer<double> shift_;
};

template <class Scalar>
class device_mixture {
 public:
  device_mixture(const shoal::gmm::parameters<Scalar>& from, cudaStream_t stream) {
    packed_.upload(from, from.packed, stream);
    if constexpr (sizeof(Scalar) == 4) in_double_.upload(from, from.in_double, stream);
    set_stopped(0, stream);
  }

  void set_stopped(int value, cudaStream_t stream) {
    stopped_.upload(std::vector<int>{value}, stream);
    shoal::cuda::check(cudaStreamSynchronize(stream), "upload a flag");
  }

  shoal::gmm::prepared_parameters<Scalar> view() const {
    shoal::gmm::prepared_parameters<Scalar> result;
    result.packed = packed_.view();
    if constexpr (sizeof(Scalar) == 4) {
      result.in_double = in_double_.view();
    } else {
      result.in_double = packed_.view();
    }
    result.stopped = stopped_.data();
    return result;
  }

 private:
  device_arrays<Scalar> packed_;
  device_arrays<double> in_double_;
  shoal::cuda::device_buffer<int> stopped_;
};

inline shoal::gmm::accumulator_shape shape_of(const shoal::gmm::statistics_layout& layout, std::size_t rows,
                                              bool weighted) {
  cudaDeviceProp properties{};
  shoal::cuda::check(cudaGetDeviceProperties(&properties, 0), "describe the device");
  shoal::gmm::accumulator_shape shape;
  shape.layout = layout;
  shape.share_rows = rows;
  shape.multiprocessors = static_cast<std::size_t>(properties.multiProcessorCount);
  shape.shared_bytes = properties.sharedMemPerBlockOptin;
  shape.weighted = weighted;
  return shape;
}

// Rows given to the accumulator in pieces of `piece` rows.
template <class Scalar>
shoal::gmm::statistics accumulate_on_device(shoal::gmm::accumulator<Scalar>& accumulator,
                                            const shoal::gmm::prepared_parameters<Scalar>& parameters,
                                            const shoal::gmm::statistics_layout& layout, std::size_t rows,
                                            const Scalar* device_rows, const Scalar* device_weights, std::size_t piece,
                                            cudaStream_t stream) {
  shoal::cuda::device_buffer<double> sums(layout.size());
  shoal::cuda::check(cudaMemsetAsync(sums.data(), 0xFF, sums.bytes(), stream), "poison the sums");
  accumulator.clear(parameters, stream);
  for (std::size_t first = 0; first < rows; first += piece) {
    const std::size_t count = std::min(piece, rows - first);
    accumulator.add({device_rows + first * layout.columns(),
                     device_weights == nullptr ? nullptr : device_weights + first, first, first, count},
                    parameters, stream);
  }
  accumulator.merge(sums.data(), parameters, stream);
  shoal::gmm::statistics result(layout);
  const std::vector<double> values = sums.download(layout.size(), stream);
  std::copy(values.begin(), values.end(), result.values().begin());
  return result;
}

}  // namespace checks
