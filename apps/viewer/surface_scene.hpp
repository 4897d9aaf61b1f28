// A map as a surface among the rows: each unit is a vertex where its weights are.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include <shoal/core/matrix_view.hpp>

#include "viewer/scene.hpp"

namespace shoal::viewer {

struct surface_request {
  std::string title;
  std::string subtitle;
  std::size_t width = 0;              ///< units in a row
  std::size_t height = 0;             ///< rows of units
  bool hexagonal = false;             ///< odd rows lie half a unit further
  bool toroidal = false;              ///< the last row and column are joined to the first
  matrix_view<const double> weights;  ///< [height · width][d]
  std::span<const double> values;     ///< [units] what is shown as colours
  std::string value_word = "U-matrix";
  matrix_view<const double> rows;         ///< [n][d], may be none
  std::size_t rows_in_all = 0;            ///< of the data; 0: as many as `rows`
  std::vector<std::string> column_names;  ///< [d] or empty
  std::vector<std::string> axes;          ///< choose_space()
};

/// Throws bad_argument for sizes that do not fit and axes that are not there.
scene surface_scene(const surface_request& request, const view_settings& view);

}  // namespace shoal::viewer
