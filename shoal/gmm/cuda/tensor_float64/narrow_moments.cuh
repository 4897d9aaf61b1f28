// Moments of full covariances of at most 64 columns: Σ w r (x − c)(x − c)ᵀ, Σ w r (x − c) and Σ w r. Components share
// the rows in shared memory, and a component's triangle lies in the registers of one warp, or of two. Of few components
// several groups of warps have the same one, and share out the rows. Of all rows together: Σ w (x − c)(x − c)ᵀ alone.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/tensor_float64/copies.cuh>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/products.cuh>
#include <shoal/gmm/cuda/tensor_float64/sections.cuh>

namespace shoal::gmm::tensor_float64 {

/// Rows between two barriers, and how many times as many are in hand.
inline constexpr int narrow_step = 32;
inline constexpr int narrow_stages = 3;

constexpr int warps_of_component(int eights) { return eights <= 4 ? 1 : 2; }
constexpr int block_components(int eights) { return threads / 32 / warps_of_component(eights); }

/// What is summed. `ones`: columns leave room for one more, which is one in every row; its products are the first
/// moments and the weight. `total`: second moments alone, of all rows.
enum class narrow_kind { plain, ones, total };

/// Groups of warps that each have some of a step's rows, where components are too few for all warps. Two groups of
/// twice as many components gained nothing.
constexpr unsigned row_groups(int eights, unsigned components) {
  constexpr unsigned groups = narrow_step / 8;
  return groups * components <= static_cast<unsigned>(block_components(eights)) ? groups : 1;
}

template <class Scalar, int Eights>
struct row_stage {
  static constexpr int width = 8 * Eights;
  // Four rows that are read at once begin in banks of their own.
  static constexpr int stride = sizeof(Scalar) == 8 ? padded(width) : width + (Eights % 2 == 0 ? 8 : 0);
  alignas(16) Scalar rows[narrow_step * stride];
  double responsibilities[block_components(Eights) * narrow_step];
};

template <class Scalar, int Eights, int Width>
__device__ void fetch_rows(const row_chunk<Scalar>& chunk, unsigned columns, std::size_t begin, std::size_t end,
                           row_stage<Scalar, Eights>& stage) {
  using stage_type = row_stage<Scalar, Eights>;
  constexpr unsigned per_row = stage_type::width / Width;
#pragma unroll
  for (unsigned e = 0; e < narrow_step * per_row; e += threads) {
    if (narrow_step * per_row % threads != 0 && e + threadIdx.x >= narrow_step * per_row) break;
    const unsigned r = (e + threadIdx.x) / per_row, j = (e + threadIdx.x) % per_row * Width;
    const bool inside = begin + r < end && j < columns;
    copy_async<Width * sizeof(Scalar)>(&stage.rows[r * stage_type::stride + j],
                                       inside ? chunk.rows + (begin + r) * columns + j : chunk.rows,
                                       inside ? Width * sizeof(Scalar) : 0);
  }
}

template <int Eights>
__device__ void fetch_responsibilities(const row_terms& terms, unsigned components, unsigned first_component,
                                       unsigned count, std::size_t begin, std::size_t end,
                                       row_stage<double, Eights>& stage) {
  for (unsigned e = threadIdx.x; e < count * narrow_step; e += threads) {
    const unsigned k = first_component + e / narrow_step;
    const std::size_t row = begin + e % narrow_step;
    const bool inside = row < end && k < components;
    copy_async<8>(&stage.responsibilities[e], inside ? terms.values + k * terms.stride + row : terms.values,
                  inside ? 8 : 0);
  }
}

// The rows' weights instead. They are seldom there, and small: nothing else is done while they come.
template <class Scalar, int Eights>
__device__ void fetch_weights(const row_chunk<Scalar>& chunk, std::size_t begin, std::size_t end,
                              row_stage<Scalar, Eights>& stage) {
  if (threadIdx.x >= narrow_step) return;
  const std::size_t row = begin + threadIdx.x;
  double weight = row < end ? 1 : 0;
  if (row < end && chunk.weights != nullptr) weight = static_cast<double>(chunk.weights[row]);
  stage.responsibilities[threadIdx.x] = weight;
}

/// The parts of 16 rows of the triangle that a warp of a component has: each goes, the largest first, to the warp that
/// has fewest tiles.
template <int Eights, int Warp>
struct own_parts {
  static constexpr int all = (Eights + 1) / 2;
  static constexpr bool is_own(int part) {
    if (warps_of_component(Eights) == 1) return true;
    int tiles[2] = {};
    for (int m = 0; m < all; ++m) {
      const int to = tiles[0] <= tiles[1] ? 0 : 1;
      if (m == part) return to == Warp;
      tiles[to] += Eights - 2 * m;
    }
    return false;
  }
  static constexpr int count = [] {
    int own = 0;
    for (int m = 0; m < all; ++m) own += is_own(m) ? 1 : 0;
    return own;
  }();
  static constexpr int part(int i) {
    for (int m = 0; m < all; ++m) {
      if (is_own(m) && i-- == 0) return m;
    }
    return all;
  }
};

/// Sums of a lane of a warp, of which a row group hands over all.
template <int Eights>
constexpr int most_folded() {
  const auto sums = [](auto parts) {
    int count = 1;
    for (int i = 0; i < parts.count; ++i) count += (Eights - 2 * parts.part(i)) * 4 + 2;
    return count;
  };
  return std::max(sums(own_parts<Eights, 0>()), warps_of_component(Eights) == 1 ? 0 : sums(own_parts<Eights, 1>()));
}

/// Adds up what the row groups have of the same component, in their order, in the first one.
template <int Eights, int Warp, unsigned Groups>
__device__ void fold_groups(double (&product)[own_parts<Eights, Warp>::count][Eights][4],
                            double (&first)[own_parts<Eights, Warp>::count][2], double& weight, unsigned own,
                            unsigned row_group, double* memory) {
  using parts = own_parts<Eights, Warp>;
  double* const at =
      memory + std::size_t{own * warps_of_component(Eights) + Warp} * most_folded<Eights>() * 32 + threadIdx.x % 32;
  const auto for_each = [&](const auto& use) {
    int number = 0;
#pragma unroll
    for (int i = 0; i < parts::count; ++i) {
#pragma unroll
      for (int n = 2 * parts::part(i); n < Eights; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) use(product[i][n][e], at[32 * number++]);
      }
#pragma unroll
      for (int e = 0; e < 2; ++e) use(first[i][e], at[32 * number++]);
    }
    use(weight, at[32 * number]);
  };
  for (unsigned group = 1; group < Groups; ++group) {
    if (row_group == group) for_each([](double own_sum, double& kept) { kept = own_sum; });
    __syncthreads();
    if (row_group == 0) for_each([](double& sum, double kept) { sum += kept; });
    __syncthreads();
  }
}

