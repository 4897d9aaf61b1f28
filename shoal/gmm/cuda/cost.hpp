// What rooms of kernels take for a shape of a mixture, to choose among them: a sum of terms of the shape, each with a
// coefficient that bench/fit_costs.py found from times on an NVIDIA H200 (cost_table.hpp).
#pragma once

#include <optional>

#include <shoal/gmm/cuda/accumulator.hpp>
#include <shoal/gmm/cuda/room_name.hpp>

namespace shoal::gmm {

/// Milliseconds of an expectation with its sums, of rows of that scalar; nothing where the like of it has not been
/// timed in that room. Only numbers that are the same for any number of GPUs count: bits depend on the room.
template <class Scalar>
std::optional<double> expected_milliseconds(room_name room, const accumulator_shape& shape);
extern template std::optional<double> expected_milliseconds<float>(room_name, const accumulator_shape&);
extern template std::optional<double> expected_milliseconds<double>(room_name, const accumulator_shape&);

}  // namespace shoal::gmm
