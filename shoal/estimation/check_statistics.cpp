#include <shoal/estimation/check_statistics.hpp>

#include <algorithm>
#include <bit>
#include <cmath>

namespace shoal {
namespace {

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

}  // namespace

check_statistics check_monoid::identity() const {
  check_statistics value;
  reset(value);
  return value;
}

void check_monoid::reset(check_statistics& value) const {
  value = {};
  value.mean.assign(columns, 0);
  value.second_moment.assign(columns, 0);
  value.minimum.assign(columns, std::numeric_limits<double>::infinity());
  value.maximum.assign(columns, -std::numeric_limits<double>::infinity());
}

void check_monoid::combine_into(check_statistics& into, const check_statistics& from) const {
  const double weight = into.weight + from.weight;
  if (into.weight == 0) {  // apart, because the square of a huge mean would overflow
    into.mean = from.mean;
    into.second_moment = from.second_moment;
  } else if (from.weight > 0) {
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

template <class Scalar>
void check_body<Scalar>::operator()(const row_block<Scalar>& piece, const team_member& member, scratch& memory,
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

// Two passes over one block: its means, then squares about them.
template <class Scalar>
void check_body<Scalar>::summarise(matrix_view<const Scalar> rows, const Scalar* weights, std::size_t first,
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
    if (weight > 0) {
      for (std::size_t j = 0; j < columns; ++j) {
        const double value = static_cast<double>(row[j]);
        finite += row[j] * Scalar{0};
        block.mean[j] += weight * value;
        block.minimum[j] = std::min(block.minimum[j], value);
        block.maximum[j] = std::max(block.maximum[j], value);
      }
    } else {
      for (std::size_t j = 0; j < columns; ++j) finite += row[j] * Scalar{0};
    }
    if (finite != 0) block.bad_row = std::min(block.bad_row, first + i);
    if (fingerprint) {
      std::uint64_t hash = mix(first + i + 1);
      if (weights != nullptr) hash = mix(hash ^ bits(weights[i]));
      for (std::size_t j = 0; j < columns; ++j) hash = (hash ^ bits(row[j])) * 0x9e3779b97f4a7c15u + (hash >> 29);
      block.fingerprint += mix(hash);
    }
  }
  if (block.bad_row != no_bad_row || block.bad_weight != no_bad_row || block.weight == 0) {
    std::fill(block.mean.begin(), block.mean.end(), 0.0);
    return;
  }
  for (double& mean : block.mean) mean /= block.weight;
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const double weight = weights == nullptr ? 1.0 : static_cast<double>(weights[i]);
    if (!(weight > 0)) continue;  // zero times the square of a huge difference may be no number
    const Scalar* row = rows.row(i);
    for (std::size_t j = 0; j < columns; ++j) {
      const double delta = static_cast<double>(row[j]) - block.mean[j];
      block.second_moment[j] += weight * delta * delta;
    }
  }
}

template struct check_body<float>;
template struct check_body<double>;

}  // namespace shoal
