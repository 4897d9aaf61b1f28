// Can the densities of some rows under a model be computed at all?
#pragma once

#include <shoal/estimation/data_check.hpp>
#include <shoal/gmm/model.hpp>

namespace shoal::gmm {

/// Throws bad_data naming the first component and column in which rows of `summary` lie so many deviations away that no
/// density of them is a number, or whose deviation Scalar has no reciprocal of. Rows of weight zero count when
/// `every_row` is wanted as it is. Every device decides so, before it computes. The model has been validated.
template <class Scalar>
void check_reach(const model& model, const data_summary& summary, bool every_row = false);
extern template void check_reach<float>(const model&, const data_summary&, bool);
extern template void check_reach<double>(const model&, const data_summary&, bool);

}  // namespace shoal::gmm
