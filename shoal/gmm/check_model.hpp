// Is a model that somebody hands in a mixture at all?
#pragma once

#include <shoal/gmm/model.hpp>

namespace shoal::gmm {

/// Throws bad_argument that says what is wrong with a model of the caller: sizes, weights that are negative, not finite
/// or do not sum to one (within 1e-6), means or covariances that are not finite, matrices that are not symmetric
/// (within 1e-8 of their largest element), variances that are not positive.
void validate_model(const model& model);

}  // namespace shoal::gmm
