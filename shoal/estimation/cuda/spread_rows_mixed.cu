// Rows in float, distances in double.
#include <shoal/estimation/cuda/spread_rows.cuh>

namespace shoal {

template spread_rows_cut cut_among_blocks(const few_rows<float, double>&, std::size_t, std::size_t);
template void choose_among_blocks(const few_rows<float, double>&, const spread_rows_cut&, cudaStream_t);

}  // namespace shoal
