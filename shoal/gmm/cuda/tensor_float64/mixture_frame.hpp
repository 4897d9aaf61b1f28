// The frame of a mixture and its memory on one GPU.
#pragma once

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/gmm/cuda/score_lanes.hpp>
#include <shoal/gmm/cuda/tensor/chunks.hpp>
#include <shoal/gmm/cuda/tensor_float64/frame_kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/half_kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/half_stretches.hpp>

namespace shoal::gmm::tensor_float64 {

/// Of diagonal and spherical mixtures on Hopper GPUs; empty for others. `half_products`: how many products of float16
/// terms stand for one of float32 rows on so many multiprocessors, where these can be; none for 0. `share_rows` are
/// summed together.
class mixture_frame {
 public:
  mixture_frame(const kernel_layout& layout, std::size_t chunk_rows, int half_products, std::size_t multiprocessors,
                std::size_t share_rows)
      : layout_(layout), used_(has_frame(layout) && tensor::has_products()) {
    if (!used_) return;
    frame_ = frame_sizes(layout);
    frame_.float_rows = half_products != 0;
    take(frame_.origin, origin_, std::size_t{frame_.steps} * frame_step);
    take(frame_.operands, operands_, operands_size(layout, frame_));
    take(frame_.constants, constants_, std::size_t{frame_.eights} * 8);
    take(frame_.together, together_, 2);
    if (layout.type == covariance_type::spherical) {
      take(frame_.curves, curves_, std::size_t{frame_.eights} * 8);
      take(frame_.norms, norms_, chunk_rows);
    }
    if (half_products == 0 || !takes_halves(layout)) return;
    frame_.products = half_products;
    frame_.multiprocessors = static_cast<unsigned>(multiprocessors);
    frame_.near = frame_.together + 1;
    take(frame_.units, units_, half_columns(layout.columns));
    take(frame_.half_operands, half_operands_, half_operands_size(layout, frame_));
    const std::size_t tiles = score_tiles(chunk_rows), padded = std::size_t{frame_.eights} * 8;
    take(frame_.half_constants, half_constants_, padded);
    if (layout.type == covariance_type::spherical) take(frame_.half_curves, half_curves_, padded);
    take(frame_.far, far_, tiles);
    if (is_one_pass(layout)) return;  // nothing of a row goes through memory
    frame_.part_rows = chunk_rows;
    if (frame_.half_tiles() > 1) {
      take(frame_.half_parts, half_parts_, (1 + frame_.half_tiles()) * chunk_rows);
      left_out_components& left = frame_.left_out;
      take(left.marks, left_out_marks_, padded);
      take(left.count, left_out_count_, 1);
      take(left.places, left_out_places_, most_left_out);
      take(left.terms, left_out_terms_, most_left_out * chunk_rows);
      take(left.sums, left_out_sums_, most_left_out * layout.component_size);
    }
    frame_.stretches = half_stretches(layout, frame_, share_rows);
    if (frame_.stretches > 1) {
      const std::size_t parts = tiles * frame_.half_tiles();
      take(frame_.stretch_sums, stretch_sums_,
           parts * frame_.stretches * stretch_fours(frame_.half_tile(), half_products) * group_threads);
      take(frame_.stretches_done, stretches_done_, parts);
      stretches_done_.fill_with_zeros();
    }
    take(frame_.half_responsibilities, half_responsibilities_,
         tiles * score_tile_rows * padded * half_terms(half_products));
    take(frame_.half_weights, half_weights_, tiles * padded);
    if (layout.type == covariance_type::spherical) take(frame_.half_norms, half_norms_, tiles * padded);
    take(frame_.exponents, exponents_, tiles);
    if (half_products != 1) return;
    const std::size_t blocks = most_half_blocks(layout, half_products, multiprocessors);
    frame_.kept_blocks = static_cast<unsigned>(blocks);
    take(frame_.kept_sums, kept_sums_, blocks * half_block_sums(layout, half_products));
    take(frame_.kept, kept_, blocks);
  }

  /// Run whenever the parameters change.
  template <class Scalar>
  void pack(const prepared_parameters<Scalar>& parameters, cudaStream_t stream) {
    if (used_) pack_frame(layout_, parameters.in_double, frame_, parameters.stopped, stream);
  }

  bool used() const { return used_; }
  const component_frame& get() const { return frame_; }

  /// With these, kernels that need no frame do nothing but where components are apart.
  template <class Scalar>
  prepared_parameters<Scalar> apart(prepared_parameters<Scalar> parameters) const {
    if (used_) parameters.stopped = frame_.together;
    return parameters;
  }

 private:
  template <class Element>
  static void take(Element*& array, cuda::device_buffer<Element>& buffer, std::size_t size) {
    buffer.grow(size);
    array = buffer.data();
  }

  kernel_layout layout_;
  bool used_;
  component_frame frame_;
  cuda::device_buffer<double> origin_, operands_, constants_, curves_, norms_;
  cuda::device_buffer<int> together_, far_, exponents_, left_out_marks_;
  cuda::device_buffer<unsigned> left_out_count_, left_out_places_;
  cuda::device_buffer<double> left_out_terms_, left_out_sums_;
  cuda::device_buffer<float2> units_, half_constants_, half_curves_, half_parts_;
  cuda::device_buffer<float> half_weights_, half_norms_, kept_sums_;
  cuda::device_buffer<kept_state> kept_;
  cuda::device_buffer<float4> stretch_sums_;
  cuda::device_buffer<unsigned> stretches_done_;
  cuda::device_buffer<std::uint16_t> half_operands_, half_responsibilities_;
};

}  // namespace shoal::gmm::tensor_float64
