// What a build without CUDA says when a map is asked for on CUDA devices.
#include <shoal/core/error.hpp>
#include <shoal/som/backend.hpp>

namespace shoal::som {

template <class Scalar>
std::unique_ptr<backend<Scalar>> make_cuda_backend(const device_choice&, const backend_rows<Scalar>&) {
  throw not_built("CUDA support was not built; configure with -DSHOAL_CUDA=ON");
}

template std::unique_ptr<backend<float>> make_cuda_backend(const device_choice&, const backend_rows<float>&);
template std::unique_ptr<backend<double>> make_cuda_backend(const device_choice&, const backend_rows<double>&);

}  // namespace shoal::som
