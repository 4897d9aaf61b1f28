// What the fit of a mixture needs of an executor's expectation-maximisation beside its steps.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include <shoal/estimation/fit_loop.hpp>
#include <shoal/gmm/gmm.hpp>

namespace shoal::gmm {

class mixture_stepper : public stepper {
 public:
  virtual const model& current() const = 0;  ///< after the last step that was reported
  virtual std::size_t reseeded() const = 0;  ///< empty components that got a row so far
};

/// When iterations of batch that are asked for together end.
struct batch_limits {
  std::size_t most = 1;
  /// After one whose objective differs from the one before it by less; 0: never. `previous` is the objective before the
  /// first; not-a-number: not known.
  double tolerance = 0;
  double previous = std::numeric_limits<double>::quiet_NaN();
  double least = -std::numeric_limits<double>::infinity();  ///< after one whose objective is not at least this
};

/// An iteration of batch: what the model that it started from explained, and the model that it led to.
struct batch_iteration {
  double objective = 0;
  gmm::model model;
};

/// One whose step is one iteration of batch from any model.
class batch_stepper : public mixture_stepper {
 public:
  /// Goes on from this model, of the same type and sizes. The next iteration, or score(), throws numerical_error when
  /// it cannot be factorised, and leaves it in place.
  virtual void place(const model& model) = 0;
  /// Between one and `limits.most` iterations; the one that reseeds a component is the last.
  virtual std::vector<batch_iteration> iterate(const batch_limits& limits) = 0;
};

}  // namespace shoal::gmm
