// What an epoch of batch training folds the rows into.
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
#include <shoal/core/matrix_view.hpp>
#include <shoal/core/progress.hpp>
#include <shoal/execution/accumulate_options.hpp>
#include <shoal/execution/device_choice.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/io/row_weights.hpp>
#include <shoal/som/model.hpp>
#include <shoal/som/options.hpp>

namespace shoal::som {

/// Statistics of rows x with weights w, each added to its best-matching unit; m is one centre for all units. In units
/// of the stored weights; multiply by weighted_rows::weight_scale for the caller's.
struct statistics {
  std::vector<double> weights;  ///< [units] Σ w
  std::vector<double> sums;     ///< [units][columns] Σ w(x − m)
  double error = 0;             ///< Σ w·(distance to the best-matching unit)
};

/// The commutative monoid (group, but for rounding) of statistics about the same centre.
struct statistics_monoid {
  using value_type = statistics;
  static constexpr algebra::operation_laws laws = algebra::rounded_sums;
  static auto parts(auto& value) { return std::tie(value.weights, value.sums, value.error); }
  std::size_t units = 0;
  std::size_t columns = 0;

  statistics identity() const { return {std::vector<double>(units), std::vector<double>(units * columns), 0}; }
  void reset(statistics& value) const {
    std::fill(value.weights.begin(), value.weights.end(), 0.0);
    std::fill(value.sums.begin(), value.sums.end(), 0.0);
    value.error = 0;
  }
  void combine_into(statistics& into, const statistics& from) const {
    for (std::size_t u = 0; u < into.weights.size(); ++u) into.weights[u] += from.weights[u];
    for (std::size_t i = 0; i < into.sums.size(); ++i) into.sums[i] += from.sums[i];
    into.error += from.error;
  }
  std::size_t bytes() const { return (units + units * columns + 1) * sizeof(double); }
};

/// Statistics of some rows under one model, in the caller's weights, with what they belong to: the model's fingerprint,
/// its shape, the rows' scalar, and which of all rows they are. A value: copies share what they hold.
class model_statistics {
 public:
  struct contents;
  explicit model_statistics(std::shared_ptr<const contents> made) : contents_(std::move(made)) {}

  std::size_t units() const;
  std::size_t columns() const;
  double total_weight() const;           ///< Σ w
  double quantization_error() const;     ///< Σ w·(distance to the best-matching unit) / Σ w
  std::vector<double> centre() const;    ///< [columns] what the sums are about
  std::vector<double> row_mean() const;  ///< [columns] of the rows, rounded to their scalar: what fit() sums about
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

struct accumulate_options {
  std::size_t threads = 0;       ///< 0: default_threads()
  std::size_t memory_limit = 0;  ///< bytes for row buffers of sources that are not resident; 0: no limit
  device_choice device = {};     ///< the host: maps are summed there alone
  row_part part = {};            ///< which of all rows these are
  /// [columns] What sums are about; empty: the mean of these rows. fit() takes that of all rows: for its very bits,
  /// pass row_mean() of all parts combined.
  std::vector<double> centre = {};
};

/// One pass over rows, optionally weighted: what an epoch of batch training sums. Online training takes a step for each
/// row and is no sum over rows. Throws bad_argument and bad_data as predict() does, and bad_argument for a device other
/// than the host.
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
  som::neighborhood neighborhood = som::neighborhood::gaussian;
  double cutoff = 0;  ///< as in options
  double radius = 1;  ///< of this epoch: radius_of()
  std::size_t threads = 0;
};

/// The map that one epoch of batch training makes of these rows: for all rows, or a whole about the mean of all rows,
/// the very bits of fit(). `previous` is the map that they were accumulated under. Units that no row pulls at stay.
/// Throws bad_argument for another model, numerical_error when a unit leaves the range of float64.
model maximise(const model_statistics& statistics, const model& previous, const maximise_options& options);

/// The radius of epoch `epoch` (from 0) of fit() with these options. Throws bad_argument for online training, whose
/// radius changes within an epoch.
double radius_of(const options& options, std::size_t epoch);

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

}  // namespace shoal::som
