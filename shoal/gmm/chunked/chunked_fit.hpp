// What the fits that go through the rows in chunks share: the cut, the readers, the model and its bookkeeping.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <shoal/estimation/data_check.hpp>
#include <shoal/estimation/saved_state.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/gmm/chunked/chunk_plan.hpp>
#include <shoal/gmm/chunked/chunk_reader.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/model_file.hpp>
#include <shoal/gmm/options.hpp>
#include <shoal/gmm/statistics.hpp>
#include <shoal/gmm/stepper.hpp>

namespace shoal::gmm {

/// Rows and options of one fit on the host. Borrows everything.
template <class Scalar>
struct host_rows {
  fold_context context;
  const weighted_rows<Scalar>& data;
  const data_summary& summary;
  const gmm::options& options;
};

/// A fit whose model moves within a pass. One step is one pass; it can be left and taken up again between superchunks.
template <class Scalar>
class chunked_fit : public mixture_stepper {
 public:
  explicit chunked_fit(const host_rows<Scalar>& rows);

  void seed(std::size_t restart) override;
  double score() override;
  const model& current() const override { return model_; }
  std::size_t reseeded() const override { return reseeded_; }

  const chunk_plan& plan() const { return plan_; }

 protected:
  /// Whether every pass has an order of its own. Statistics that are kept are younger when it has not: with many
  /// superchunks half a pass on the average, in ever new orders seven twelfths (docs/decisions/0012).
  virtual bool reorders() const { return false; }
  /// The chunks of superchunk `superchunk` of the present pass, in order.
  std::span<const std::size_t> chunks_of(std::size_t superchunk);
  /// Sums the chunks at the same time, each into its place of the returned memory, which lasts until the next call.
  std::span<statistics> sum_chunks(std::span<const std::size_t> chunks, const accumulation<Scalar>& body);
  /// Gives the components that have lost all weight new rows; true when there were any.
  bool reseed_empty();
  void end_pass() { ++pass_; }

  /// Restart, pass, reseeded components and the model.
  std::vector<double> save_model() const;
  void restore_model(state_reader& state);
  /// The model's means rounded to the data's scalar.
  std::vector<double> rounded_means() const;

  host_rows<Scalar> rows_;
  statistics_layout layout_;
  chunk_plan plan_;
  std::vector<chunk_reader<Scalar>> readers_;
  model model_;
  std::size_t pass_ = 0;

 private:
  std::vector<statistics> fresh_;
  std::vector<std::size_t> order_;
  std::size_t ordered_turn_ = static_cast<std::size_t>(-1);
  std::size_t restart_ = 0;
  std::size_t reseeded_ = 0;
};
extern template class chunked_fit<float>;
extern template class chunked_fit<double>;

}  // namespace shoal::gmm
