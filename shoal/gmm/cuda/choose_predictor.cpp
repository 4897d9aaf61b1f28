#include <type_traits>

#include <shoal/gmm/cuda/predictor.hpp>

namespace shoal::gmm {

// The first that is made for the shape; the plain one is made for all.
template <class Scalar>
std::unique_ptr<device_predictor<Scalar>> make_device_predictor(const predictor_shape& shape, cudaStream_t stream) {
  if constexpr (std::is_same_v<Scalar, float>) {
    if (takes_small_predictor(shape)) return make_small_predictor(shape, stream);
    if (takes_large_predictor(shape)) return make_large_predictor(shape, stream);
    if (takes_large_diagonal_predictor(shape)) return make_large_diagonal_predictor(shape, stream);
  }
  return make_plain_predictor<Scalar>(shape, stream);
}
template std::unique_ptr<device_predictor<float>> make_device_predictor(const predictor_shape&, cudaStream_t);
template std::unique_ptr<device_predictor<double>> make_device_predictor(const predictor_shape&, cudaStream_t);

}  // namespace shoal::gmm
