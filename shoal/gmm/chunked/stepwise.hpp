// Stepwise expectation-maximisation (Cappé & Moulines 2009): the statistics that a model stands for, mixed with those
// of some rows.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <shoal/execution/executor.hpp>
#include <shoal/gmm/chunked/chunked_fit.hpp>
#include <shoal/gmm/jump.hpp>
#include <shoal/gmm/statistics.hpp>

namespace shoal::gmm {

/// (1 − η) s + η ŝ, with s and ŝ as for mix(): what a step maximises over.
statistics mixture_of(const model& model, const statistics& rows, std::span<const double> centres, double step_size,
                      double regularization);

/// One step: with s the statistics per unit of weight that `into` stands for (those that maximise() turns into it), s ←
/// (1 − η) s + η ŝ, where ŝ are `rows` per unit of their weight, about `centres` [K][d]; `into` is maximised over s,
/// where a mean jumps by sums of the rows that are made `again`.
template <class Scalar>
void mix(model& into, const statistics& rows, std::span<const double> centres, double step_size, double regularization,
         executor* workers, const sums_about<Scalar>& again);
extern template void mix(model&, const statistics&, std::span<const double>, double, double, executor*,
                         const sums_about<float>&);
extern template void mix(model&, const statistics&, std::span<const double>, double, double, executor*,
                         const sums_about<double>&);

/// What a whole superchunk weighs, in units of the stored weights, if rows weigh alike.
double superchunk_weight(const data_summary& summary, std::size_t superchunk_rows);

/// Steps over the superchunks of every pass, ever smaller ones. Their sizes are for whole superchunks; the one that has
/// fewer rows, or less weight, goes by its share (step_for.hpp).
template <class Scalar>
class stepwise_fit final : public chunked_fit<Scalar> {
 public:
  using chunked_fit<Scalar>::chunked_fit;

  void seed(std::size_t restart) override;
  std::vector<step_record> advance(std::size_t most_steps) override;
  std::vector<double> save() const override;
  void restore(std::span<const double> state) override;

 private:
  bool reorders() const override { return true; }
  const statistics& sum_superchunk(const accumulation<Scalar>& body);
  void step();

  std::size_t position_ = 0;   // superchunks of this pass that have been visited
  double log_likelihood_ = 0;  // of the rows visited in this pass, under the models that they met
  double weight_ = 0;          // of those rows
};
extern template class stepwise_fit<float>;
extern template class stepwise_fit<double>;

}  // namespace shoal::gmm
