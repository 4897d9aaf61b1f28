// The log-densities of a chunk's rows: which kernel for which shape.
#include <algorithm>
#include <type_traits>

#include <shoal/gmm/cuda/tensor_float64/diagonal_densities.cuh>
#include <shoal/gmm/cuda/tensor_float64/eights.hpp>
#include <shoal/gmm/cuda/tensor_float64/matrix_densities.cuh>
#include <shoal/gmm/cuda/tensor_float64/row_densities.cuh>

namespace shoal::gmm::tensor_float64 {
namespace {

bool has_matrices(const kernel_layout& layout) {
  return layout.type == covariance_type::full || layout.type == covariance_type::tied;
}

// Whether a block of the current GPU may have so much shared memory: 227 KiB of compute capability 9.0, 163 of 8.0, and
// 99 of 8.6, where 113 columns and more have no room in row_densities().
bool has_room(std::size_t bytes) {
  int device = 0, most = 0;
  cuda::check(cudaGetDevice(&device), "name the device");
  cuda::check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "describe the device");
  return bytes <= static_cast<std::size_t>(most);
}

}  // namespace

bool launch_row_responsibilities(const kernel_layout& layout, const row_chunk<double>& chunk,
                                 const prepared_parameters<double>& parameters, const row_terms& terms,
                                 cudaStream_t stream) {
  if (!has_matrices(layout) || layout.columns > row_columns || layout.components > most_finished_components ||
      chunk.count < least_finished_rows) {
    return false;
  }
  bool launched = false;
  with_eights(layout.columns, [&]<int Eights>(std::integral_constant<int, Eights>) {
    launched = has_room(finish_bytes<Eights>(layout.components));
    if (launched) launch_row_densities<Eights, true>(layout, chunk, parameters, terms, stream);
  });
  return launched;
}

template <class Scalar>
void launch_densities(const kernel_layout& layout, const row_chunk<Scalar>& chunk,
                      const prepared_parameters<Scalar>& parameters, const row_terms& terms, cudaStream_t stream,
                      unsigned most_blocks) {
  if (!has_matrices(layout)) {
    return launch_diagonal_densities<Scalar>(layout, chunk, parameters, terms, stream, most_blocks);
  }
  if constexpr (sizeof(Scalar) == 8) {
    if (layout.columns <= row_columns) {
      bool launched = false;
      with_eights(layout.columns, [&]<int Eights>(std::integral_constant<int, Eights>) {
        launched = has_room(finish_bytes<Eights>(0));
        if (launched) launch_row_densities<Eights, false>(layout, chunk, parameters, terms, stream);
      });
      if (launched) return;
    }
  }
  const auto launch = [&] {
    if constexpr (sizeof(Scalar) == 4) {
      if (layout.columns <= 32) return launch_matrix_densities<Scalar, 32>;
      if (layout.columns <= 64) return launch_matrix_densities<Scalar, 64>;
    }
    return launch_matrix_densities<Scalar, 128>;
  }();
  launch(layout, chunk, parameters, terms, stream);
}
template void launch_densities(const kernel_layout&, const row_chunk<float>&, const prepared_parameters<float>&,
                               const row_terms&, cudaStream_t, unsigned);
template void launch_densities(const kernel_layout&, const row_chunk<double>&, const prepared_parameters<double>&,
                               const row_terms&, cudaStream_t, unsigned);

void launch_wanted_densities(const kernel_layout& layout, const row_chunk<float>& chunk,
                             const prepared_parameters<float>& parameters, const row_terms& terms, const int* wanted,
                             const int* any, unsigned processors, cudaStream_t stream) {
  constexpr int width = 128;
  constexpr int bytes = 2 * sizeof(density_stage<width>);
  // Mostly there are none.
  const auto tiles = static_cast<unsigned>((chunk.count + density_rows - 1) / density_rows);
  const dim3 blocks(std::min(tiles, (processors + layout.components - 1) / layout.components), layout.components);
  cuda::launch_in_turn(wanted_densities<float, width>, blocks, threads, bytes, stream, layout, chunk,
                       parameters.in_double, terms, wanted, any, parameters.stopped);
}

}  // namespace shoal::gmm::tensor_float64
