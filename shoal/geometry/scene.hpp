// What a picture of the sponge shows, as plain numbers that a CUDA device reads too.
#pragma once

#include <array>
#include <cstdint>

namespace shoal::geometry {

inline constexpr unsigned most_lights = 4;
inline constexpr unsigned sky_directions = 256;
inline constexpr unsigned full_light = 4096;  ///< of a light's strength, and of a colour's parts

/// Directions are in units of 2⁻²⁸, places in 2⁻³² of the cube's edge.
struct scene {
  unsigned order;
  unsigned width, height;
  unsigned samples;  ///< rays of a pixel along each axis
  bool perspective;
  std::array<std::int64_t, 3> origin;    ///< the eye; orthographic: where the picture's middle lies
  std::array<std::int64_t, 3> straight;  ///< orthographic: the direction of all rays
  std::array<double, 3> corner;          ///< to the upper left corner of the picture: direction, or place
  std::array<double, 3> across, down;    ///< by a sample's width and height
  unsigned lights;
  std::array<std::array<std::int64_t, 3>, most_lights> light_directions;  ///< towards the light
  std::array<std::array<std::uint32_t, 7>, most_lights> light_on_faces;   ///< by direction; the last: the section
  std::uint32_t ambient;
  unsigned sky_rays;  ///< how many ways to the sky are tried of a hit; 0: the sky is seen from everywhere
  std::array<std::array<std::int32_t, 3>, sky_directions> sky;  ///< two across and one along the normal
  bool section;  ///< only what lies where normal·place is at most `offset` is shown
  std::array<std::int64_t, 3> section_normal;
  std::int64_t section_offset;
  std::array<std::array<std::uint16_t, 3>, 7> colours;  ///< linear, by direction; the last: the section
  std::array<std::uint16_t, 3> background;
  std::array<std::uint8_t, full_light + 1> encoded;  ///< a linear part as sRGB
};

}  // namespace shoal::geometry
