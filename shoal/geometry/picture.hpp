// Pictures of the sponge without a mesh: rays through its ternary digits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <shoal/core/progress.hpp>
#include <shoal/execution/device_choice.hpp>

namespace shoal::geometry {

/// Light from far away. Angles are in degrees: `azimuth` around z from east (x) to north (y), `elevation` upward.
struct light {
  double azimuth = -20;
  double elevation = 50;
  double strength = 0.75;
};

/// A plane that shows the inside: only what lies where normal·place ≤ offset is drawn.
struct section_plane {
  std::array<int, 3> normal = {1, 1, 1};  ///< each from −1000 to 1000, not all 0
  double offset = 1.5;
};

enum class projection { perspective, orthographic };

/// What is drawn, and how. Angles are in degrees, lengths in edges of the cube, whose middle is the picture's.
struct picture_options {
  unsigned order = 3;
  std::size_t width = 800;
  std::size_t height = 600;
  geometry::projection projection = projection::perspective;
  double azimuth = 35;        ///< where the eye stands, around z, from east to north
  double elevation = 25;      ///< and how far above the horizon, from −90 to 90
  double distance = 3.2;      ///< of the eye from the middle; above 0.9, which is outside the cube
  double field_of_view = 36;  ///< perspective: the angle over the picture's lesser side
  double extent = 1.9;        ///< orthographic: what the picture's lesser side shows
  std::vector<light> lights = std::vector<light>(1);
  double ambient = 0.35;      ///< light from the sky
  std::size_t sky_rays = 16;  ///< ambient occlusion: how many ways to the sky are tried of each place; 0: none
  std::size_t samples = 2;    ///< rays of a pixel along each axis; their mean is its colour
  std::optional<section_plane> section;
  std::array<std::uint8_t, 3> background = {255, 255, 255};
  std::size_t threads = 0;  ///< 0: default_threads()
  device_choice device;     ///< the host, or one GPU
};

/// Colours as bytes [height][width][3]: red, green and blue.
struct picture {
  std::size_t width = 0;
  std::size_t height = 0;
  std::vector<std::uint8_t> pixels;
  double seconds = 0;  ///< that the rays took
};

/// The sponge as rays see it: its six face colours under the lights, shadows and ambient occlusion. Once a ray is
/// chosen (directions in parts of 2⁻²⁸ and places in parts of 2⁻³² of the cube), it is followed in whole numbers,
/// exactly at every order up to 32. The same bytes for any number of threads. Throws bad_argument for options out of
/// range, and not_built for a GPU in a build without CUDA.
picture draw_sponge(const picture_options& options, const control& control = {});

/// The highest order whose points are drawn: 109 million of them.
inline constexpr unsigned most_points_order = 6;

/// The corners of the sponge's smallest cubes as points, the nearer the stronger. Light, sections, samples and the
/// device do not matter. Throws bad_argument above most_points_order, with the number of points.
picture draw_points(const picture_options& options, const control& control = {});

/// Orders 0 to options.order side by side, each drawn by `draw` in its share of the width.
picture draw_stages(const picture_options& options, picture (*draw)(const picture_options&, const control&),
                    const control& control = {});

}  // namespace shoal::geometry
