// What a mixture's next parameters depend on: weighted counts, first and second moments about the components' centres.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <shoal/algebra/group.hpp>
#include <shoal/core/matrix_view.hpp>
#include <shoal/core/progress.hpp>
#include <shoal/execution/accumulate_options.hpp>
#include <shoal/gmm/covariance_type.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/statistics_layout.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/io/row_weights.hpp>

namespace shoal::gmm {

/// The sums of some rows, all float64, in one buffer. They are about centres that whoever made them knows
/// (parameters::centres); values combine only about the same centres.
///
/// Full covariances keep for each component the upper triangle of Σ w r (x−c, 1)(x−c, 1)ᵀ, whose last column is S and
/// whose last element is W. Tied ones keep S, W for each component, diag and spherical ones W, S, Q; of a spherical Q
/// only the sum over the columns means anything.
class statistics {
 public:
  statistics() = default;
  explicit statistics(const statistics_layout& layout) : layout_(layout), values_(layout.size(), 0.0) {}

  const statistics_layout& layout() const { return layout_; }
  std::span<double> values() { return values_; }
  std::span<const double> values() const { return values_; }

  double log_likelihood() const { return values_[layout_.log_likelihood()]; }
  double total_weight() const { return values_[layout_.total_weight()]; }
  double far_rows() const { return values_[layout_.far_rows()]; }
  double weight(std::size_t component) const { return values_[layout_.weight(component)]; }
  double first(std::size_t component, std::size_t column) const { return values_[layout_.first(component, column)]; }
  double second(std::size_t component, std::size_t row, std::size_t column) const {
    return row <= column ? values_[layout_.second(component, row, column)]
                         : values_[layout_.second(component, column, row)];
  }

 private:
  statistics_layout layout_;
  std::vector<double> values_;
};

/// The statistics of one shape as a commutative group under addition, up to the rounding of float64: what a fold needs
/// (identity, combine) and what incremental EM needs in addition (inverse).
class statistics_group {
 public:
  using value_type = statistics;
  static constexpr algebra::operation_laws laws = algebra::rounded_sums_with_inverse;
  static auto parts(auto& value) { return std::tuple(value.values()); }

  explicit statistics_group(const statistics_layout& layout) : layout_(layout) {}

  const statistics_layout& layout() const { return layout_; }
  statistics identity() const { return statistics(layout_); }
  void reset(statistics& value) const;
  void combine_into(statistics& into, const statistics& from) const;
  /// Takes `from` out of `into` again.
  void subtract_from(statistics& into, const statistics& from) const;
  statistics inverse(statistics value) const;
  std::size_t bytes() const { return layout_.size() * sizeof(double); }

 private:
  statistics_layout layout_;
};

/// Moves statistics about centres `from` to centres `to` (both [K][d]) by the parallel-axis rule: with Δ = from − to,
/// S′ = S + WΔ and Q′ = Q + SΔᵀ + ΔSᵀ + WΔΔᵀ.
void translate(statistics& value, std::span<const double> from, std::span<const double> to);

using shoal::accumulate_options;

/// Statistics of some rows under one model, in the caller's weights, with what they belong to: the model's fingerprint,
/// its shape, the rows' scalar, and which of all rows they are. A value: copies share what they hold.
class model_statistics {
 public:
  struct contents;
  explicit model_statistics(std::shared_ptr<const contents> made) : contents_(std::move(made)) {}

  covariance_type type() const;
  std::size_t components() const;
  std::size_t columns() const;
  double total_weight() const;         ///< Σ w
  double log_likelihood() const;       ///< Σ w ln p(x) of the rows under the model
  double mean_log_likelihood() const;  ///< the same per unit of weight, as fit_result::history has it
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

/// One pass over rows, optionally weighted: what an iteration of fit() sums. Online and chunked algorithms
/// (incremental, asynchronous, stepwise) move the model within a pass and are no sum over rows; update() is their way
/// to take rows as they come. Throws bad_argument, bad_data, numerical_error as fit() does, and bad_argument for a part
/// on a GPU.
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

struct maximise_options {
  double regularization = 1e-6;  ///< as options::regularization
};

/// The model that one iteration of fit() makes of these rows: for all rows, or a whole, the very bits. `previous` is
/// the model that they were accumulated under. A component that has no rows (weight ≤ 10·2⁻⁵²) keeps its mean and
/// covariance; fit(), which has rows at hand, moves it to the row that fits worst. Throws bad_argument for another
/// model, numerical_error when no component has rows, and where a mean has moved so much farther than its deviation
/// (2⁵ times for float32 rows, 2¹³ for float64) that these sums cannot tell its covariance; fit() would make sums of
/// the rows about the new mean.
model maximise(const model_statistics& statistics, const model& previous, const maximise_options& options = {});

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

}  // namespace shoal::gmm
