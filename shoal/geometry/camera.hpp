// From the options of a picture to what is drawn.
#pragma once

#include <array>

#include <shoal/geometry/picture.hpp>
#include <shoal/geometry/scene.hpp>

namespace shoal::geometry {

using vector3 = std::array<double, 3>;

/// Where the eye is and how it is turned, in edges of the cube.
struct camera {
  vector3 eye;
  vector3 forward, right, up;      ///< of length 1
  double half_width, half_height;  ///< of the picture: at distance 1 (perspective), or in edges (orthographic)
};

camera camera_of(const picture_options& options);

/// Throws bad_argument with the option that is out of range.
void check_picture(const picture_options& options);

scene scene_of(const picture_options& options);

}  // namespace shoal::geometry
