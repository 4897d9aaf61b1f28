// Which three quantities of rows are shown: columns, or principal axes.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "report/chart.hpp"

namespace shoal::viewer {

/// Three linear functions of a row: (row − origin) · directions[i].
struct space {
  std::array<std::string, 3> names;  ///< an empty one: the rows have fewer columns, and the function is zero
  std::vector<double> origin;        ///< [d]
  std::array<std::vector<double>, 3> directions;
  bool one_scale = false;  ///< lengths along the three compare

  std::size_t dimensions() const;
};

/// What a user asks for: nothing (the first three columns of at most three, else principal axes), "principal", or up to
/// three names or numbers of columns. Principal axes are those of the total covariance of the groups' shapes, or of the
/// rows where the groups have none. Throws bad_argument for a column that is not there.
space choose_space(const report::cloud& data, const std::vector<std::string>& asked);

/// The rows, means and covariances of the cloud in the space: three columns each.
struct projected {
  std::vector<double> rows;  ///< [rows][3]
  report::cloud cloud;       ///< views `rows` and the labels of the given cloud
};
projected project(const report::cloud& data, const space& onto);

}  // namespace shoal::viewer
