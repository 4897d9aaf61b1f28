// A Menger sponge, which the page builds: it can change its order.
#pragma once

#include <cstddef>

#include "viewer/scene.hpp"

namespace shoal::viewer {

/// What the page holds of a face, and the greatest order that it builds: 6,531,072 faces.
inline constexpr std::size_t bytes_of_sponge_face = 4;
inline constexpr std::size_t most_sponge_order = 5;

/// Throws bad_argument, with the faces and bytes that it would take, for a greater order.
scene sponge_scene(std::size_t order, const view_settings& view);

}  // namespace shoal::viewer
