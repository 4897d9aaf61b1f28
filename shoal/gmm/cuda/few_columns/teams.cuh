// The kernel for few columns and many rows: two teams of warps in a block. One computes responsibilities, some rows a
// thread, and leaves them in shared memory; the other sums moments from there, a component and a slice of the rows a
// thread. While one team waits for shared memory the other multiplies.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include <shoal/execution/cuda/device_piece.hpp>
#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/shard_plan.hpp>
#include <shoal/gmm/cuda/few_columns/kernels.hpp>
#include <shoal/gmm/cuda/few_columns/parts.cuh>
#include <shoal/gmm/cuda/few_columns/teams.hpp>
#include <shoal/gmm/cuda/few_columns/tuning.hpp>

namespace shoal::gmm::few_columns {

/// What is known when a kernel is compiled.
template <covariance_type Type, int Columns, team_sizes Sizes>
struct team_shape {
  static constexpr covariance_type type = Type;
  static constexpr bool matrix = Type == covariance_type::full;
  static constexpr bool spherical = Type == covariance_type::spherical;
  static constexpr int columns = Columns;
  static constexpr int rows = Sizes.rows;
  static constexpr int expectation_threads = Sizes.expectation_threads;
  static constexpr int moment_threads = Sizes.moment_threads;
  static constexpr int moment_unroll = Sizes.moment_unroll;
  static constexpr int components = Sizes.components;
  /// Sums of all threads pass through shared memory with this stride: other sums lie in other banks.
  static constexpr int flush_stride = moment_threads + 8;
  static constexpr int threads = expectation_threads + moment_threads;
  static constexpr int blocks = Sizes.blocks;
  static constexpr int stage_rows = rows * expectation_threads;
  static constexpr int planes = (Columns + 3) / 4;
  static constexpr int sums = sums_of<Type>(Columns);
  /// c, then the log-constant, then for each column its b and its factors; spherical: μ − c, then ½ log2(e) / σ².
  static constexpr int record_size =
      2 * Columns + 1 + (matrix ? Columns * (Columns + 1) / 2 : (spherical ? 1 : Columns));
  static constexpr int record = (record_size + 3) / 4 * 4;
};

// The block's barrier of the threads that sum moments; 0 is __syncthreads().
inline constexpr unsigned moments_barrier = 1;

/// Told by all threads of one team, waited for by all of the other; its phases take turns.
class team_barrier {
 public:
  __device__ void make(unsigned threads) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address()), "r"(threads) : "memory");
  }
  __device__ void arrive() { asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(address()) : "memory"); }
  /// Until the phase of that parity is over.
  __device__ void wait(unsigned parity) {
    unsigned done = 0;
    while (done == 0) {
#if __CUDA_ARCH__ >= 900
      asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
#else
      asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.parity.shared.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
#endif
                   : "=r"(done)
                   : "r"(address()), "r"(parity)
                   : "memory");
    }
  }

 private:
  __device__ unsigned address() { return static_cast<unsigned>(__cvta_generic_to_shared(&state_)); }
  unsigned long long state_;
};

/// What the teams tell each other about the two stages.
struct team_barriers {
  team_barrier full[2];   ///< the responsibilities are there
  team_barrier empty[2];  ///< they have been read
};

/// The threads that sum moments.
template <class Shape>
struct moments_team {
  unsigned rank = threadIdx.x - Shape::expectation_threads;
  static constexpr unsigned size = Shape::moment_threads;
  __device__ void sync() const {
    __syncwarp();
    asm volatile("bar.sync %0, %1;" ::"n"(moments_barrier), "n"(size) : "memory");
  }
};

/// What one team leaves for the other: one of two stages in shared memory.
template <class Shape>
struct team_stage {
  float4* rows;    ///< [planes][stage_rows]
  float* scale;    ///< [stage_rows] w / Σ exp
  unsigned* far;   ///< [stage_rows / 32] a bit for each row
  row_sums* head;  ///< [warps of the expectation] of a whole group, in its last stage
  float* terms;    ///< [components][term_stride]

