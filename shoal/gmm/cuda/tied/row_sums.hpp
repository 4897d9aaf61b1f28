// Sums of rows that no model changes, learnt once.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/gmm/cuda/accumulator.hpp>
#include <shoal/gmm/cuda/tensor_float64/tensor_float64.hpp>
#include <shoal/gmm/cuda/tied/kernels.hpp>

namespace shoal::gmm::tied {

/// Σ z and Σ z zᵀ of each shard: the sums of a mixture of one component, which has all of every row.
template <class Scalar>
class row_sums {
 public:
  row_sums(const accumulator_shape& shape, std::size_t shards)
      : one_(one_component(shape)),
        centres_(shards * shape.layout.columns()),
        sums_(shards * one_.layout.size()),
        zeros_(shape.layout.columns() * shape.layout.columns()),
        stopped_(1),
        shards_(shards),
        accumulator_(tensor_float64::make_accumulator<Scalar>(one_)) {
    zeros_.fill_with_zeros();
    stopped_.fill_with_zeros();
  }

  void add(std::size_t shard, const cuda::device_piece<Scalar>& piece, cudaStream_t stream) {
    const std::size_t d = one_.layout.columns();
    double* const centre = centres_.data() + shard * d;
    prepared_parameters<Scalar> component;
    component.in_double = {centre, zeros_.data(), zeros_.data(), zeros_.data(), zeros_.data()};
    if constexpr (sizeof(Scalar) == 8) component.packed = component.in_double;
    component.stopped = stopped_.data();
    if (piece.share_first == 0) {
      place_centre(piece.rows, piece.count, static_cast<unsigned>(d), centre, stream);
      accumulator_->clear(component, stream);
    }
    accumulator_->add(piece, component, stream);
    accumulator_->merge(sums_.data() + shard * one_.layout.size(), component, stream);
  }

  learnt_rows of(std::size_t shard) const {
    if (shard >= shards_) return {};
    const double* const sums = sums_.data() + shard * one_.layout.size();
    return {centres_.data() + shard * one_.layout.columns(), sums + one_.layout.component(0),
            sums + one_.layout.shared(), sums + one_.layout.weight(0)};
  }

 private:
  static accumulator_shape one_component(accumulator_shape shape) {
    shape.layout = statistics_layout(covariance_type::tied, 1, shape.layout.columns());
    shape.shards = shape.data_shards = 1;
    return shape;
  }

  accumulator_shape one_;
  cuda::device_buffer<double> centres_, sums_, zeros_;
  cuda::device_buffer<int> stopped_;
  std::size_t shards_;
  std::unique_ptr<accumulator<Scalar>> accumulator_;
};

}  // namespace shoal::gmm::tied
