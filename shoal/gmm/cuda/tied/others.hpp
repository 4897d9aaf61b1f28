// The kernels that take a pass where tied mixtures' own ones leave the rows alone.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <utility>
#include <vector>

#include <shoal/execution/cuda/condition.hpp>
#include <shoal/execution/cuda/device_piece.hpp>
#include <shoal/execution/cuda/stream.hpp>
#include <shoal/gmm/cuda/accumulator.hpp>
#include <shoal/gmm/cuda/tied/kernels.hpp>

namespace shoal::gmm::tied {

/// In steps that are recorded as a graph the others' kernels are a part that is passed over, since ten that find out
/// that they have nothing to do take 15 µs; elsewhere they are launched beside one's own.
template <class Scalar>
class others {
 public:
  /// Only one GPU's steps are recorded. With a condition behind each of two shards 10⁷ rows of (16, 10) took 0.692 ms
  /// for 0.659.
  others(std::unique_ptr<accumulator<Scalar>> kernels, bool may_wait)
      : kernels_(std::move(kernels)), may_wait_(may_wait) {}

  void clear(const prepared_parameters<Scalar>& parameters, cudaStream_t stream) {
    pieces_.clear();
    waits_ = may_wait_ && cuda::is_recorded(stream);
    if (!waits_) kernels_->clear(parameters, stream);
  }

  void add(const cuda::device_piece<Scalar>& piece, const prepared_parameters<Scalar>& parameters,
           cudaStream_t stream) {
    // Rows of what is recorded stay where they are.
    if (waits_) {
      pieces_.push_back(piece);
    } else {
      kernels_->add(piece, parameters, stream);
    }
  }

  /// `leave(turn)` ends one's own work. `parameters` are for kernels beside it, `parameters_behind` for those behind
  /// it.
  template <class Leave>
  void merge(double* statistics, const prepared_parameters<Scalar>& parameters,
             const prepared_parameters<Scalar>& parameters_behind, cudaStream_t stream, const Leave& leave) {
    if (!waits_) kernels_->merge(statistics, parameters, stream);
    const cuda::condition condition(stream, waits_);
    leave(others_turn{condition.exists(), condition.handle()});
    condition.when_set(recorder_, [&](cudaStream_t in) {
      kernels_->clear(parameters_behind, in);
      for (const cuda::device_piece<Scalar>& piece : pieces_) kernels_->add(piece, parameters_behind, in);
      kernels_->merge(statistics, parameters_behind, in);
    });
  }

 private:
  std::unique_ptr<accumulator<Scalar>> kernels_;
  bool may_wait_;
  bool waits_ = false;
  std::vector<cuda::device_piece<Scalar>> pieces_;
  cuda::stream recorder_;
};

}  // namespace shoal::gmm::tied
