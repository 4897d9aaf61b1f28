// What a viewer shows: points, ellipsoids, surfaces and sponges in one box, whose middle is the origin.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/picture.hpp"

namespace shoal::viewer {

using point = std::array<double, 3>;

/// One edge of the box, with what its values are called.
struct scene_axis {
  struct tick {
    double at = 0;  ///< in the scene
    std::string text;
  };
  std::string label;  ///< empty: there is no third quantity, and the scene is flat in this direction
  std::vector<tick> ticks;
  double half = 1;  ///< the box reaches from −half to half
};

/// Dots. Four 16-bit numbers each: x, y and z between the sides of the box, then 256 · group + opacity.
struct scene_points {
  std::vector<std::uint16_t> packed;
  std::size_t count() const { return packed.size() / 4; }
};

/// The contour of one group at Mahalanobis distance 1; without axes its centre alone is known.
struct scene_group {
  std::size_t number = 0;  ///< its colour
  std::string name;
  point centre{};
  std::optional<std::array<double, 9>> axes;  ///< three semi-axes, one behind the other
};

/// Contours that hold a share of a group.
struct contour {
  double share = 0;
  double distance = 0;
};

/// Triangles with a value at each vertex, and the lines that wireframe draws.
struct scene_surface {
  std::vector<float> vertices;       ///< [n][3]
  std::vector<std::uint8_t> values;  ///< [n], shares of the colour scale
  std::vector<std::uint32_t> triangles;
  std::vector<std::uint32_t> lines;
};

/// Heights over a grid, which change with time; shares of the box's height.
struct scene_field {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<std::uint16_t> heights;  ///< [times][rows][columns]
  std::vector<float> row_places;       ///< [rows] in [−1, 1], ascending; empty: evenly apart
  std::vector<std::string> times;
};

struct scene_sponge {
  std::size_t order = 0;
};

struct scene {
  std::string title;
  std::string subtitle;
  std::vector<std::string> notes;     ///< what was left out, and what colours and contours mean
  std::array<scene_axis, 3> axes;     ///< x, y and z, which points up
  std::string value_word;             ///< what the colours of a surface or a field stand for
  std::array<std::string, 2> values;  ///< the ends of its scale
  std::optional<scene_points> points;
  std::vector<scene_group> groups;
  std::vector<contour> contours;
  std::optional<scene_surface> surface;
  std::optional<scene_field> field;
  std::optional<scene_sponge> sponge;
  report::picture still;  ///< what is shown where nothing can move
};

enum class projection { perspective, orthographic };
enum class section { none, x, y, z, diagonal };

/// Across the plane of a section, towards what is cut away; zero for none.
constexpr std::array<int, 3> normal_of(section cut) {
  const bool diagonal = cut == section::diagonal;
  return {diagonal || cut == section::x, diagonal || cut == section::y, diagonal || cut == section::z};
}

/// How it is looked at, to begin with.
struct view_settings {
  viewer::projection projection = viewer::projection::perspective;
  double azimuth = 35;    ///< degrees, from the x axis towards the y axis
  double elevation = 25;  ///< degrees above the floor
  double zoom = 1;
  double pan_across = 0;
  double pan_up = 0;
  bool wireframe = false;
  viewer::section section = viewer::section::none;
  double section_offset = 0;  ///< of the plane from the middle; −1 and 1 are the ends of the box
  double point_size = 0;      ///< in pixels; 0: chosen from the number of points
  bool orbit = false;         ///< turns by itself
  bool play = false;          ///< lets time run
};

}  // namespace shoal::viewer
