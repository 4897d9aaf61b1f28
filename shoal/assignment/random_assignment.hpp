// An assignment drawn at random.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <shoal/assignment/solution.hpp>
#include <shoal/core/matrix_view.hpp>

namespace shoal::assignment {

/// The column of each row, or unassigned, each assignment of `rows` and `columns` equally likely (Fisher & Yates).
std::vector<std::size_t> random_assignment(std::size_t rows, std::size_t columns, std::uint64_t seed);

}  // namespace shoal::assignment
