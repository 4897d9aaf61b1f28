// A self-organizing map.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <shoal/som/lattice.hpp>
#include <shoal/som/metric.hpp>

namespace shoal::som {

/// A fitted map: its units' weights row-major, kept in float64 whatever the data's scalar.
struct model {
  std::size_t width = 0;   ///< units in a row of the map
  std::size_t height = 0;  ///< rows of the map
  std::size_t columns = 0;
  som::lattice lattice = som::lattice::rectangular;
  bool toroidal = false;
  som::metric metric = som::metric::euclidean;
  std::vector<double> codebook;           ///< [height·width][columns]
  std::vector<std::string> column_names;  ///< empty or [columns]

  std::size_t units() const { return width * height; }
};

}  // namespace shoal::som
