// The rows of the grid's cells: the first of one long row of values, drawn once and copied to a GPU once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numbers>
#include <vector>

#include <shoal/execution/device_choice.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/random/stream.hpp>

namespace grid {

/// A value of (−1, 1) that its number names.
inline double value_at(std::uint64_t number, std::uint64_t seed) {
  return 2 * shoal::random::open_uniform(shoal::random::mix(number, seed)) - 1;
}

/// A normal value that its number names.
inline double normal_at(std::uint64_t number, std::uint64_t seed) {
  const double u = shoal::random::open_uniform(shoal::random::mix(2 * number, seed));
  const double v = shoal::random::open_uniform(shoal::random::mix(2 * number + 1, seed));
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

/// Normal clusters of unit variance about centres that are .7 times normal values. Without components it stands for
/// uniform rows.
struct clusters {
  std::size_t columns = 0, components = 0;

  bool operator==(const clusters&) const = default;

  /// The value of this number in all centres, one centre after the other.
  static double center_at(std::uint64_t number) { return 0.7 * normal_at(number, 2); }

  /// The value of this number in the rows, whose cluster is drawn by itself: more rows begin with the same ones.
  double value_at(std::uint64_t number) const {
    const double share = (grid::value_at(number / columns, 7) + 1) / 2;
    const auto cluster = static_cast<std::size_t>(share * static_cast<double>(components));
    return center_at(cluster * columns + number % columns) + normal_at(number, 1);
  }
};

/// At least so many values. Uniform rows of any shape are the first of them, without clusters: what a search or a bound
/// saves elsewhere it does not find here. Values of one kind are held, until others are asked for.
template <class Scalar>
const std::vector<Scalar>& values(std::size_t count, const clusters& kind = {}) {
  static std::vector<Scalar> all;
  static clusters held_kind;
  if (held_kind != kind) all.clear();
  held_kind = kind;
  if (all.size() >= count) return all;
  const std::size_t held = all.size();
  all.resize(count);
  constexpr std::size_t part = std::size_t{1} << 16;
  const auto workers = shoal::make_threads(0);
  workers->run((count - held + part - 1) / part, 1, [&](std::size_t task, const shoal::team_member&) {
    const std::size_t first = held + task * part, end = std::min(count, first + part);
    for (std::size_t i = first; i < end; ++i) {
      all[i] = static_cast<Scalar>(kind.components > 0 ? kind.value_at(i) : value_at(i, 1));
    }
  });
  return all;
}

/// The same values in a GPU's memory, which keeps them. Throws not_built in a build without CUDA.
template <class Scalar>
const Scalar* values_on(int device, std::size_t count, const clusters& kind);

/// Rows where the device that was chosen reads them without a copy.
template <class Scalar>
std::unique_ptr<shoal::row_source<Scalar>> rows(const shoal::device_choice& device, std::size_t count,
                                                std::size_t columns, const clusters& kind = {}) {
  if (device.on_host()) {
    return std::make_unique<shoal::view_source<Scalar>>(
        shoal::matrix_view<const Scalar>(values<Scalar>(count * columns, kind).data(), count, columns));
  }
  const int one = device.cuda.front();
  return std::make_unique<shoal::device_source<Scalar>>(
      shoal::device_matrix_view<const Scalar>(values_on<Scalar>(one, count * columns, kind), count, columns, one));
}

}  // namespace grid
