// A scene as what a graphics card draws: vertices with colours.
#pragma once

#include <cstdint>
#include <vector>

#include "viewer/scene.hpp"

namespace shoal::viewer {

struct coloured_vertex {
  float x, y, z;
  std::uint8_t red, green, blue, alpha;
};

/// One unit face of a sponge: its corner of least coordinates, in widths of a face, and where it looks.
struct unit_face {
  std::uint8_t x, y, z, looks;
};

struct scene_parts {
  std::vector<coloured_vertex> points;
  std::vector<coloured_vertex> crosses;     ///< the middles of groups, before everything else
  std::vector<unit_face> faces;             ///< of a closed body
  float face_width = 0;                     ///< of a body from -1 to 1
  std::vector<coloured_vertex> sheet;       ///< triangles of a surface, seen from both sides
  std::vector<coloured_vertex> ellipsoids;  ///< triangles, seen through
  std::vector<coloured_vertex> lines;       ///< ends of the lines of the box, and of a map
};

/// The scene at a moment of its field, with its sponge of that order.
scene_parts parts_of(const scene& shown, std::size_t moment, std::size_t order);

}  // namespace shoal::viewer