  __device__ team_stage(unsigned char* memory, unsigned index, unsigned bytes) {
    memory += index * bytes;
    rows = reinterpret_cast<float4*>(memory);
    head = reinterpret_cast<row_sums*>(rows + Shape::planes * Shape::stage_rows);
    scale = reinterpret_cast<float*>(head + Shape::expectation_threads / 32);
    far = reinterpret_cast<unsigned*>(scale + Shape::stage_rows);
    terms = reinterpret_cast<float*>(far + Shape::stage_rows / 32);
  }
};

/// The stages of a block's groups, one after another.
template <class Shape>
struct stage_cursor {
  const team_arguments& a;
  unsigned group;
  std::size_t begin = 0;
  std::size_t end = 0;

  __device__ explicit stage_cursor(const team_arguments& arguments) : a(arguments) {
    group = blockIdx.y * a.shard_units * a.unit_groups +
            (blockIdx.x + gridDim.x - a.first_unit * a.unit_groups % gridDim.x) % gridDim.x;
    enter();
  }
  __device__ bool valid() const { return begin < end; }
  __device__ unsigned count() const {
    return static_cast<unsigned>(min(static_cast<std::size_t>(Shape::stage_rows), end - begin));
  }
  __device__ bool last_of_group() const { return end - begin <= Shape::stage_rows; }
  __device__ void next() {
    begin += Shape::stage_rows;
    if (begin < end) return;
    group += gridDim.x;
    enter();
  }

 private:
  __device__ void enter() {
    const unsigned units = min(static_cast<unsigned>((a.count + cuda::piece_unit - 1) / cuda::piece_unit),
                               (blockIdx.y + 1) * a.shard_units);
    for (begin = end = 0; group < units * a.unit_groups; group += gridDim.x) {
      const std::size_t unit = group / a.unit_groups * cuda::piece_unit;
      begin = unit + std::size_t{group % a.unit_groups} * a.group_rows;
      end = min(min(begin + a.group_rows, unit + cuda::piece_unit), a.count);
      if (begin < end) return;
    }
    begin = end = 0;
  }
};

/// Where element e of the records comes from; found before the parameters are there.
template <class Shape>
struct record_source {
  const double* from = nullptr;  // null: a gap
  double times = 1;
  unsigned component;
  unsigned rest = Shape::columns + 1;  // of a spherical component's own numbers, else beyond

  __device__ record_source(const team_arguments& a, unsigned e) : component(e / Shape::record) {
    constexpr unsigned columns = Shape::columns;
    const prepared_components<double>& in = a.parameters.in_double;
    const unsigned k = component, slot = e % Shape::record;
    if (slot < columns) {
      from = in.centres + k * columns + slot;
    } else if (slot == columns) {
      from = in.log_constants + k;
      times = log2_e;
    } else if (slot < Shape::record_size) {
      unsigned at = slot - columns - 1;
      if constexpr (Shape::spherical) {
        rest = at;
        from = in.factors + k * columns;
      } else {
        unsigned j = 0;
        times = root_half_log2_e;
        if constexpr (Shape::matrix) {
          while (at >= j + 2) at -= j++ + 2;
          from = at == 0 ? in.offsets + k * columns + j : in.factors + k * a.factor_stride + (at - 1) * columns + j;
        } else {
          j = at / 2;
          from = (at % 2 == 0 ? in.offsets : in.factors) + k * columns + j;
        }
      }
    }
  }

  __device__ double value(const team_arguments& a) const {
    if (from == nullptr) return 0;
    if constexpr (Shape::spherical) {
      const double factor = *from;
      if (rest == Shape::columns) return 0.5 * log2_e * factor * factor;
      if (rest < Shape::columns) {
        return factor > 0 ? -a.parameters.in_double.offsets[component * Shape::columns + rest] / factor : 0;
      }
    }
    return *from * times;
  }
};

