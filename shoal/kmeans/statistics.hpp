// What Lloyd's algorithm folds the rows into.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <shoal/algebra/group.hpp>
#include <shoal/core/aligned_vector.hpp>
#include <shoal/core/matrix_view.hpp>
#include <shoal/core/progress.hpp>
#include <shoal/execution/accumulate_options.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/io/row_weights.hpp>
#include <shoal/kmeans/model.hpp>

namespace shoal::kmeans {

/// Statistics of rows x with weights w about the centroids c that they were assigned to. A fold's are in units of the
/// stored weights; in_callers_weights() makes them the caller's.
struct statistics {
  std::vector<double> weights;    ///< [K] Σ w
  aligned_vector<double> sums;    ///< [K][d] Σ w(x − c)
  double inertia = 0;             ///< Σ w‖x − c‖²
  std::uint64_t fingerprint = 0;  ///< of every row's label, mod 2⁶⁴: equal when no label changed
};

inline statistics in_callers_weights(statistics folded, double weight_scale) {
  for (double& weight : folded.weights) weight *= weight_scale;
  for (double& sum : folded.sums) sum *= weight_scale;
  folded.inertia *= weight_scale;
  return folded;
}

/// The commutative monoid (group, but for rounding) of statistics about the same centroids.
struct statistics_monoid {
  using value_type = statistics;
  static constexpr algebra::operation_laws laws = algebra::rounded_sums;
  static auto parts(auto& value) { return std::tie(value.weights, value.sums, value.inertia, value.fingerprint); }
  std::size_t clusters = 0;
  std::size_t columns = 0;

  statistics identity() const {
    return {std::vector<double>(clusters), aligned_vector<double>(clusters * columns), 0, 0};
  }
  void reset(statistics& value) const {
    std::fill(value.weights.begin(), value.weights.end(), 0.0);
    std::fill(value.sums.begin(), value.sums.end(), 0.0);
    value.inertia = 0;
    value.fingerprint = 0;
  }
  void combine_into(statistics& into, const statistics& from) const {
    for (std::size_t k = 0; k < into.weights.size(); ++k) into.weights[k] += from.weights[k];
    for (std::size_t i = 0; i < into.sums.size(); ++i) into.sums[i] += from.sums[i];
    into.inertia += from.inertia;
    into.fingerprint += from.fingerprint;
  }
  std::size_t bytes() const { return (clusters + clusters * columns + 2) * sizeof(double); }
};

using shoal::accumulate_options;

/// Statistics of some rows under one model, in the caller's weights, with what they belong to: the model's fingerprint,
/// its shape, the rows' scalar, and which of all rows they are. A value: copies share what they hold.
class model_statistics {
 public:
  struct contents;
  explicit model_statistics(std::shared_ptr<const contents> made) : contents_(std::move(made)) {}

  std::size_t clusters() const;
  std::size_t columns() const;
  double total_weight() const;  ///< Σ w
  double inertia() const;       ///< Σ w‖x − c‖²
  /// Of every row's label and its place among all rows, mod 2⁶⁴: when it is the same for the same rows in the same
  /// parts under two models, no label changed, and Lloyd's algorithm has converged.
  std::uint64_t label_fingerprint() const;
  std::size_t rows() const;
  /// Whether all parts of the whole are there.
  bool whole() const;
  std::size_t scalar_bytes() const;   ///< of the rows: 4 or 8
  std::uint64_t fingerprint() const;  ///< of the model that they were made under
  /// The sums themselves: for a whole, the bits of one fold.
  statistics sums() const;

  const contents& inside() const { return *contents_; }

 private:
  std::shared_ptr<const contents> contents_;
};

/// One pass over rows, optionally weighted: what an iteration of fit() sums. Throws bad_argument and bad_data as
/// predict() does, and bad_argument for a part on a GPU.
model_statistics accumulate(const model& model, const row_source<float>& rows, const accumulate_options& options = {},
                            row_weights weights = {}, const control& control = {});
model_statistics accumulate(const model& model, const row_source<double>& rows, const accumulate_options& options = {},
                            row_weights weights = {}, const control& control = {});
model_statistics accumulate(const model& model, matrix_view<const float> rows, const accumulate_options& options = {});
model_statistics accumulate(const model& model, matrix_view<const double> rows, const accumulate_options& options = {});

/// Statistics of the rows of both. Up to rounding the order does not matter; neighbouring parts that were cut between
/// lanes merge to the bits of one fold. Throws bad_argument, saying what differs, for statistics of different models,
/// shapes or scalars, of parts of different wholes, and where a row is in both.
model_statistics combine(const model_statistics& a, const model_statistics& b);

/// The statistics of the rows of `a` that are not in `b`, up to rounding; `b` must be of rows of `a`. What is left has
/// no place in a whole. Throws bad_argument as combine(), and when b weighs more than a.
model_statistics subtract(const model_statistics& a, const model_statistics& b);

/// The centroids that one iteration of fit() makes of these rows: for all rows, or a whole, the very bits. `previous`
/// is the model that they were accumulated under. A cluster without rows stays where it is; fit(), which has rows at
/// hand, moves it to the row that is farthest from its centroid. Throws bad_argument for another model.
model maximise(const model_statistics& statistics, const model& previous);

/// The flat form: little-endian 64-bit words that begin with a mark and the version and end with a checksum.
std::string write(const model_statistics& statistics);
/// Throws bad_data for anything else: damaged bytes, another version or family, numbers that cannot be. `name` stands
/// in messages.
model_statistics read(std::string_view bytes, const std::string& name = "statistics");

/// A file of the flat form, replaced whole or not at all.
void save_statistics(const std::string& path, const model_statistics& statistics);
model_statistics load_statistics(const std::string& path);

/// Where `rows` rows of a scalar of `scalar_bytes` bytes can be cut into parts that merge to the bits of one fold:
/// ascending row numbers from 0 to `rows`, one more than parts. As near to `parts` equal parts as lanes allow; fewer
/// where there are fewer lanes.
std::vector<std::size_t> cut_rows(const model& model, std::size_t rows, std::size_t scalar_bytes, std::size_t parts);

}  // namespace shoal::kmeans
