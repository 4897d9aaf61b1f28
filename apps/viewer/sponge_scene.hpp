// A Menger sponge, which the page builds: it can change its order.
#pragma once

#include <cstddef>

#include "viewer/scene.hpp"

namespace shoal::viewer {

/// The page holds a face in 4 bytes on the graphics card, and builds orders up to this one: 6,531,072 faces.
inline constexpr std::size_t most_sponge_order = 5;

/// Throws bad_argument, with the faces and bytes that it would take, for a greater order.
scene sponge_scene(std::size_t order, const view_settings& view);

}  // namespace shoal::viewer
