// One mixture fit in progress on GPUs: rows, statistics and model stay there from step to step.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <shoal/execution/cuda/batch.hpp>
#include <shoal/execution/cuda/launches_ahead.hpp>
#include <shoal/gmm/cuda/fit.hpp>
#include <shoal/gmm/cuda/step/between_steps.hpp>

namespace shoal::gmm {

/// Expectation-maximisation on the GPUs of the rows, by the rules of expectation_maximization. Each GPU sums its
/// shards, the first adds all shards up, maximises, and gives the others the new parameters. When all rows are
/// resident, advance() runs many steps before the host looks again: it asks for them a few at a time, so that a request
/// to stop is answered within about 50 ms, and the GPU itself ends them by the stop rule of options.tolerance.
template <class Scalar>
class device_expectation_maximization final : public device_fit<Scalar> {
 public:
  explicit device_expectation_maximization(const device_fit_rows<Scalar>& fit);

  void seed(std::size_t restart) override;
  std::vector<step_record> advance(std::size_t most_steps) override;
  std::vector<double> save() const override;
  void restore(std::span<const double> state) override;

  /// From now on `between` stands between the steps, and the GPU does not end them by itself. Borrows it.
  void put_between_steps(between_steps& between) { between_ = &between; }
  device_parts<Scalar>& parts() { return this->parts_; }

 private:
  using device_fit<Scalar>::fit_;
  using device_fit<Scalar>::layout_;
  using device_fit<Scalar>::parts_;
  using device_fit<Scalar>::expectation_;

  enum class previous_step { none, known, unknown };

  const cuda::stream& stream() const { return fit_.rows.group()[0].compute; }
  void forget() override;
  statistics stopped_statistics() override;
  std::vector<step_record> run_steps(std::size_t most);
  void launch_some_steps(std::size_t most);
  void launch_steps(std::size_t most);
  std::size_t enqueue_some_steps(std::size_t most);
  void enqueue_step();

  between_steps* between_ = nullptr;
  bool many_steps_;  // steps may wait for the GPU, since neither rows nor other ranks' sums have to be fetched for them
  bool in_graphs_;   // and are in graphs
  cuda::recorded_steps recorded_;
  cuda::launches_ahead ahead_;

  previous_step previous_ = previous_step::none;
  double previous_objective_ = 0;
  double step_seconds_ = 0;  // of the last batch; 0: not known
};
extern template class device_expectation_maximization<float>;
extern template class device_expectation_maximization<double>;

}  // namespace shoal::gmm
