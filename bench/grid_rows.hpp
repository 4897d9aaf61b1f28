// The rows of the grid's cells: the first of one long row of values, drawn once and copied to a GPU once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
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

/// At least so many uniform values. Rows of any shape are the first of them, without clusters: what a search or a bound
/// saves elsewhere it does not find here.
template <class Scalar>
const std::vector<Scalar>& values(std::size_t count) {
  static std::vector<Scalar> all;
  if (all.size() >= count) return all;
  const std::size_t held = all.size();
  all.resize(count);
  constexpr std::size_t part = std::size_t{1} << 16;
  const auto workers = shoal::make_threads(0);
  workers->run((count - held + part - 1) / part, 1, [&](std::size_t task, const shoal::team_member&) {
    const std::size_t first = held + task * part, end = std::min(count, first + part);
    for (std::size_t i = first; i < end; ++i) all[i] = static_cast<Scalar>(value_at(i, 1));
  });
  return all;
}

/// The same values in a GPU's memory, which keeps them. Throws not_built in a build without CUDA.
template <class Scalar>
const Scalar* values_on(int device, std::size_t count);

/// Rows where the device that was chosen reads them without a copy.
template <class Scalar>
std::unique_ptr<shoal::row_source<Scalar>> rows(const shoal::device_choice& device, std::size_t count,
                                                std::size_t columns) {
  if (device.on_host()) {
    return std::make_unique<shoal::view_source<Scalar>>(
        shoal::matrix_view<const Scalar>(values<Scalar>(count * columns).data(), count, columns));
  }
  const int one = device.cuda.front();
  return std::make_unique<shoal::device_source<Scalar>>(
      shoal::device_matrix_view<const Scalar>(values_on<Scalar>(one, count * columns), count, columns, one));
}

}  // namespace grid
