// A component of the model that a step replaces, which stays to be had should a mean jump: device code of maximise.cu.
#pragma once

#include <cuda_runtime.h>

#include <shoal/gmm/cuda/step/step_arguments.hpp>

namespace shoal::gmm {

// Asks for the component when it is made, so that the wait for it is the wait for the sums too: a load before each
// store of the new model made steps of few rows 13 % longer on an NVIDIA H200. It may be made before the sums are
// there: the step that wrote the model is done when the launch that sums rows begins. The group meets between the two
// calls, and again before a new value is written.
template <class Group, class Scalar>
class kept_component {
 public:
  __device__ kept_component(const Group& group, const step_arguments<Scalar>& arguments, unsigned k)
      : group_(group), columns_(arguments.layout.columns) {
    const covariance_type type = arguments.layout.type;
    covariance_size_ = type == covariance_type::full   ? columns_ * columns_
                       : type == covariance_type::diag ? columns_
                                                       : 1;
    weight_ = arguments.model.weights + k;
    means_ = arguments.model.means + std::size_t{k} * columns_;
    covariances_ = arguments.model.covariances + std::size_t{k} * covariance_size_;
    to_before_ = arguments.before.weights - arguments.model.weights;  // both are one buffer of the same layout
    if (group.rank == 0) weight_value_ = __ldcg(weight_);
    if (group.rank < columns_) mean_ = __ldcg(means_ + group.rank);
#pragma unroll
    for (unsigned i = 0; i < ahead; ++i) {
      const unsigned e = group.rank + i * group.size;
      if (e < covariance_size_) covariance_[i] = __ldcg(covariances_ + e);
    }
  }

  __device__ void store() const {
    if (group_.rank == 0) weight_[to_before_] = weight_value_;
    if (group_.rank < columns_) means_[group_.rank + to_before_] = mean_;
#pragma unroll
    for (unsigned i = 0; i < ahead; ++i) {
      const unsigned e = group_.rank + i * group_.size;
      if (e < covariance_size_) covariances_[e + to_before_] = covariance_[i];
    }
    if (columns_ <= group_.size && covariance_size_ <= ahead * group_.size) return;
    for (unsigned j = group_.rank + group_.size; j < columns_; j += group_.size) means_[j + to_before_] = means_[j];
    for (unsigned e = group_.rank + ahead * group_.size; e < covariance_size_; e += group_.size) {
      covariances_[e + to_before_] = covariances_[e];
    }
    group_.sync();
  }

 private:
  static constexpr unsigned ahead = 2;  // a warp's share of a full covariance of 8 columns

  const Group& group_;
  unsigned columns_;
  unsigned covariance_size_;
  double* weight_;
  double* means_;
  double* covariances_;
  std::ptrdiff_t to_before_;
  double weight_value_;
  double mean_;
  double covariance_[ahead];
};

}  // namespace shoal::gmm
