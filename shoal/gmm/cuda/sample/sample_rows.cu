// Compiled without contraction: the arithmetic of the host's sample(), operation by operation.
#include <cuda_runtime.h>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/gmm/cuda/sample/sample_rows.hpp>
#include <shoal/random/stream.hpp>
#include <shoal/random/ziggurat_table.hpp>

namespace shoal::gmm {
namespace {

constexpr unsigned threads = 128;
constexpr std::size_t layers = random::ziggurat_table::layers;

// As random::categorical::at().
__device__ unsigned component_at(const sample_source& source, double uniform) {
  const double target = uniform * source.cumulative[source.components - 1];
  unsigned index = source.guide[static_cast<std::size_t>(uniform * static_cast<double>(source.components))];
  while (index < source.last && source.cumulative[index] <= target) ++index;
  return index;
}

// As random::normal_by_ratio_of_uniforms().
__device__ double ratio_of_uniforms(random::stream& bits) {
  constexpr double half_width = 0.85776388496070679648;
  constexpr double inner_slope = 5.13610166675096558;
  constexpr double outer_slope = 1.03696104258356603;
  for (;;) {
    const double u = bits.uniform();
    const double x = half_width * (2 * bits.uniform() - 1) / u;
    const double square = x * x;
    if (square <= 5 - inner_slope * u) return x;
    if (square >= outer_slope / u + 1.4) continue;
    if (square <= -4 * log(u)) return x;
  }
}

// As random::normal_by_ziggurat(), its table in shared memory.
__device__ double ziggurat(random::stream& bits, const double* edges, const double* heights) {
  constexpr double tail_start = random::ziggurat_table::tail_start;
  for (;;) {
    const std::uint64_t word = bits.next_u64();
    const std::size_t layer = word % layers;
    const double position = (static_cast<double>(static_cast<std::int64_t>(word) >> 11) + 0.5) * 0x1p-52;
    const double x = position * edges[layer];
    if (fabs(x) < edges[layer + 1]) return x;
    if (layer == 0) {
      double beyond = 0, other = 0;
      do {
        beyond = -log(bits.uniform()) / tail_start;
        other = -log(bits.uniform());
      } while (2 * other < beyond * beyond);
      return copysign(tail_start + beyond, x);
    }
    const double lower = heights[layer], upper = heights[layer + 1];
    if (lower + bits.uniform() * (upper - lower) < exp(-0.5 * x * x)) return x;
  }
}

// A thread draws what a row's stream gives: its component, then a normal for each column.
__global__ void __launch_bounds__(threads) draw_kernel(const sample_source source, std::size_t first, std::size_t count,
                                                       double* normals, std::int32_t* labels) {
  __shared__ double edges[layers + 1], heights[layers + 1];
  for (unsigned i = threadIdx.x; i <= layers; i += threads) {
    edges[i] = source.edges[i];
    heights[i] = source.heights[i];
  }
  __syncthreads();
  const std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= count) return;
  random::stream bits(source.key, first + i);
  labels[i] = static_cast<std::int32_t>(component_at(source, bits.uniform()));
  double* const own = normals + i * source.columns;
  for (std::size_t j = 0; j < source.columns; ++j) {
    own[j] =
        source.method == random::normal_method::ziggurat ? ziggurat(bits, edges, heights) : ratio_of_uniforms(bits);
  }
}

// A thread adds one element up, in the order of the normals.
template <class Scalar>
__global__ void __launch_bounds__(threads)
    combine_kernel(const sample_source source, std::size_t count, const double* normals, const std::int32_t* labels,
                   Scalar* rows) {
  const std::size_t d = source.columns;
  const std::size_t element = std::size_t{blockIdx.x} * threads + threadIdx.x;
  if (element >= count * d) return;
  const std::size_t row = element / d, column = element % d;
  const auto k = static_cast<std::size_t>(labels[row]);
  const double* const factor = source.factors + k * source.factor_stride;
  const double* const own = normals + row * d;
  double value = source.means[k * d + column];
  if (source.triangular) {
    std::size_t start = 0;  // of column j of the triangle
    for (std::size_t j = 0; j <= column; ++j) {
      value += own[j] * factor[start + column - j];
      start += d - j;
    }
  } else {
    value += factor[column] * own[column];
  }
  rows[element] = static_cast<Scalar>(value);
}

unsigned blocks_for(std::size_t items) { return static_cast<unsigned>((items + threads - 1) / threads); }

}  // namespace

template <class Scalar>
void sample_rows(const sample_source& source, std::size_t first, std::size_t count, double* normals, Scalar* rows,
                 std::int32_t* labels, cudaStream_t stream) {
  if (count == 0) return;
  draw_kernel<<<blocks_for(count), threads, 0, stream>>>(source, first, count, normals, labels);
  cuda::check_launch("sample_rows");
  combine_kernel<<<blocks_for(count * source.columns), threads, 0, stream>>>(source, count, normals, labels, rows);
  cuda::check_launch("sample_rows");
}

template void sample_rows(const sample_source&, std::size_t, std::size_t, double*, float*, std::int32_t*, cudaStream_t);
template void sample_rows(const sample_source&, std::size_t, std::size_t, double*, double*, std::int32_t*,
                          cudaStream_t);

}  // namespace shoal::gmm
