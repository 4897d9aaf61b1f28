// What a build without CUDA says when it is asked for CUDA.
#include <shoal/core/error.hpp>
#include <shoal/execution/devices.hpp>

namespace shoal {

std::vector<device> cuda_devices() { throw not_built("CUDA support was not built; configure with -DSHOAL_CUDA=ON"); }

}  // namespace shoal
