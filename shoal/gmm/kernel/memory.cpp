#include <shoal/gmm/kernel/memory.hpp>

namespace shoal::gmm {

template <class Scalar>
workspace<Scalar>::workspace() : memory_(std::make_unique<memory>()) {}
template <class Scalar>
workspace<Scalar>::workspace(workspace&&) noexcept = default;
template <class Scalar>
workspace<Scalar>& workspace<Scalar>::operator=(workspace&&) noexcept = default;
template <class Scalar>
workspace<Scalar>::~workspace() = default;
template class workspace<float>;
template class workspace<double>;

}  // namespace shoal::gmm
