// The shapes that covariances can have.
#pragma once

#include <cstddef>

namespace shoal::gmm {

/// The shape of the covariances: one matrix a component, one for all, one diagonal a component, one variance a
/// component.
enum class covariance_type { full, tied, diag, spherical };

/// Elements of model::covariances for that type.
std::size_t covariance_size(covariance_type type, std::size_t components, std::size_t columns);

/// Free parameters of such a mixture: the covariances', K·d means and K − 1 weights.
double free_parameters(covariance_type type, std::size_t components, std::size_t columns);

}  // namespace shoal::gmm
