// What the fit of a map needs of an executor's training apart from its epochs.
#pragma once

#include <vector>

#include <shoal/estimation/fit_loop.hpp>
#include <shoal/som/quality.hpp>

namespace shoal::som {

/// A step is an epoch; its objective is what fit_result::history says. score() is minus the quantization error.
class map_stepper : public stepper {
 public:
  virtual const std::vector<double>& codebook() const = 0;  ///< [units][columns], after the last reported epoch
  /// Of the present codebook, in the caller's weights; a fold when it is not known yet.
  virtual som::quality quality() = 0;
};

}  // namespace shoal::som
