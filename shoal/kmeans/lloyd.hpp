// Lloyd's algorithm as the fitting loop wants it: one step is one fold and one division.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <shoal/execution/fold.hpp>
#include <shoal/kmeans/accumulate.hpp>
#include <shoal/kmeans/stepper.hpp>
#include <shoal/kmeans/tuning.hpp>

namespace shoal::kmeans {

/// A fit of k-means in progress.
///
/// A step folds the rows about the present centroids; when every label is as before, the centroids stay (they are the
/// ones the labels belong to) and the step is settled. Otherwise empty clusters take the farthest rows, as in
/// scikit-learn, and every centroid moves to the mean of its rows. A cluster stays empty, at its place, when no row is
/// off its centroid any more.
template <class Scalar>
class lloyd final : public clustering_stepper {
 public:
  using seed_function = std::function<std::vector<double>(std::size_t restart)>;

  /// `seed` gives the first centroids [clusters][columns] of a restart. `memory` bytes may be spent on remembering rows
  /// (see row_memory), and four times as many on rows as bytes; no result depends on it.
  lloyd(const fold_context& context, const weighted_rows<Scalar>& data, std::size_t clusters, seed_function seed,
        std::size_t memory = remembered_bytes);

  void seed(std::size_t restart) override;
  std::vector<step_record> advance(std::size_t most_steps) override;
  double score() override;  ///< −inertia, in the caller's weights
  std::vector<double> save() const override;
  void restore(std::span<const double> state) override;

  const std::vector<double>& centroids() const override { return centroids_; }
  std::size_t relocated() const override { return relocated_; }
  double inertia() override;
  std::vector<double> cluster_weights() override;

 private:
  const statistics& fold_rows();
  void measure_drifts();
  void choose_origin();
  void prepare_pairs();
  double moved_by(std::size_t cluster) const;

  fold_context context_;
  weighted_rows<Scalar> data_;
  std::size_t clusters_;
  std::size_t columns_;
  seed_function seed_;
  folder<Scalar, statistics_monoid, accumulate_body<Scalar>> folder_;
  prepared_centroids<Scalar> prepared_;
  std::vector<double> centroids_;
  statistics statistics_;  // of the centroids in folded_
  std::vector<double> folded_;
  row_memory<Scalar> rows_;
  std::size_t most_byte_rows_ = 0;  // that may be kept
  byte_rows bytes_;
  bool by_pairs_ = false;  // rows are remembered by pairs_, not by rows_ and bytes_
  pair_memory pairs_;
  std::vector<Scalar> origin_;      // that bytes are about; empty: each step's own
  std::vector<double> rows_about_;  // the centroids that rows_ was left by; empty: nothing is known
  std::uint64_t fingerprint_ = 0;   // of the labels of the step before
  bool labelled_ = false;           // there was a step before
  std::size_t relocated_ = 0;
};
extern template class lloyd<float>;
extern template class lloyd<double>;

}  // namespace shoal::kmeans
