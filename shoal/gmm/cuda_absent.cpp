// What a build without CUDA says when a mixture is asked for on CUDA devices.
#include <shoal/core/error.hpp>
#include <shoal/gmm/backend.hpp>
#include <shoal/gmm/cuda/sample/sample.hpp>

namespace shoal::gmm {

template <class Scalar>
std::unique_ptr<backend<Scalar>> make_cuda_backend(const device_choice&, const backend_rows<Scalar>&) {
  throw not_built("CUDA support was not built; configure with -DSHOAL_CUDA=ON");
}

template <class Scalar>
void sample_on_devices(const model&, std::uint64_t, std::size_t, matrix_view<Scalar>, std::int32_t*,
                       random::normal_method, const device_choice&) {
  throw not_built("CUDA support was not built; configure with -DSHOAL_CUDA=ON");
}

template void sample_on_devices(const model&, std::uint64_t, std::size_t, matrix_view<float>, std::int32_t*,
                                random::normal_method, const device_choice&);
template void sample_on_devices(const model&, std::uint64_t, std::size_t, matrix_view<double>, std::int32_t*,
                                random::normal_method, const device_choice&);
template std::unique_ptr<backend<float>> make_cuda_backend(const device_choice&, const backend_rows<float>&);
template std::unique_ptr<backend<double>> make_cuda_backend(const device_choice&, const backend_rows<double>&);

}  // namespace shoal::gmm
