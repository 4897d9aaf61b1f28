// Puts tied mixtures into their frame, takes the frame out of their sums, and what lies between.
#include <shoal/gmm/cuda/tensor_float64/tied_frame.hpp>

#include <cmath>
#include <type_traits>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/tensor_float64/eights.hpp>
#include <shoal/gmm/cuda/tensor_float64/framed_moments.cuh>
#include <shoal/gmm/cuda/tensor_float64/moment_tiles.hpp>
#include <shoal/gmm/cuda/tensor_float64/narrow_moments.cuh>
#include <shoal/gmm/cuda/tensor_float64/tied_densities.cuh>
#include <shoal/gmm/cuda/tensor_float64/triangle_moments.cuh>

namespace shoal::gmm::tensor_float64 {
namespace {

constexpr int frame_threads = 128;

// The origin of one column, the mean of the components' centres. Block j.
__global__ void __launch_bounds__(frame_threads)
    place_tied_origin(const kernel_layout layout, const __grid_constant__ prepared_components<double> parameters,
                      const tied_frame frame, const int* stopped) {
  cuda::wait_for_predecessor();
  const cuda::block_group block;
  // Until a component shows that it is not so.
  if (blockIdx.x == 0 && block.rank == 0) {
    *frame.together = 1;
    *frame.idle = *stopped != 0 ? 1 : 0;
  }
  if (*stopped != 0) return;
  double sum = 0, count = 0;
  for (unsigned k = block.rank; k < layout.components; k += block.size) {
    if (parameters.log_constants[k] == -INFINITY) continue;
    sum += parameters.centres[std::size_t{k} * layout.columns + blockIdx.x];
    count += 1;
  }
  sum = block.sum(sum);
  count = block.sum(count);
  if (block.rank != 0) return;
  frame.origin[blockIdx.x] = count > 0 ? sum / count : 0;
}

// The line and the constant of component k, which may be one of those that fill the last tile. Block k.
__global__ void __launch_bounds__(frame_threads)
    pack_line(const kernel_layout layout, const __grid_constant__ prepared_components<double> parameters,
              const tied_frame frame, const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0) return;
  const cuda::block_group block;
  const unsigned k = blockIdx.x, d = layout.columns;
  const bool empty = k >= layout.components || parameters.log_constants[k] == -INFINITY;
  __shared__ double distance[row_columns];
  for (unsigned i = block.rank; i < d; i += block.size) {
    distance[i] = empty ? 0 : parameters.centres[std::size_t{k} * d + i] - frame.origin[i];
  }
  block.sync();
  double squared_distance = 0;
  bool together = true;
  for (unsigned j = block.rank; j < line_stride(d); j += block.size) {
    double line = 0;
    if (!empty && j < d) {
      line = -parameters.offsets[std::size_t{k} * d + j];
      for (unsigned i = 0; i <= j; ++i) line = fma(parameters.factors[i * d + j], distance[i], line);
      squared_distance += line * line;
      together = together && fabs(line) <= most_column_distance;  // a comparison that a NaN fails
    }
    frame.lines[std::size_t{k} * line_stride(d) + j] = line;
  }
  squared_distance = block.sum(squared_distance);
  if (!together || !(squared_distance <= most_squared_distance(d))) {
    *frame.together = 0;
    *frame.idle = 1;
  }
  if (block.rank != 0) return;
  frame.constants[k] = empty ? -INFINITY : parameters.log_constants[k] - 0.5 * squared_distance;
}

// A thread for each element of the triangle that all components share.
__global__ void __launch_bounds__(frame_threads)
    move_triangle(const kernel_layout layout, const __grid_constant__ prepared_components<double> parameters,
                  const tied_frame frame, double* statistics, const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0 || *frame.together == 0) return;
  const unsigned d = layout.columns, i = blockIdx.y;
  const unsigned j = i + blockIdx.x * frame_threads + threadIdx.x;
  if (j >= d) return;
  const std::size_t at = statistics_layout::triangle_row(d, i) + j;
  double sum = statistics[layout.shared + at];
  for (unsigned k = 0; k < layout.components; ++k) {
    if (parameters.log_constants[k] == -INFINITY) continue;
    const double* const component = statistics + layout.header + k * layout.component_size;
    const double* const centre = parameters.centres + std::size_t{k} * d;
    const double di = centre[i] - frame.origin[i], dj = centre[j] - frame.origin[j];
    // fᵢδⱼ + δᵢ(fⱼ − Wδⱼ), whose second factor is the sum about the centre.
    sum -= fma(component[i], dj, di * fma(-component[layout.weight], dj, component[j]));
  }
  statistics[layout.shared + at] = sum;
}

