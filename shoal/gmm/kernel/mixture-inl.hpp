// A prepared mixture as the kernels of one arithmetic see it.
#if defined(SHOAL_GMM_KERNEL_MIXTURE) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_GMM_KERNEL_MIXTURE
#undef SHOAL_GMM_KERNEL_MIXTURE
#else
#define SHOAL_GMM_KERNEL_MIXTURE
#endif

#include <cstddef>

#include <hwy/highway.h>

#include <shoal/gmm/kernel/expectation-inl.hpp>
#include <shoal/gmm/parameters.hpp>
#include <shoal/gmm/tuning.hpp>

HWY_BEFORE_NAMESPACE();
namespace shoal::gmm::HWY_NAMESPACE {

// A mixture in one arithmetic.
template <class T>
struct mixture_view {
  gmm::covariance_type covariance_type;
  std::size_t components;
  std::size_t columns;
  const packed_components<T>* packed;
  const T* moment_centres;  // [K][d] what moments are about

  bool has_matrices() const {
    return covariance_type == gmm::covariance_type::full || covariance_type == gmm::covariance_type::tied;
  }
  // Whether vectors lie along the columns.
  bool wide() const {
    return !has_matrices() && columns >= least_wide_columns && components <= most_wide_components(columns);
  }
  component_view<T> component(std::size_t k) const {
    return {packed->centres.data() + k * columns, packed->offsets.data() + k * packed->padded_columns,
            packed->factors.data() + k * packed->factor_stride, columns};
  }
};

// Moments are about the centres of `about`, which are the mixture's own unless they are given.
template <class Scalar>
mixture_view<Scalar> view_of(const parameters<Scalar>& components, const parameters<Scalar>& about) {
  return {components.covariance_type, components.components, components.columns, &components.packed,
          about.packed.centres.data()};
}
template <class Scalar>
mixture_view<double> double_view_of(const parameters<Scalar>& components, const parameters<Scalar>& about) {
  return {components.covariance_type, components.components, components.columns, &components.in_double,
          about.in_double.centres.data()};
}

}  // namespace shoal::gmm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
