// The kernels that multiply few columns on tensor cores: full covariances.
#include <shoal/gmm/cuda/few_columns/product_kernel.cuh>

namespace shoal::gmm::few_columns {
namespace {

template <int Columns = 2>
product_kernel find_for_columns(unsigned columns, unsigned tiles) {
  constexpr covariance_type type = covariance_type::full;
  if constexpr (Columns < static_cast<int>(most_full_product_columns)) {
    if (columns > Columns)
      return find_for_columns<static_cast<int>(product_columns(type, Columns + 1))>(columns, tiles);
  }
  return find_product_kernel_of<type, Columns>(tiles);
}

}  // namespace

product_kernel find_full_product_kernel(std::size_t columns, unsigned warp_tiles) {
  return find_for_columns(static_cast<unsigned>(columns), warp_tiles);
}

}  // namespace shoal::gmm::few_columns
