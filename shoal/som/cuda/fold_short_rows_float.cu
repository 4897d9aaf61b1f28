// fold_short_rows() for float.
#include <shoal/som/cuda/fold_short_rows.cuh>

namespace shoal::som {

template void fold_short_rows(int, const searched_rows<float>&, const device_units<float>&, const fixed_sums&,
                              std::size_t, cudaStream_t);

}  // namespace shoal::som