// The first moments of component k. Block k.
__global__ void __launch_bounds__(frame_threads)
    move_first(const kernel_layout layout, const __grid_constant__ prepared_components<double> parameters,
               const tied_frame frame, double* statistics, const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0 || *frame.together == 0) return;
  const unsigned k = blockIdx.x, d = layout.columns;
  if (parameters.log_constants[k] == -INFINITY) return;
  double* const component = statistics + layout.header + k * layout.component_size;
  const double weight = component[layout.weight];
  for (unsigned j = threadIdx.x; j < d; j += frame_threads) {
    component[j] = fma(weight, frame.origin[j] - parameters.centres[std::size_t{k} * d + j], component[j]);
  }
}

}  // namespace

void pack_tied_frame(const kernel_layout& layout, const prepared_components<double>& parameters,
                     const tied_frame& frame, const int* stopped, cudaStream_t stream) {
  const unsigned padded = (layout.components + line_components - 1) / line_components * line_components;
  cuda::launch_in_turn(place_tied_origin, layout.columns, frame_threads, 0, stream, layout, parameters, frame, stopped);
  cuda::launch_in_turn(pack_line, padded, frame_threads, 0, stream, layout, parameters, frame, stopped);
}

bool finishes_in_tied_frame(const kernel_layout& layout, std::size_t rows) {
  return layout.components <= most_finished_components && rows >= least_finished_rows;
}

template <class Scalar>
void densities_in_tied_frame(const kernel_layout& layout, const row_chunk<Scalar>& chunk, const tied_frame& frame,
                             const prepared_parameters<Scalar>& parameters, const row_terms& terms, bool finish,
                             cudaStream_t stream) {
  with_eights(layout.columns, [&]<int Eights>(std::integral_constant<int, Eights>) {
    const auto launch =
        finish ? launch_tied_densities<Scalar, Eights, true> : launch_tied_densities<Scalar, Eights, false>;
    launch(layout, chunk, frame, parameters, terms, stream);
  });
}
template void densities_in_tied_frame(const kernel_layout&, const row_chunk<float>&, const tied_frame&,
                                      const prepared_parameters<float>&, const row_terms&, bool, cudaStream_t);
template void densities_in_tied_frame(const kernel_layout&, const row_chunk<double>&, const tied_frame&,
                                      const prepared_parameters<double>&, const row_terms&, bool, cudaStream_t);

template <class Scalar>
void moments_in_tied_frame(const kernel_layout& layout, const row_chunk<Scalar>& chunk, const tied_frame& frame,
                           const prepared_parameters<Scalar>& parameters, const row_terms& terms, const lane_plan& plan,
                           cudaStream_t stream) {
  component_frame shared;
  shared.origin = frame.origin;
  shared.together = frame.together;
  with_moment_tile<Scalar>(layout, [&](auto tile) {
    launch_framed_moments<Scalar, double, covariance_type::tied, decltype(tile)>(layout, chunk, shared, parameters,
                                                                                 terms, plan, stream);
  });
  // As if one component at the origin had all rows.
  prepared_parameters<Scalar> of_rows = parameters;
  of_rows.in_double.centres = frame.origin;
  of_rows.stopped = frame.idle;
  with_eights(layout.columns, [&]<int Eights>(std::integral_constant<int, Eights>) {
    if constexpr (Eights <= 8) {
      launch_narrow_kind<Scalar, Eights, narrow_kind::total, true>(layout, chunk, of_rows, terms, plan, stream);
    } else {
      launch_triangle_moments<Scalar, Eights / 2, true>(layout, chunk, of_rows, terms, plan, stream);
    }
  });
}
template void moments_in_tied_frame(const kernel_layout&, const row_chunk<float>&, const tied_frame&,
                                    const prepared_parameters<float>&, const row_terms&, const lane_plan&,
                                    cudaStream_t);
template void moments_in_tied_frame(const kernel_layout&, const row_chunk<double>&, const tied_frame&,
                                    const prepared_parameters<double>&, const row_terms&, const lane_plan&,
                                    cudaStream_t);

void leave_tied_frame(const kernel_layout& layout, const prepared_components<double>& parameters,
                      const tied_frame& frame, double* statistics, const int* stopped, cudaStream_t stream) {
  const dim3 blocks((layout.columns + frame_threads - 1) / frame_threads, layout.columns);
  cuda::launch_in_turn(move_triangle, blocks, frame_threads, 0, stream, layout, parameters, frame, statistics, stopped);
  cuda::launch_in_turn(move_first, layout.components, frame_threads, 0, stream, layout, parameters, frame, statistics,
                       stopped);
}

}  // namespace shoal::gmm::tensor_float64
