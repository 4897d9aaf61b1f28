// Mixtures over rows that are on CUDA devices already.
#pragma once

#include <memory>

#include <shoal/estimation/cuda/device_data.hpp>
#include <shoal/gmm/backend.hpp>

namespace shoal::gmm {

template <class Scalar>
std::unique_ptr<backend<Scalar>> make_cuda_backend(std::shared_ptr<device_data<Scalar>> data);
extern template std::unique_ptr<backend<float>> make_cuda_backend(std::shared_ptr<device_data<float>>);
extern template std::unique_ptr<backend<double>> make_cuda_backend(std::shared_ptr<device_data<double>>);

}  // namespace shoal::gmm
