// A picture of faces without a screen: the scene from its first point of view, drawn from back to front.
#pragma once

#include <string>
#include <vector>

#include "report/picture.hpp"
#include "viewer/scene.hpp"

namespace shoal::viewer {

/// One flat face.
struct still_face {
  std::vector<point> corners;
  std::string colour;  ///< "#0072b2"
};

/// Parallel projection along the settings' direction, each face in its colour. Faces farther away are drawn first, by
/// their middles: right for surfaces over a plane and for cubes of one size.
report::picture draw_faces(std::vector<still_face> faces, const view_settings& view, std::string title);

/// The faces of a surface, or of a field at its last time, at most 64 × 64 of these; and of a sponge.
report::picture still_of(const scene_surface& surface, const view_settings& view, const std::string& title);
report::picture still_of(const scene_field& field, const std::array<scene_axis, 3>& axes, const view_settings& view,
                         const std::string& title);
report::picture still_of(const scene_sponge& sponge, const view_settings& view, const std::string& title);

}  // namespace shoal::viewer
