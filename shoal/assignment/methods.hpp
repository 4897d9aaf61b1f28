// Every method but the one that `solve` takes by itself.
#pragma once

#include <string_view>

#include <shoal/assignment/options.hpp>
#include <shoal/assignment/solution.hpp>
#include <shoal/core/matrix_view.hpp>

namespace shoal::assignment {

/// By the method that the options name, for checked costs of any shape, to be minimised. Sums are not yet added up.
solution by_method(matrix_view<const double> costs, const options& options);

}  // namespace shoal::assignment
