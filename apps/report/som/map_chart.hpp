// Pictures of a self-organizing map: a value, several values or a label for each of its units.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "report/picture.hpp"

namespace shoal::report {

/// How the units lie: row-major, as squares or hexagons.
struct map_shape {
  std::size_t width = 0;
  std::size_t height = 0;
  bool hexagonal = false;
};

struct value_map {
  std::string title;
  std::string description;
  std::string value_word;  ///< what the colours say, with its unit
  map_shape shape;
  std::vector<double> values;  ///< [units]; what is not finite is left blank, and the note says so
};

/// Throws bad_argument when there is not one value for each unit.
picture draw(const value_map& map);

/// One column of the codebook.
struct component_plane {
  std::string name;
  std::vector<double> values;  ///< [units]
};

/// Draws at most 12 planes side by side, the first ones, each on colours of its own range; the note says when there
/// were more.
picture draw_planes(const map_shape& shape, const std::vector<component_plane>& planes, std::string title);

/// A label for each unit, paler the more rows of the unit have another one.
struct label_map {
  std::string title;
  std::string description;
  map_shape shape;
  std::vector<std::int32_t> labels;  ///< [units], indices of `names`; −1: no row, left blank
  std::vector<double> purity;        ///< [units], the share of the label among the unit's rows
  std::vector<std::string> names;
};

picture draw(const label_map& map);

}  // namespace shoal::report