template <class Scalar, int Eights, int Warp, narrow_kind Kind, bool Grouped>
__device__ void sum_component(const kernel_layout& layout, const row_chunk<Scalar>& chunk,
                              const prepared_components<double>& parameters, const row_terms& terms,
                              const lane_plan& plan, row_stage<Scalar, Eights>* stages) {
  using stage_type = row_stage<Scalar, Eights>;
  using parts = own_parts<Eights, Warp>;
  constexpr bool Ones = Kind == narrow_kind::ones, total = Kind == narrow_kind::total;
  const unsigned d = layout.columns;
  const unsigned group = threadIdx.x % 32 / 4, place = threadIdx.x % 4;
  constexpr unsigned groups = Grouped ? narrow_step / 8 : 1;
  constexpr unsigned own_components = block_components(Eights) / groups;
  const unsigned first_component = blockIdx.y * own_components;
  const unsigned components = total ? 1 : layout.components;
  const unsigned slot = threadIdx.x / 32 / warps_of_component(Eights);
  const unsigned own = Grouped ? slot % own_components : slot, k = first_component + own;
  const int row_group = Grouped ? static_cast<int>(slot / own_components) : 0;
  double* const lane = plan.sums + std::size_t{blockIdx.z} * plan.size;

  double centre[Eights];
#pragma unroll
  for (int n = 0; n < Eights; ++n) {
    const unsigned column = 8 * n + group;
    centre[n] = k < components && column < d ? parameters.centres[std::size_t{k} * d + column] : 0;
    // What lies beyond the last column is zero in rows.
    if (Ones && column == d) centre[n] = -1;
  }
  for (lane_sections section(plan, chunk, blockIdx.z); section.valid(); section.next()) {
    double product[parts::count][Eights][4] = {};
    double first[parts::count][2] = {}, weight = 0;
    const auto fetch = [&](std::size_t index) {
      const std::size_t begin = section.begin + index * narrow_step;
      if (begin < section.end) {
        stage_type& stage = stages[index % narrow_stages];
        constexpr int wide = 16 / sizeof(Scalar);
        if (d % wide == 0) {
          fetch_rows<Scalar, Eights, wide>(chunk, d, begin, section.end, stage);
        } else {
          fetch_rows<Scalar, Eights, 1>(chunk, d, begin, section.end, stage);
        }
        if constexpr (total) {
          fetch_weights(chunk, begin, section.end, stage);
        } else {
          fetch_responsibilities<Eights>(terms, layout.components, first_component, own_components, begin, section.end,
                                         stage);
        }
      }
      end_copies();
    };
    const std::size_t steps = (section.end - section.begin + narrow_step - 1) / narrow_step;
    for (std::size_t index = 0; index < narrow_stages - 1; ++index) fetch(index);
    for (std::size_t index = 0; index < steps; ++index) {
      wait_for_copies<narrow_stages - 2>();
      __syncthreads();  // all have fetched this step, and read the one before
      fetch(index + narrow_stages - 1);
      if (k >= components) continue;  // it fetches for those that have a component
      const stage_type& stage = stages[index % narrow_stages];
#pragma unroll 2
      for (int half = 8 * row_group; half < narrow_step; half += static_cast<int>(8 * groups)) {
        const Scalar* const from = stage.rows + (half + place) * stage_type::stride + group;
        const double near = stage.responsibilities[own * narrow_step + half + place];
        const double far = stage.responsibilities[own * narrow_step + half + place + 4];
        double z[Eights + 1][2] = {};  // the last is zero: of the part that 8 rows are left for
#pragma unroll
        for (int n = 2 * parts::part(0); n < Eights; ++n) {
          z[n][0] = static_cast<double>(from[8 * n]) - centre[n];
          z[n][1] = static_cast<double>(from[8 * n + 4 * stage_type::stride]) - centre[n];
        }
        if constexpr (Kind == narrow_kind::plain) weight += near + far;
#pragma unroll
        for (int i = 0; i < parts::count; ++i) {
          const int m = parts::part(i);
          const double a[4] = {near * z[2 * m][0], near * z[2 * m + 1][0], far * z[2 * m][1], far * z[2 * m + 1][1]};
          if constexpr (Kind == narrow_kind::plain) {
            first[i][0] += a[0] + a[2];
            first[i][1] += a[1] + a[3];
          }
#pragma unroll
          for (int n = 2 * m; n < Eights; ++n) {
            const double b[2] = {z[n][0], z[n][1]};
            multiply_add(product[i][n], a, b);
          }
        }
      }
    }
    wait_for_copies<0>();
    __syncthreads();  // the stages have been read
    if (!total && blockIdx.y == 0) add_score(terms, section, lane);
    if constexpr (Grouped) {
      fold_groups<Eights, Warp, groups>(product, first, weight, own, static_cast<unsigned>(row_group),
                                        reinterpret_cast<double*>(stages));
    }
    if (k >= components || row_group != 0) continue;

    double* const component = lane + (total ? layout.shared : layout.header + k * layout.component_size);
    if constexpr (Kind == narrow_kind::plain) {
      weight += __shfl_xor_sync(~0U, weight, 1);
      weight += __shfl_xor_sync(~0U, weight, 2);
      if (Warp == 0 && threadIdx.x % 32 == 0) component[layout.weight] += weight;
    }
    // The triangle of (x − c, 1), whose last column holds the first moments, and whose last element the weight.
    const unsigned past = Ones ? d + 1 : d, order = total ? d : d + 1;
#pragma unroll
    for (int i = 0; i < parts::count; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const unsigned row = 16 * parts::part(i) + 8 * half + group;
        double sum = first[i][half];
        if constexpr (Kind == narrow_kind::plain) {
          sum += __shfl_xor_sync(~0U, sum, 1);
          sum += __shfl_xor_sync(~0U, sum, 2);
        }
        if (row >= past) continue;
        double* const triangle = component + statistics_layout::triangle_row(order, row);
        if (Kind == narrow_kind::plain && place == 0) triangle[d] += sum;
#pragma unroll
        for (int n = 2 * parts::part(i); n < Eights; ++n) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const unsigned column = 8 * n + 2 * place + e;
            if (column >= row && column < past) triangle[column] += product[i][n][2 * half + e];
          }
        }
      }
    }
  }
}

