// A mixture in the memory of a GPU: as a model, and made ready for kernels.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <type_traits>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/gmm/covariance_type.hpp>
#include <shoal/gmm/cuda/parameters.hpp>
#include <shoal/gmm/statistics_layout.hpp>

namespace shoal::gmm {

/// Where the sums of all components lie, as constants that kernels may name.
inline constexpr std::size_t log_likelihood_at = statistics_layout::log_likelihood();
inline constexpr std::size_t total_weight_at = statistics_layout::total_weight();
inline constexpr std::size_t far_rows_at = statistics_layout::far_rows();

/// Where each sum of the statistics lies, for kernels: statistics_layout as plain numbers.
struct kernel_layout {
  covariance_type type = covariance_type::full;
  unsigned components = 0;
  unsigned columns = 0;
  std::size_t header = 0;          ///< start of component 0
  std::size_t component_size = 0;  ///< sums that belong to one component alone
  std::size_t weight = 0;          ///< Wₖ, from the start of its component
  std::size_t shared = 0;          ///< start of the triangle that tied components share

  kernel_layout() = default;
  explicit kernel_layout(const statistics_layout& layout)
      : type(layout.type()),
        components(static_cast<unsigned>(layout.components())),
        columns(static_cast<unsigned>(layout.columns())),
        header(layout.component(0)),
        component_size(layout.component(1) - layout.component(0)),
        weight(layout.weight(0) - layout.component(0)),
        shared(layout.shared()) {}
};

/// A model as parts of one buffer, in the order in which the host keeps them too.
struct model_arrays {
  double* weights = nullptr;      ///< [K]
  double* means = nullptr;        ///< [K][d]
  double* covariances = nullptr;  ///< as model::covariances
};

/// What prepared_components point to, for those who write it.
template <class Arithmetic>
struct component_arrays {
  Arithmetic* centres = nullptr;
  Arithmetic* offsets = nullptr;
  Arithmetic* factors = nullptr;
  Arithmetic* log_constants = nullptr;
};

template <class Scalar>
struct prepared_arrays {
  component_arrays<Scalar> packed;
  component_arrays<double> in_double;  ///< the same arrays as `packed` when Scalar is double
  double* log_shift = nullptr;
  int* stopped = nullptr;
};

/// A prepared mixture on the current GPU, in one piece, so that one copy takes all of it to another GPU.
template <class Scalar>
class prepared_mixture {
 public:
  prepared_mixture() = default;
  explicit prepared_mixture(const statistics_layout& layout) : memory_(layout_of(layout, nullptr)) {
    layout_of(layout, this);
  }

  const prepared_arrays<Scalar>& arrays() const { return arrays_; }
  prepared_parameters<Scalar> parameters() const {
    return {{arrays_.packed.centres, arrays_.packed.offsets, arrays_.packed.factors, arrays_.packed.log_constants,
             arrays_.log_shift},
            {arrays_.in_double.centres, arrays_.in_double.offsets, arrays_.in_double.factors,
             arrays_.in_double.log_constants, arrays_.log_shift},
            arrays_.stopped};
  }
  void* data() { return memory_.data(); }
  std::size_t bytes() const { return memory_.bytes(); }

 private:
  // Arrays start at multiples of so many bytes, for vector and bulk loads.
  static constexpr std::size_t alignment = 256;

  // The bytes that a mixture needs; sets the arrays of `into` unless it is null.
  static std::size_t layout_of(const statistics_layout& layout, prepared_mixture* into) {
    std::size_t used = 0;
    const auto take = [&]<class Element>(Element*& array, std::size_t count) {
      if (into != nullptr) array = reinterpret_cast<Element*>(into->memory_.data() + used);
      used += (count * sizeof(Element) + alignment - 1) / alignment * alignment;
    };
    const std::size_t K = layout.components(), d = layout.columns();
    const std::size_t factors = layout.type() == covariance_type::full   ? K * d * d
                                : layout.type() == covariance_type::tied ? d * d
                                                                         : K * d;
    prepared_arrays<Scalar> arrays;
    const auto take_all = [&]<class Arithmetic>(component_arrays<Arithmetic>& components) {
      take(components.centres, K * d);
      take(components.offsets, K * d);
      take(components.factors, factors);
      take(components.log_constants, K);
    };
    take(arrays.stopped, 1);
    take(arrays.log_shift, 1);
    take_all(arrays.packed);
    if constexpr (std::is_same_v<Scalar, double>) {
      arrays.in_double = arrays.packed;
    } else {
      take_all(arrays.in_double);
    }
    if (into != nullptr) into->arrays_ = arrays;
    return used;
  }

  cuda::device_buffer<unsigned char> memory_;
  prepared_arrays<Scalar> arrays_;
};

}  // namespace shoal::gmm
