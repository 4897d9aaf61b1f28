// Tied mixtures about an origin m that all components share. With v = Uᵀ(x − m), ln πₖ N(x; μₖ, Σ) = constantₖ +
// v·lineₖ − ‖v‖²/2: rows are whitened once for all components. Second moments are those of all rows about m, less what
// the components' centres account for: S = Σ w z zᵀ − Σₖ (fₖδₖᵀ + δₖfₖᵀ − Wₖδₖδₖᵀ) with z = x − m, δₖ = cₖ − m and fₖ =
// Σ w r z.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/gmm/cuda/tensor/chunks.hpp>
#include <shoal/gmm/cuda/tensor_float64/frame.hpp>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/tuning.hpp>

namespace shoal::gmm::tensor_float64 {

/// Components of which a block has the lines at a time.
inline constexpr unsigned line_components = 32;

/// Numbers from one component's line to the next: sixteen lanes read theirs from all banks.
constexpr unsigned line_stride(unsigned columns) { return (columns + 15) / 16 * 16 + 8; }

struct tied_frame {
  double* origin = nullptr;  ///< [columns] m
  double* lines = nullptr;   ///< [components, padded][line_stride()] Uᵀ(μₖ − m); zero beyond the last of either
  double* constants = nullptr;  ///< [components, padded] −∞ for an empty component and beyond the last one
  int* together = nullptr;      ///< zero: components are too far from each other for a common origin
  int* idle = nullptr;          ///< not zero: they are, or the fit has stopped
};

/// Whether a mixture's frame is this one. Of few components launches and sums of all rows can cost more than they save.
inline bool has_tied_frame(const accumulator_shape& shape) {
  const std::size_t components = shape.layout.components();
  return shape.layout.type() == covariance_type::tied && shape.layout.columns() <= row_columns &&
         (components >= least_tied_components || (components - 1) * shape.share_rows >= least_tied_rows);
}

/// Finds the origin and writes lines and constants. Run whenever the parameters change.
void pack_tied_frame(const kernel_layout& layout, const prepared_components<double>& parameters,
                     const tied_frame& frame, const int* stopped, cudaStream_t stream);

/// As launch_densities(), and where `finish` says so as launch_responsibilities() too.
template <class Scalar>
void densities_in_tied_frame(const kernel_layout& layout, const row_chunk<Scalar>& chunk, const tied_frame& frame,
                             const prepared_parameters<Scalar>& parameters, const row_terms& terms, bool finish,
                             cudaStream_t stream);
bool finishes_in_tied_frame(const kernel_layout& layout, std::size_t rows);

/// Adds Σ w r, Σ w r z and Σ w z zᵀ of a chunk to the lanes.
template <class Scalar>
void moments_in_tied_frame(const kernel_layout& layout, const row_chunk<Scalar>& chunk, const tied_frame& frame,
                           const prepared_parameters<Scalar>& parameters, const row_terms& terms, const lane_plan& plan,
                           cudaStream_t stream);

/// Moves the sums of all lanes from the origin to the components' centres.
void leave_tied_frame(const kernel_layout& layout, const prepared_components<double>& parameters,
                      const tied_frame& frame, double* statistics, const int* stopped, cudaStream_t stream);

/// The frame of a tied mixture and its memory on one GPU; empty for others.
template <class Scalar>
class tied_mixture_frame {
 public:
  explicit tied_mixture_frame(const accumulator_shape& shape)
      : layout_(shape.layout), used_(has_tied_frame(shape) && tensor::has_products()) {
    if (!used_) return;
    const std::size_t padded = (layout_.components + line_components - 1) / line_components * line_components;
    origin_.grow(layout_.columns);
    lines_.grow(padded * line_stride(layout_.columns));
    constants_.grow(padded);
    flags_.grow(2);
    frame_ = {origin_.data(), lines_.data(), constants_.data(), flags_.data(), flags_.data() + 1};
  }

  bool used() const { return used_; }

  /// Run whenever the parameters change.
  void pack(const prepared_parameters<Scalar>& parameters, cudaStream_t stream) const {
    if (used_) pack_tied_frame(layout_, parameters.in_double, frame_, parameters.stopped, stream);
  }

  /// Whether densities() goes on to responsibilities.
  bool finishes(const row_chunk<Scalar>& chunk) const { return used_ && finishes_in_tied_frame(layout_, chunk.count); }
  void densities(const row_chunk<Scalar>& chunk, const prepared_parameters<Scalar>& parameters, const row_terms& terms,
                 cudaStream_t stream) const {
    if (used_) densities_in_tied_frame(layout_, chunk, frame_, parameters, terms, finishes(chunk), stream);
  }
  void moments(const row_chunk<Scalar>& chunk, const prepared_parameters<Scalar>& parameters, const row_terms& terms,
               const lane_plan& plan, cudaStream_t stream) const {
    if (used_) moments_in_tied_frame(layout_, chunk, frame_, parameters, terms, plan, stream);
  }

  void leave(double* statistics, const prepared_parameters<Scalar>& parameters, cudaStream_t stream) const {
    if (used_) leave_tied_frame(layout_, parameters.in_double, frame_, statistics, parameters.stopped, stream);
  }

  /// With these, kernels that need no frame do nothing but where components are apart.
  prepared_parameters<Scalar> apart(prepared_parameters<Scalar> parameters) const {
    if (used_) parameters.stopped = frame_.together;
    return parameters;
  }

 private:
  kernel_layout layout_;
  bool used_;
  tied_frame frame_;
  cuda::device_buffer<double> origin_, lines_, constants_;
  cuda::device_buffer<int> flags_;
};

}  // namespace shoal::gmm::tensor_float64
