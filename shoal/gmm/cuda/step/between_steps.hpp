// What may stand between the steps of a fit on GPUs.
#pragma once

#include <span>
#include <vector>

#include <shoal/estimation/fit_loop.hpp>

namespace shoal::gmm {

/// A fit's steps run many at a time, and perhaps from graphs, so what changes the model between two of them does so on
/// the first GPU. Its calls enqueue in that GPU's compute stream, which is current, and do not wait.
class between_steps {
 public:
  virtual ~between_steps() = default;

  /// The steps that follow begin with a model that the host has chosen.
  virtual void model_replaced() = 0;
  /// Before some steps, when their state is on the GPU and the model is prepared.
  virtual void before_steps() = 0;
  /// Behind each; gives the parameters to the other GPUs. It may be recorded.
  virtual void after_step() = 0;
  /// Behind the last of some. The model that is left is the one that the last reported step led to.
  virtual void after_steps() = 0;
  /// What those steps did, of which `objectives` are known, when the GPU is done.
  virtual std::vector<step_record> records(std::span<const double> objectives) const = 0;
};

}  // namespace shoal::gmm
