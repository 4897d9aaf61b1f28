// What the fit of a mixture needs of an executor's expectation-maximisation apart from its steps.
#pragma once

#include <cstddef>

#include <shoal/estimation/fit_loop.hpp>
#include <shoal/gmm/model.hpp>

namespace shoal::gmm {

class mixture_stepper : public stepper {
 public:
  virtual const model& current() const = 0;  ///< after the last step that was reported
  virtual std::size_t reseeded() const = 0;  ///< empty components that got a row so far
};

/// One whose step is one iteration of batch from any model.
class batch_stepper : public mixture_stepper {
 public:
  /// Goes on from this model, of the same type and sizes. advance() or score() throws numerical_error when it cannot be
  /// factorised, and leaves it in place.
  virtual void place(const model& model) = 0;
};

}  // namespace shoal::gmm
