// What a build without CUDA says when a picture is asked for on a GPU.
#include <shoal/core/error.hpp>
#include <shoal/geometry/cuda/draw.hpp>

namespace shoal::geometry::cuda {

void draw(const scene&, int, std::uint8_t*) {
  throw not_built("CUDA support was not built; configure with -DSHOAL_CUDA=ON");
}

}  // namespace shoal::geometry::cuda