/// `source` is that of element threadIdx.x.
template <class Shape>
__device__ void load_team_records(const team_arguments& a, record_source<Shape> source, float* records) {
  for (unsigned e = threadIdx.x; e < a.components * Shape::record;) {
    records[e] = static_cast<float>(source.value(a));
    e += blockDim.x;
    source = record_source<Shape>(a, e);
  }
}

/// log2 of the density of a thread's rows under the component of a record.
template <class Shape, int Rows>
__device__ void team_densities(const float* record, const float (&x)[Shape::rows][Shape::columns],
                               float (&result)[Rows]) {
  constexpr int Columns = Shape::columns;
  float value[Shape::record];
#pragma unroll
  for (int i = 0; i < Shape::record; i += 4) {
    *reinterpret_cast<float4*>(value + i) = *reinterpret_cast<const float4*>(record + i);
  }
  if constexpr (Shape::spherical) {
    float norm[Rows] = {};
#pragma unroll
    for (int i = 0; i < Columns; ++i) {
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        const float z = (x[r][i] - value[i]) - value[Columns + 1 + i];
        norm[r] += z * z;
      }
    }
#pragma unroll
    for (int r = 0; r < Rows; ++r) result[r] = value[Columns] - value[2 * Columns + 1] * norm[r];
  } else {
    float z[Rows][Columns];
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      result[r] = value[Columns];
#pragma unroll
      for (int i = 0; i < Columns; ++i) z[r][i] = x[r][i] - value[i];
    }
    int next = Columns + 1;
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
      float y[Rows];
#pragma unroll
      for (int r = 0; r < Rows; ++r) y[r] = value[next];
      ++next;
#pragma unroll
      for (int i = Shape::matrix ? 0 : j; i <= j; ++i) {
#pragma unroll
        for (int r = 0; r < Rows; ++r) y[r] += value[next] * z[r][i];
        ++next;
      }
#pragma unroll
      for (int r = 0; r < Rows; ++r) result[r] -= y[r] * y[r];
    }
  }
}

template <class Shape>
__device__ void load_rows(const team_arguments& a, const stage_cursor<Shape>& stage,
                          float (&x)[Shape::rows][Shape::columns]) {
  const unsigned count = stage.count();
#pragma unroll
  for (int r = 0; r < Shape::rows; ++r) {
    const unsigned row = threadIdx.x + r * Shape::expectation_threads;
    const float* const source = a.rows + (stage.begin + (row < count ? row : 0)) * Shape::columns;
    if constexpr (Shape::columns % 4 == 0) {
#pragma unroll
      for (int i = 0; i < Shape::columns; i += 4) {
        *reinterpret_cast<float4*>(x[r] + i) = __ldg(reinterpret_cast<const float4*>(source + i));
      }
    } else if constexpr (Shape::columns % 2 == 0) {
#pragma unroll
      for (int i = 0; i < Shape::columns; i += 2) {
        *reinterpret_cast<float2*>(x[r] + i) = __ldg(reinterpret_cast<const float2*>(source + i));
      }
    } else {
#pragma unroll
      for (int i = 0; i < Shape::columns; ++i) x[r][i] = __ldg(source + i);
    }
  }
}

/// Rows begin … begin + count − 1 of the piece, and whether they are the last of their group.
struct stage_span {
  std::size_t begin;
  unsigned count;
  bool last;
};

