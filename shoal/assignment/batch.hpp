// Many problems of one shape.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include <shoal/assignment/batch_solution.hpp>
#include <shoal/assignment/options.hpp>
#include <shoal/assignment/solution.hpp>
#include <shoal/core/matrix_view.hpp>

namespace shoal::assignment {

using solve_one = std::function<solution(matrix_view<const double> costs, const options& options)>;

/// As solve_batch() says. `solve` does what is not small, and says what is wrong.
batch_solution solve_all(std::span<const double> costs, std::size_t rows, std::size_t columns, const options& options,
                         const solve_one& solve);

}  // namespace shoal::assignment
