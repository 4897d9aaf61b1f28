// One mixture fit in progress: a step is one fold over the rows and one maximisation.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <shoal/estimation/data_check.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/options.hpp>
#include <shoal/gmm/parameters.hpp>
#include <shoal/gmm/stepper.hpp>

namespace shoal::gmm {

/// Expectation-maximisation (Dempster, Laird & Rubin 1977) on an executor. Borrows everything it is given.
template <class Scalar>
class expectation_maximization final : public batch_stepper {
 public:
  expectation_maximization(const fold_context& context, const weighted_rows<Scalar>& data, const data_summary& summary,
                           const options& options);
  ~expectation_maximization() override;

  void seed(std::size_t restart) override;
  std::vector<step_record> advance(std::size_t most_steps) override;
  double score() override;
  void place(const model& model) override { model_ = model; }
  std::vector<double> save() const override;
  void restore(std::span<const double> state) override;

  const model& current() const override { return model_; }
  std::size_t reseeded() const override { return reseeded_; }

 private:
  struct folds;

  fold_context context_;
  const weighted_rows<Scalar>& data_;
  const data_summary& summary_;
  const options& options_;
  model model_;
  std::size_t reseeded_ = 0;
  std::unique_ptr<folds> folds_;
};

extern template class expectation_maximization<float>;
extern template class expectation_maximization<double>;

}  // namespace shoal::gmm
