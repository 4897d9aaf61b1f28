// What a build without CUDA says when an auction is asked for on a CUDA device.
#include <shoal/assignment/cuda/device_prices.hpp>
#include <shoal/core/error.hpp>

namespace shoal::assignment::cuda {

prices device_prices(matrix_view<const double>, const device_choice&, double, const auction_schedule&, auction_work*) {
  throw not_built("CUDA support was not built; configure with -DSHOAL_CUDA=ON");
}

}  // namespace shoal::assignment::cuda
