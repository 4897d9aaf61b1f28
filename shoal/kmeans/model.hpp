// A k-means clustering.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace shoal::kmeans {

/// A fitted model: K centroids of d columns, row-major, kept in float64 whatever the data's scalar.
struct model {
  std::size_t clusters = 0;
  std::size_t columns = 0;
  std::vector<double> centroids;          ///< [clusters][columns]
  std::vector<std::string> column_names;  ///< empty or [columns]
};

}  // namespace shoal::kmeans
