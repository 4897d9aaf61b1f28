#include <shoal/estimation/data_check.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

namespace shoal {
namespace {

constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

struct check_statistics {
  std::size_t rows = 0;
  std::size_t positive_rows = 0;
  std::size_t bad_row = none;     // first row with a value that is not finite
  std::size_t bad_weight = none;  // first row with a weight that is negative or not finite
  double weight = 0;
  double largest_weight = 0;
  std::uint64_t fingerprint = 0;
  std::vector<double> mean, second_moment, minimum, maximum;  // second_moment: Σ w (x − mean)²
};

struct check_monoid {
  using value_type = check_statistics;
  std::size_t columns;

  value_type identity() const {
    value_type value;
    reset(value);
    return value;
  }
  void reset(value_type& value) const {
    value = {};
    value.mean.assign(columns, 0);
    value.second_moment.assign(columns, 0);
    value.minimum.assign(columns, std::numeric_limits<double>::infinity());
    value.maximum.assign(columns, -std::numeric_limits<double>::infinity());
  }
  void combine_into(value_type& into, const value_type& from) const {
    const double weight = into.weight + from.weight;
    if (from.weight > 0) {
      const double share = from.weight / weight;
      for (std::size_t j = 0; j < columns; ++j) {
        const double delta = from.mean[j] - into.mean[j];
        into.mean[j] += delta * share;
        into.second_moment[j] += from.second_moment[j] + delta * delta * into.weight * share;
      }
    }
    for (std::size_t j = 0; j < columns; ++j) {
      into.minimum[j] = std::min(into.minimum[j], from.minimum[j]);
      into.maximum[j] = std::max(into.maximum[j], from.maximum[j]);
    }
    into.weight = weight;
    into.largest_weight = std::max(into.largest_weight, from.largest_weight);
    into.rows += from.rows;
    into.positive_rows += from.positive_rows;
    into.bad_row = std::min(into.bad_row, from.bad_row);
    into.bad_weight = std::min(into.bad_weight, from.bad_weight);
    into.fingerprint += from.fingerprint;
  }
  std::size_t bytes() const { return sizeof(value_type) + 4 * columns * sizeof(double); }
};

std::uint64_t mix(std::uint64_t value) {  // the finaliser of SplitMix64 (Steele, Lea & Flood 2014)
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

template <class Scalar>
std::uint64_t bits(Scalar value) {
  if constexpr (sizeof(Scalar) == 4) {
    return std::bit_cast<std::uint32_t>(value);
  } else {
    return std::bit_cast<std::uint64_t>(value);
  }
}

template <class Scalar>
struct check_body {
  struct scratch {
    check_statistics block;
  };
  bool fingerprint;

  void operator()(const row_block<Scalar>& piece, const team_member& member, scratch& memory,
                  check_statistics& into) const {
    if (member.rank() != 0) return;
    const check_monoid monoid{piece.rows.columns()};
    for (std::size_t first = 0; first < piece.rows.rows(); first += block_rows) {
      const std::size_t count = std::min(block_rows, piece.rows.rows() - first);
      const Scalar* weights = piece.weights == nullptr ? nullptr : piece.weights + first;
      monoid.reset(memory.block);
      summarise(piece.rows.middle_rows(first, count), weights, piece.first + first, memory.block);
      monoid.combine_into(into, memory.block);
    }
  }

 private:
  // Two passes over one block: its means, then squares about them.
  void summarise(matrix_view<const Scalar> rows, const Scalar* weights, std::size_t first,
                 check_statistics& block) const {
    const std::size_t columns = rows.columns();
    block.rows = rows.rows();
    for (std::size_t i = 0; i < rows.rows(); ++i) {
      const double weight = weights == nullptr ? 1.0 : static_cast<double>(weights[i]);
      if (!(weight >= 0) || !std::isfinite(weight)) {
        block.bad_weight = std::min(block.bad_weight, first + i);
        continue;
      }
      block.weight += weight;
      block.largest_weight = std::max(block.largest_weight, weight);
      block.positive_rows += weight > 0;
      const Scalar* row = rows.row(i);
      Scalar finite = 0;  // a value that is not finite makes this not-a-number
      for (std::size_t j = 0; j < columns; ++j) {
        const double value = static_cast<double>(row[j]);
        finite += row[j] * Scalar{0};
        block.mean[j] += weight * value;
        block.minimum[j] = std::min(block.minimum[j], value);
        block.maximum[j] = std::max(block.maximum[j], value);
      }
      if (finite != 0) block.bad_row = std::min(block.bad_row, first + i);
      if (fingerprint) {
        std::uint64_t hash = mix(first + i + 1);
        if (weights != nullptr) hash = mix(hash ^ bits(weights[i]));
        for (std::size_t j = 0; j < columns; ++j) hash = (hash ^ bits(row[j])) * 0x9e3779b97f4a7c15u + (hash >> 29);
        block.fingerprint += mix(hash);
      }
    }
    if (block.bad_row != none || block.bad_weight != none || block.weight == 0) {
      std::fill(block.mean.begin(), block.mean.end(), 0.0);
      return;
    }
    for (double& mean : block.mean) mean /= block.weight;
    for (std::size_t i = 0; i < rows.rows(); ++i) {
      const double weight = weights == nullptr ? 1.0 : static_cast<double>(weights[i]);
      const Scalar* row = rows.row(i);
      for (std::size_t j = 0; j < columns; ++j) {
        const double delta = static_cast<double>(row[j]) - block.mean[j];
        block.second_moment[j] += weight * delta * delta;
      }
    }
  }
};

template <class Scalar>
[[noreturn]] void refuse_row(const row_source<Scalar>& rows, std::size_t row) {
  aligned_buffer<Scalar> buffer;
  const auto values = rows.read(row, 1, buffer);
  for (std::size_t column = 0; column < values.columns(); ++column) {
    const Scalar value = values(0, column);
    if (std::isfinite(value)) continue;
    throw bad_data(fmt::format(
        "row {}, column {} (counting from 0): the value is {}; remove or replace the values that are not finite{}", row,
        column,
        std::isnan(value) ? "NaN"
        : value > 0       ? "infinite"
                          : "minus infinite",
        sizeof(Scalar) == 4 && std::isinf(value) ? " (a value beyond float32's range becomes infinite: try float64)"
                                                 : ""));
  }
  throw bad_data(fmt::format("row {} changed while it was read", row));
}

}  // namespace

template <class Scalar>
data_summary check_data(const fold_context& context, const row_source<Scalar>& rows, const row_source<Scalar>* weights,
                        bool fingerprint) {
  if (rows.rows() == 0) throw bad_data("the data have no rows");
  if (rows.columns() == 0) throw bad_data("the data have no columns");
  if (weights != nullptr && weights->columns() != 1) {
    throw bad_argument(fmt::format("weights must be one column; got {} columns", weights->columns()));
  }
  if (weights != nullptr && weights->rows() != rows.rows()) {
    throw bad_argument(
        fmt::format("weights must have one value for each of the {} rows; got {}", rows.rows(), weights->rows()));
  }
  const check_statistics all = fold<Scalar>(context, weighted_rows<Scalar>{&rows, weights, 1.0},
                                            check_monoid{rows.columns()}, check_body<Scalar>{fingerprint});
  if (all.bad_weight != none) {
    aligned_buffer<Scalar> buffer;
    throw bad_data(fmt::format("the weight of row {} (counting from 0) is {}; weights must be finite and not negative",
                               all.bad_weight, weights->read(all.bad_weight, 1, buffer)(0, 0)));
  }
  if (all.bad_row != none) refuse_row(rows, all.bad_row);
  if (!(all.weight > 0)) throw bad_data("all weights are zero; at least one row needs a positive weight");
  if (!std::isfinite(all.weight))
    throw bad_data("the sum of the weights is not finite; divide them by a common factor");

  data_summary summary;
  summary.rows = all.rows;
  summary.columns = rows.columns();
  summary.positive_rows = all.positive_rows;
  summary.total_weight = all.weight;
  summary.largest_weight = all.largest_weight;
  summary.mean = all.mean;
  summary.variance = all.second_moment;
  for (double& variance : summary.variance) variance /= all.weight;
  summary.minimum = all.minimum;
  summary.maximum = all.maximum;
  summary.fingerprint = all.fingerprint;
  return summary;
}

template data_summary check_data(const fold_context&, const row_source<float>&, const row_source<float>*, bool);
template data_summary check_data(const fold_context&, const row_source<double>&, const row_source<double>*, bool);

namespace {

template <class Scalar>
class scaled_source final : public row_source<Scalar> {
 public:
  scaled_source(const row_source<Scalar>& source, int exponent) : source_(&source), exponent_(exponent) {}
  std::size_t rows() const override { return source_->rows(); }
  std::size_t columns() const override { return source_->columns(); }
  matrix_view<const Scalar> read(std::size_t first, std::size_t count, aligned_buffer<Scalar>& buffer) const override {
    thread_local aligned_buffer<Scalar> inner;
    const auto values = source_->read(first, count, inner);
    buffer.grow(count);
    for (std::size_t i = 0; i < count; ++i) buffer[i] = std::ldexp(values(i, 0), exponent_);
    return {buffer.data(), count, 1};
  }
  bool resident() const override { return source_->resident(); }

 private:
  const row_source<Scalar>* source_;
  int exponent_;
};

// Within this range products of a weight, a responsibility and squares cannot leave float32's range on sane data.
constexpr int harmless_exponent = 20;

}  // namespace

template <class Scalar>
scaled_rows<Scalar>::scaled_rows(const row_source<Scalar>& rows, const row_source<Scalar>* weights,
                                 const data_summary& summary)
    : data_{&rows, weights, 1.0} {
  if (weights == nullptr) return;
  const int exponent = std::ilogb(summary.largest_weight);
  if (std::abs(exponent) <= harmless_exponent) return;
  wrapper_ = std::make_unique<scaled_source<Scalar>>(*weights, -exponent);
  data_.weights = wrapper_.get();
  data_.weight_scale = std::ldexp(1.0, exponent);
}

template class scaled_rows<float>;
template class scaled_rows<double>;

}  // namespace shoal
