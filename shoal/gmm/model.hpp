// A mixture of Gaussians.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <shoal/gmm/covariance_type.hpp>

namespace shoal::gmm {

/// A mixture of K Gaussians in d columns, in float64 whatever the data's scalar. Matrices are row-major.
struct model {
  gmm::covariance_type covariance_type = gmm::covariance_type::full;
  std::size_t components = 0;
  std::size_t columns = 0;
  std::vector<double> weights;            ///< [K], positive or zero, sum 1
  std::vector<double> means;              ///< [K][d]
  std::vector<double> covariances;        ///< full [K][d][d], tied [d][d], diag [K][d], spherical [K]
  std::vector<std::string> column_names;  ///< empty or [d]
};

}  // namespace shoal::gmm