/// The responsibilities of a stage whose rows are in x, `Rows` a thread: terms holds exp(ln p − greatest) and scale
/// what they are to be multiplied by. Far rows have zeros in terms, scale and rows and a bit in far. Leaves in x the
/// rows that come `next`.
template <class Shape, int Rows>
__device__ void expectation_stage(const team_arguments& a, const float* records, const team_stage<Shape>& stage,
                                  const stage_span& present, stage_cursor<Shape>& next,
                                  float (&x)[Shape::rows][Shape::columns], row_sums& head) {
  constexpr int Columns = Shape::columns, Threads = Shape::expectation_threads;
  bool wide[Rows];  // beyond the range of float32's squares
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    float extent = 0;
    float padded[Shape::planes * 4] = {};
#pragma unroll
    for (int i = 0; i < Columns; ++i) {
      extent = fmaxf(extent, fabsf(x[r][i]));
      padded[i] = x[r][i];
    }
    wide[r] = !(extent <= most_extent);
#pragma unroll
    for (int i = 0; i < Shape::planes; ++i) {
      stage.rows[i * Shape::stage_rows + threadIdx.x + r * Threads] = reinterpret_cast<const float4*>(padded)[i];
    }
  }

  float best[Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r) best[r] = -INFINITY;
  float* terms = stage.terms + threadIdx.x;
  const float* record = records;
#pragma unroll 1
  for (unsigned k = 0; k < a.components; ++k, terms += a.term_stride, record += Shape::record) {
    float term[Rows];
    team_densities<Shape, Rows>(record, x, term);
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      best[r] = fmaxf(best[r], term[r]);
      terms[r * Threads] = term[r];
    }
  }

  // The next rows are on their way while these are normalised.
  next.next();
  if (next.valid()) load_rows<Shape>(a, next, x);

  bool far[Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    far[r] =
        wide[r] || (may_be_far(best[r]) && is_far(a, stage.terms + threadIdx.x + r * Threads, a.term_stride, best[r]));
  }
  float sum[Rows] = {};
  terms = stage.terms + threadIdx.x;
#pragma unroll 2
  for (unsigned k = 0; k < a.components; ++k, terms += a.term_stride) {
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      const float term = exponential_of_two(terms[r * Threads] - best[r]);
      terms[r * Threads] = term;
      sum[r] += term;
    }
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const unsigned row = threadIdx.x + r * Threads;
    const bool inside = row < present.count;
    const float weight = a.weights == nullptr ? 1.0F : a.weights[present.begin + (inside ? row : 0)];
    float scale = quotient(weight, sum[r]);
    far[r] = inside && (far[r] || !(sum[r] <= static_cast<float>(a.components)));
    if (far[r]) {
      scale = 0;
      for (unsigned k = 0; k < a.components; ++k) stage.terms[k * a.term_stride + row] = 0;
      for (int i = 0; i < Shape::planes; ++i) stage.rows[i * Shape::stage_rows + row] = float4{};
    } else if (inside) {
      const double log_density = static_cast<double>(best[r]) + static_cast<double>(logarithm_of_two(sum[r]));
      head.log_likelihood += static_cast<double>(weight) * log_density;
      head.weight += static_cast<double>(weight);
    }
    stage.scale[row] = scale;
    const unsigned bits = __ballot_sync(~0U, far[r]);
    if (threadIdx.x % 32 == 0) stage.far[row / 32] = bits;
  }
  if (present.last) {
    head.log_likelihood = cuda::warp_sum(head.log_likelihood);
    head.weight = cuda::warp_sum(head.weight);
    if (threadIdx.x % 32 == 0) stage.head[threadIdx.x / 32] = head;
    head = {};
  }
}

/// Responsibilities, stage after stage, of which the first one's rows are in x.
template <class Shape>
__device__ void expectation_team(const team_arguments& a, const float* records, unsigned char* stages,
                                 team_barriers& barriers, stage_cursor<Shape>& next,
                                 float (&x)[Shape::rows][Shape::columns]) {
  constexpr int half = Shape::rows / 2;
  row_sums head;
  for (unsigned turn = 0; next.valid(); ++turn) {
    const team_stage<Shape> stage(stages, turn % 2, a.stage_bytes);
    const stage_span present{next.begin, next.count(), next.last_of_group()};
    if (turn >= 2) barriers.empty[turn % 2].wait(turn / 2 % 2 ^ 1);
    if (present.count <= half * Shape::expectation_threads) {
      expectation_stage<Shape, half>(a, records, stage, present, next, x, head);
    } else {
      expectation_stage<Shape, Shape::rows>(a, records, stage, present, next, x, head);
    }
    barriers.full[turn % 2].arrive();
  }
}

