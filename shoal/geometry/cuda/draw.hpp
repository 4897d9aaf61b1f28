// Drawing on a CUDA device.
#pragma once

#include <cstdint>

#include <shoal/geometry/scene.hpp>

namespace shoal::geometry::cuda {

/// Writes [height][width][3] bytes, those of the host. Throws not_built in a build without CUDA.
void draw(const scene& of, int device, std::uint8_t* pixels);

}  // namespace shoal::geometry::cuda
