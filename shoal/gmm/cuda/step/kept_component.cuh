// A component of the model that a step replaces, which stays to be had should a mean jump: device code of maximise.cu.
#pragma once

#include <cuda_runtime.h>

#include <shoal/gmm/cuda/step/step_arguments.hpp>

namespace shoal::gmm {

// Asks for the component when it is made, so that the wait for it is the wait for the sums too; a load before each
// store of the new model made steps of few rows 13 % longer on an NVIDIA H200. The group meets between the two calls,
// and again before a new value is written.
template <class Group, class Scalar>
class kept_component {
 public:
  __device__ kept_component(const Group& group, const step_arguments<Scalar>& arguments, unsigned k)
      : group_(group), arguments_(arguments), k_(k) {
    const unsigned d = arguments.layout.columns;
    covariance_size_ = arguments.layout.type == covariance_type::full   ? d * d
                       : arguments.layout.type == covariance_type::diag ? d
                                                                        : 1;
#pragma unroll
    for (unsigned i = 0; i < ahead; ++i) {
      const unsigned element = group.rank + i * group.size;
      if (element < size()) values_[i] = *at(arguments.model, element);
    }
  }

  __device__ void store() const {
#pragma unroll
    for (unsigned i = 0; i < ahead; ++i) {
      const unsigned element = group_.rank + i * group_.size;
      if (element < size()) *at(arguments_.before, element) = values_[i];
    }
    if (size() <= ahead * group_.size) return;
    for (unsigned element = group_.rank + ahead * group_.size; element < size(); element += group_.size) {
      *at(arguments_.before, element) = *at(arguments_.model, element);
    }
    group_.sync();
  }

 private:
  static constexpr unsigned ahead = 3;  // a warp's share of a full component of 8 columns

  __device__ unsigned size() const { return 1 + arguments_.layout.columns + covariance_size_; }

  __device__ double* at(const model_arrays& model, unsigned element) const {
    const unsigned d = arguments_.layout.columns;
    if (element == 0) return model.weights + k_;
    if (element <= d) return model.means + std::size_t{k_} * d + element - 1;
    return model.covariances + std::size_t{k_} * covariance_size_ + element - 1 - d;
  }

  const Group& group_;
  const step_arguments<Scalar>& arguments_;
  unsigned k_;
  unsigned covariance_size_;
  double values_[ahead];
};

}  // namespace shoal::gmm