/// Adds what a row that is z beyond the centre, of responsibility `share`, adds to a component's sums.
template <class Shape>
__device__ void add_moments(float share, const float (&z)[Shape::columns], float* sums) {
  constexpr int Columns = Shape::columns;
  if constexpr (Shape::matrix) {
    int next = 0;
#pragma unroll
    for (int i = 0; i < Columns; ++i) {
      const float scaled = share * z[i];
#pragma unroll
      for (int j = i; j < Columns; ++j) sums[next++] += scaled * z[j];
      sums[next++] += scaled;
    }
    sums[next] += share;
  } else if constexpr (Shape::spherical) {
    sums[0] += share;
    float norm = 0;
#pragma unroll
    for (int i = 0; i < Columns; ++i) {
      sums[1 + i] += share * z[i];
      norm += z[i] * z[i];
    }
    sums[1 + Columns] += share * norm;
  } else {
    sums[0] += share;
#pragma unroll
    for (int i = 0; i < Columns; ++i) {
      const float scaled = share * z[i];
      sums[1 + i] += scaled;
      sums[1 + Columns + i] += scaled * z[i];
    }
  }
}

/// Adds a stage's rows begin … end − 1 to the sums of some components.
template <class Shape>
__device__ void team_moments(const team_arguments& a, const team_stage<Shape>& stage,
                             const unsigned (&component)[Shape::components], unsigned begin, unsigned end,
                             const float (&centre)[Shape::components][Shape::columns],
                             float (&sums)[Shape::components][Shape::sums]) {
  constexpr int Components = Shape::components;
  const float* terms[Components];
#pragma unroll
  for (int c = 0; c < Components; ++c) terms[c] = stage.terms + component[c] * a.term_stride;
#pragma unroll Shape::moment_unroll
  for (unsigned row = begin; row < end; ++row) {
    const float scale = stage.scale[row];
    float padded[Shape::planes * 4];
#pragma unroll
    for (int i = 0; i < Shape::planes; ++i) {
      *reinterpret_cast<float4*>(padded + 4 * i) = stage.rows[i * Shape::stage_rows + row];
    }
#pragma unroll
    for (int c = 0; c < Components; ++c) {
      const float share = terms[c][row] * scale;
      float z[Shape::columns];
#pragma unroll
      for (int i = 0; i < Shape::columns; ++i) z[i] = padded[i] - centre[c][i];
      add_moments<Shape>(share, z, sums[c]);
    }
  }
}