/// A block for some components and each lane. Two blocks of a multiprocessor are worth the few registers that are then
/// kept in memory: one multiplies while the other waits.
template <class Scalar, int Eights, narrow_kind Kind, bool Grouped>
__global__ void __launch_bounds__(threads, 2)
    narrow_moments(const kernel_layout layout, const __grid_constant__ row_chunk<Scalar> chunk,
                   const __grid_constant__ prepared_components<double> parameters, const row_terms terms,
                   const lane_plan plan, const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0) return;
  extern __shared__ __align__(128) unsigned char memory[];
  auto* const stages = reinterpret_cast<row_stage<Scalar, Eights>*>(memory);
  if constexpr (warps_of_component(Eights) == 1) {
    sum_component<Scalar, Eights, 0, Kind, Grouped>(layout, chunk, parameters, terms, plan, stages);
  } else if (threadIdx.x / 32 % 2 == 0) {  // both ways pass the same barriers
    sum_component<Scalar, Eights, 0, Kind, Grouped>(layout, chunk, parameters, terms, plan, stages);
  } else {
    sum_component<Scalar, Eights, 1, Kind, Grouped>(layout, chunk, parameters, terms, plan, stages);
  }
}

template <class Scalar, int Eights, narrow_kind Kind, bool Grouped>
void launch_narrow_kind(const kernel_layout& layout, const row_chunk<Scalar>& chunk,
                        const prepared_parameters<Scalar>& parameters, const row_terms& terms, const lane_plan& plan,
                        cudaStream_t stream) {
  constexpr std::size_t stages = narrow_stages * sizeof(row_stage<Scalar, Eights>);
  // A row group hands over its sums at a time.
  constexpr std::size_t folded =
      Grouped ? std::size_t{threads / (narrow_step / 8)} * most_folded<Eights>() * sizeof(double) : 0;
  constexpr int bytes = static_cast<int>(std::max(stages, folded));
  constexpr unsigned own = static_cast<unsigned>(block_components(Eights)) / (Grouped ? narrow_step / 8 : 1);
  const dim3 blocks(1, Kind == narrow_kind::total ? 1 : (layout.components + own - 1) / own, plan.lanes);
  cuda::launch_in_turn(narrow_moments<Scalar, Eights, Kind, Grouped>, blocks, threads, bytes, stream, layout, chunk,
                       parameters.in_double, terms, plan, parameters.stopped);
}

template <int Eights>
void launch_narrow_moments(const kernel_layout& layout, const row_chunk<double>& chunk,
                           const prepared_parameters<double>& parameters, const row_terms& terms, const lane_plan& plan,
                           cudaStream_t stream) {
  using enum narrow_kind;
  const bool grouped = row_groups(Eights, layout.components) > 1;
  const auto launch = layout.columns % 8 == 0 ? (grouped ? launch_narrow_kind<double, Eights, plain, true>
                                                         : launch_narrow_kind<double, Eights, plain, false>)
                                              : (grouped ? launch_narrow_kind<double, Eights, ones, true>
                                                         : launch_narrow_kind<double, Eights, ones, false>);
  launch(layout, chunk, parameters, terms, plan, stream);
}

}  // namespace shoal::gmm::tensor_float64
