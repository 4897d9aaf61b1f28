// The bridge from executors to the reductions and scans of the algebra.
#pragma once

#include <cstddef>

#include <shoal/execution/executor.hpp>

namespace shoal {

/// Lets an executor run the tasks of reduce, scans and segmented_reduce:
///
///   const auto threads = shoal::make_threads(0);
///   const double sum = algebra::reduce(algebra::real_addition<double>{}, values, shoal::runner(*threads));
///
/// The result has the same bits for any executor. The executor must live as long as the runner.
class runner {
 public:
  explicit runner(executor& on) : executor_(&on) {}

  template <class Task>
  void operator()(std::size_t count, const Task& task) const {
    executor_->run(count, 1, [&](std::size_t i, const team_member&) { task(i); });
  }

 private:
  executor* executor_;
};

}  // namespace shoal