/// Adds the threads' sums to the lane in float64, always in the order of the slices.
template <class Shape>
__device__ void team_flush(const team_arguments& a, const moments_team<Shape>& team, float* buffer, unsigned slices,
                           const float (&sums)[Shape::components][Shape::sums], double* lane) {
  constexpr unsigned components = Shape::components, size = moments_team<Shape>::size;
  constexpr unsigned stride = Shape::flush_stride;
  const unsigned shares = (a.components + components - 1) / components;
  team.sync();  // what the group before left in the buffer has been read: only the other team keeps warps together
#pragma unroll
  for (int c = 0; c < Shape::components; ++c) {
#pragma unroll
    for (int i = 0; i < Shape::sums; ++i) buffer[(c * Shape::sums + i) * stride + team.rank] = sums[c][i];
  }
  team.sync();
  for (unsigned e = team.rank; e < Shape::sums * a.components; e += size) {
    const unsigned k = e % a.components;
    const unsigned sum = e / a.components;
    const bool tied = Shape::matrix && a.shared_triangle != 0;
    const float* const values = buffer + (k % components * Shape::sums + sum) * stride + k / components;
    double total = 0;
    if (a.single_precision_slices == 1) {
      double other = 0;  // two chains of additions take half as long as one
#pragma unroll 4
      for (unsigned slice = 0; slice + 1 < slices; slice += 2) {
        total += static_cast<double>(values[slice * shares]);
        other += static_cast<double>(values[(slice + 1) * shares]);
      }
      if (slices % 2 != 0) total += static_cast<double>(values[(slices - 1) * shares]);
      total += other;
    } else {
      for (unsigned slice = 0; slice < slices; slice += a.single_precision_slices) {
        const unsigned last = min(slices, slice + a.single_precision_slices);
        float part = 0;
#pragma unroll 8
        for (unsigned s = slice; s < last; ++s) part += values[s * shares];
        total += static_cast<double>(part);
      }
    }
    if (tied) {
      unsigned i = 0, j = 0;
      triangle_element(Shape::columns + 1, sum, i, j);
      if (j < Shape::columns) continue;
    }
    lane[lane_place<Shape::columns, Shape::type>(a, k, sum)] += total;
  }
  if (Shape::matrix && a.shared_triangle != 0) {
    for (unsigned sum = team.rank / 32; sum < Shape::sums; sum += size / 32) {
      unsigned i = 0, j = 0;
      triangle_element(Shape::columns + 1, sum, i, j);
      if (j == Shape::columns) continue;
      double total = 0;
      for (unsigned t = team.rank % 32; t < slices * shares; t += 32) {
        total += static_cast<double>(buffer[sum * stride + t]);
      }
      total = cuda::warp_sum(total);
      if (team.rank % 32 == 0) lane[lane_place<Shape::columns, Shape::type>(a, 0, sum)] += total;
    }
  }
}

/// Sums moments, stage after stage, into a lane in shared memory.
template <class Shape>
__device__ void moment_team(const team_arguments& a, unsigned char* stages, team_barriers& barriers, float* buffer,
                            double* lane) {
  const moments_team<Shape> team;
  const unsigned shares = (a.components + Shape::components - 1) / Shape::components;
  const unsigned slices = team.size / shares;
  const unsigned slice = team.rank / shares;
  unsigned component[Shape::components];
  float centre[Shape::components][Shape::columns];
#pragma unroll
  for (int c = 0; c < Shape::components; ++c) {
    component[c] = min(team.rank % shares * Shape::components + c, a.components - 1);
#pragma unroll
    for (int i = 0; i < Shape::columns; ++i) {
      centre[c][i] = a.parameters.packed.centres[component[c] * Shape::columns + i];
    }
  }
  float sums[Shape::components][Shape::sums] = {};
  unsigned turn = 0;
  for (stage_cursor<Shape> cursor(a); cursor.valid(); cursor.next(), ++turn) {
    const team_stage<Shape> stage(stages, turn % 2, a.stage_bytes);
    const unsigned count = cursor.count();
    const unsigned length = count == Shape::stage_rows ? a.slice_rows : (count + slices - 1) / slices;
    barriers.full[turn % 2].wait(turn / 2 % 2);
    if (slice < slices) {
      team_moments<Shape>(a, stage, component, min(slice * length, count), min((slice + 1) * length, count), centre,
                          sums);
    }
    const unsigned word = team.rank % 32;
    const bool any_far = __any_sync(~0U, word < (count + 31) / 32 && stage.far[word] != 0);
    if (any_far) {
      team.sync();
      const float* const weights = a.weights == nullptr ? nullptr : a.weights + cursor.begin;
      far_rows<Shape::columns, Shape::type>(a, team, stage.far, reinterpret_cast<double*>(stage.rows),
                                            a.rows + cursor.begin * Shape::columns, weights, count, lane);
    }
    const bool last = cursor.last_of_group();
    if (last && team.rank == 0) {
      row_sums all;
      for (unsigned warp = 0; warp < Shape::expectation_threads / 32; ++warp) {
        all.log_likelihood += stage.head[warp].log_likelihood;
        all.weight += stage.head[warp].weight;
      }
      lane[log_likelihood_place] += ln_2 * all.log_likelihood + all.weight * *a.parameters.packed.log_shift;
      lane[total_weight_place] += all.weight;
    }
    barriers.empty[turn % 2].arrive();
    if (last) {
      team_flush<Shape>(a, team, buffer, slices, sums, lane);
#pragma unroll
      for (int c = 0; c < Shape::components; ++c) {
#pragma unroll
        for (int i = 0; i < Shape::sums; ++i) sums[c][i] = 0;
      }
    }
  }
}

