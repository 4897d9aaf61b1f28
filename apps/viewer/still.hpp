// A picture of faces without a screen: the scene from its first point of view, drawn from back to front.
#pragma once

#include <string>
#include <vector>

#include "report/colour_scale.hpp"
#include "report/picture.hpp"
#include "viewer/scene.hpp"

namespace shoal::viewer {

/// One flat face.
struct still_face {
  std::vector<point> corners;
  report::rgb colour;
};

/// Parallel projection along the settings' direction, each face in its colour. Faces farther away are drawn first, by
/// their middles: right for surfaces that fold little.
report::picture draw_faces(std::vector<still_face> faces, const view_settings& view, std::string title);

/// The faces of a surface, or of a field at its last time of at most 64 × 64 nodes.
report::picture still_of(const scene_surface& surface, const view_settings& view, const std::string& title);
report::picture still_of(const scene_field& field, const std::array<scene_axis, 3>& axes, const view_settings& view,
                         const std::string& title);

}  // namespace shoal::viewer
