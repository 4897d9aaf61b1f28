// Random mixtures to try methods on. A second door of this room, like gmm.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include <shoal/gmm/covariance_type.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/options.hpp>

namespace shoal::gmm {

/// How generate_model draws the weights.
enum class weight_distribution {
  uniform_normalized,  ///< π_k = X_k / ΣX with X_k uniform in (0, 1)
  dirichlet,           ///< Dirichlet with all concentrations equal to generator_options::dirichlet_alpha
};

/// What generate_model draws from. With the default mean_scale the means of a few components lie mostly several
/// standard deviations apart; at 1 they overlap.
struct generator_options {
  std::size_t components = 1;  ///< K ≥ 1
  std::size_t columns = 2;     ///< d ≥ 1
  gmm::covariance_type covariance_type = gmm::covariance_type::full;
  weight_distribution weights = weight_distribution::uniform_normalized;
  double dirichlet_alpha = 1;      ///< > 0; small: a few components hold nearly everything, large: equal weights
  double mean_scale = 100;         ///< a ≥ 0, the variance of each coordinate of the means, N(0, a·I)
  double wishart_degrees = 0;      ///< n > d − 1 of the covariances' Wishart(I, n), of mean n·I; 0 stands for d + 2
  bool divide_by_degrees = false;  ///< divides the covariances by n, so that their mean is I whatever d and n
  std::uint64_t seed = 0;
};

/// Draws a mixture: weights as asked, means ~ N(0, a·I), covariances ~ Wishart(I, n) through the Bartlett factor (one
/// matrix a component; tied: one for all; diag: its diagonal, independent χ²(n); spherical: one χ²(n) a component). The
/// mean and the covariance of component k depend on the seed, k, d, and their own options alone, not on K. Draw rows
/// with sample(). Throws bad_argument by the name of the option.
model generate_model(const generator_options& options);

}  // namespace shoal::gmm