/// Adds the groups of a piece that belong to the block's lane.
template <class Shape>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    accumulate_by_teams(const __grid_constant__ team_arguments a) {
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ team_barriers barriers;
  if (threadIdx.x < 2) {
    barriers.full[threadIdx.x].make(Shape::expectation_threads);
    barriers.empty[threadIdx.x].make(Shape::moment_threads);
  }
  // Rows are there already, and the parameters' places are known: only the parameters are waited for.
  const bool expects = threadIdx.x < Shape::expectation_threads;
  stage_cursor<Shape> first(a);
  float x[Shape::rows][Shape::columns];
  if (expects && first.valid()) load_rows<Shape>(a, first, x);
  const record_source<Shape> source(a, threadIdx.x);
  cuda::wait_for_predecessor();
  const int stopped = *a.parameters.stopped;
  unsigned char* const stages = memory;
  double* const lane = reinterpret_cast<double*>(stages + 2 * a.stage_bytes);
  float* const records = reinterpret_cast<float*>(lane + (a.statistics + 1) / 2 * 2);
  float* const buffer = records + a.components * Shape::record;
  double* const kept = a.lanes + (blockIdx.y * gridDim.x + blockIdx.x) * a.statistics;
  for (unsigned i = threadIdx.x; i < a.statistics; i += Shape::threads) lane[i] = a.fresh ? 0 : kept[i];
  load_team_records<Shape>(a, source, records);
  if (stopped != 0) return;
  __syncthreads();
  if (expects) {
    expectation_team<Shape>(a, records, stages, barriers, first, x);
  } else {
    moment_team<Shape>(a, stages, barriers, buffer, lane);
    const moments_team<Shape> team;
    team.sync();
    for (unsigned i = team.rank; i < a.statistics; i += team.size) kept[i] = lane[i];
  }
}

template <covariance_type Type, int Columns, team_sizes Sizes>
team_kernel describe_team_kernel() {
  using Shape = team_shape<Type, Columns, Sizes>;
  team_kernel kernel;
  kernel.function = reinterpret_cast<const void*>(&accumulate_by_teams<Shape>);
  kernel.threads = Shape::threads;
  kernel.moment_threads = Shape::moment_threads;
  kernel.blocks = Shape::blocks;
  kernel.flush_stride = Shape::flush_stride;
  kernel.thread_components = Shape::components;
  kernel.sums = Shape::sums;
  kernel.record = Shape::record;
  kernel.stage_rows = Shape::stage_rows;
  kernel.stage_bytes = static_cast<unsigned>(Shape::stage_rows * (Shape::planes * sizeof(float4) + sizeof(float)) +
                                             Shape::expectation_threads / 32 * sizeof(row_sums) +
                                             Shape::stage_rows / 32 * sizeof(unsigned));
  return kernel;
}

/// For covariances of one type.
template <covariance_type Type, int Columns = 1>
team_kernel find_team_kernel_of(std::size_t columns, bool small) {
  if constexpr (Columns <= static_cast<int>(most_columns)) {
    constexpr team_sizes small_sizes = small_team_sizes_for(Type, Columns);
    if (columns != Columns) return find_team_kernel_of<Type, Columns + 1>(columns, small);
    if (!small) return describe_team_kernel<Type, Columns, team_sizes_for(Type, Columns)>();
    if constexpr (small_sizes.rows != 0) return describe_team_kernel<Type, Columns, small_sizes>();
  }
  return {};
}

}  // namespace shoal::gmm::few_columns
