// Few columns: how a warp of the kernel that labels and sums rows in one pass (fold_few.cuh) adds up the rows of each
// cluster. Every thread, or every group of threads that share a row, has sums of its own in shared memory, in the rows'
// own scalar, so that nobody waits for anybody. Before they hold 512 rows they go to sums in float64.
#pragma once

#include <cuda_runtime.h>

#include <shoal/kmeans/cuda/few_layout.hpp>
#include <shoal/kmeans/cuda/kernels.hpp>

namespace shoal::kmeans {

template <class Scalar, int Count>
struct alignas(sizeof(Scalar) * Count) neighbours {
  Scalar at[Count];
};

template <class Scalar, int Columns>
class few_sums {
 public:
  static constexpr int values = few_thread_values(Columns, sizeof(Scalar));
  static constexpr int row_threads = few_row_threads(Columns, sizeof(Scalar));
  static constexpr int each = few_rows(Columns), part_rows = 32 * each;
  using some = neighbours<Scalar, values>;

  /// Begins with sums of nothing. `memory` is the warp's, [clusters][threads of one copy of each cluster's sums],
  /// `centres` the block's; `totals` in global memory, [clusters][Columns + 1].
  __device__ few_sums(int clusters, int sharers, Scalar* memory, const Scalar* centres, double* totals)
      : clusters_(clusters),
        threads_(32 / sharers),
        thread_(static_cast<int>(threadIdx.x) % 32),
        all_(memory),
        own_(opaque_address(reinterpret_cast<some*>(memory) + thread_ % threads_)),
        centres_(opaque_address(reinterpret_cast<const some*>(centres) + thread_ % places)),
        totals_(totals) {
    clear();
  }

  /// What a lane keeps between its pieces beside the totals: [few_kept_numbers()] in global memory.
  __device__ void save(double* to) {
    if (sizeof(Scalar) == 4) begin_totals();
    __syncwarp();
    for (int i = thread_; i < clusters_ * threads_ * values; i += 32) to[i] = static_cast<double>(all_[i]);
    to[clusters_ * 32 * values + thread_] = inertia_;
  }
  __device__ void restore(const double* from) {
    for (int i = thread_; i < clusters_ * threads_ * values; i += 32) all_[i] = static_cast<Scalar>(from[i]);
    inertia_ = from[clusters_ * 32 * values + thread_];
    moved_ = sizeof(Scalar) == 4;
    __syncwarp();
  }

  /// Adds up to part_rows rows, the i-th of a thread being row i · 32 + thread.
  __device__ void add(const Scalar* rows, const Scalar (&read)[each][Columns], const Scalar* weights, int count,
                      const int (&labels)[each]) {
    if (weights == nullptr && count == part_rows) return add_some<true>(rows, read, weights, count, labels);
    add_some<false>(rows, read, weights, count, labels);
  }

  /// The same of rows or centroids so far away that squares or sums of the rows' own scalar might overflow: one row
  /// after the other, in float64.
  __device__ void add_in_float64(const Scalar* rows, const Scalar* weights, int count, const int (&labels)[each]) {
    begin_totals();
    inertia_ +=
        row_by_row(rows, weights, count, labels, [&](int item, double number) { atomicAdd(totals_ + item, number); });
  }

  /// A block of rows was added: the sums move on where others might make them too many for the rows' own scalar.
  __device__ void end_block(unsigned blocks) {
    if constexpr (sizeof(Scalar) == 4) {
      if ((blocks & (blocks_of_sums() - 1)) != 0) return;  // of a power of two
      if (moved_) {                                        // the only writer of its totals, in order
        reduce([&](int item, double sum) { atomicAdd(totals_ + item, sum); });
      } else {
        reduce([&](int item, double sum) { totals_[item] = sum; });
        moved_ = true;
      }
      clear();
    }
  }

  /// [clusters][Columns + 1] sums in float64 where the warp's memory begins.
  __device__ double* finish() {
    auto* const to = reinterpret_cast<double*>(all_);
    const bool moved_on = sizeof(Scalar) == 4 && moved_;
    // What is written lies before what later items read: an item has as many bytes there, or more.
    reduce([&](int item, double sum) { to[item] = moved_on ? sum + __ldcg(totals_ + item) : sum; });
    return to;
  }

  __device__ double inertia() const { return inertia_; }

 private:
  static constexpr int places = 32 / values;  // of a cluster's centre
  // Sums of squares below it have lost digits to numbers that are not normal, and are done again in float64.
  static constexpr float least_squares = 0x1p-102F;
  static constexpr unsigned own_bytes = 32 * sizeof(some), centre_bytes = places * sizeof(some);

  // An address in shared memory whose parts the compiler does not add anew for each row.
  __device__ static unsigned opaque_address(const void* at) {
    auto address = static_cast<unsigned>(__cvta_generic_to_shared(at));
    asm("" : "+r"(address));
    return address;
  }
  // Of a cluster, whose offset among centres is label · centre_bytes.
  __device__ some centre_at(unsigned offset) const {
    return *static_cast<const some*>(__cvta_shared_to_generic(centres_ + offset));
  }
  __device__ some* own_at(unsigned offset) const { return static_cast<some*>(__cvta_shared_to_generic(own_ + offset)); }

  __device__ int first_column() const { return thread_ % row_threads * values; }
  __device__ unsigned blocks_of_sums() const { return static_cast<unsigned>(threads_ / row_threads); }

  // Totals hold something from here on.
  __device__ void begin_totals() {
    if (moved_) return;
    for (int i = thread_; i < clusters_ * (Columns + 1); i += 32) totals_[i] = 0;
    __syncwarp();
    moved_ = true;
  }

  // Hands on what each row adds to its cluster's sums in float64, a column by each thread; this thread's squares.
  template <class Take>
  __device__ double row_by_row(const Scalar* rows, const Scalar* weights, int count, const int (&labels)[each],
                               const Take& take) const {
    const unsigned first = centres_ - thread_ % places * unsigned{sizeof(some)};
    const auto* const centres = static_cast<const Scalar*>(__cvta_shared_to_generic(first));
    double squares = 0;
#pragma unroll
    for (int i = 0; i < each; ++i) {
#pragma unroll 1
      for (int row = i * 32; row < min(count, i * 32 + 32); ++row) {
        const int k = __shfl_sync(~0U, labels[i], row % 32);
        const double weight = weights == nullptr ? 1.0 : static_cast<double>(weights[row]);
        if (thread_ < Columns) {
          const double difference =
              static_cast<double>(rows[row * Columns + thread_]) - static_cast<double>(centres[k * 32 + thread_]);
          take(k * (Columns + 1) + thread_, weight * difference);
          squares += weight * difference * difference;
        } else if (thread_ == Columns) {
          take(k * (Columns + 1) + Columns, weight);
        }
        __syncwarp();
      }
    }
    return squares;
  }

  __device__ void clear() {
    __syncwarp();
    auto* const to = reinterpret_cast<float4*>(all_);
    const int count = clusters_ * threads_ * static_cast<int>(sizeof(some)) / 16;
    for (int i = thread_; i < count; i += 32) to[i] = make_float4(0, 0, 0, 0);
    __syncwarp();
  }

  // The copies of each cluster's sums, added up in the rows' own scalar: few, for sums of up to 512 rows.
  template <class Take>
  __device__ void reduce(const Take& take) {
    __syncwarp();
    const int copies = threads_ / row_threads, count = clusters_ * row_threads;
    const auto* const from = reinterpret_cast<const some*>(all_);
    for (int base = 0; base < count; base += 32) {
      const int k = (base + thread_) / row_threads, column = first_column();
      some sum{}, other{};
      if (base + thread_ < count) {
        const auto copy_at = [&](int copy) {
          const int turned = (copy + k) & (copies - 1);  // another bank than the neighbours'
          return from[k * threads_ + turned * row_threads + thread_ % row_threads];
        };
#pragma unroll 2
        for (int copy = 0; copy < copies; copy += 2) {
          const some next = copy_at(copy), after = copy_at(copy + 1);
#pragma unroll
          for (int v = 0; v < values; ++v) {
            sum.at[v] += next.at[v];
            other.at[v] += after.at[v];
          }
        }
      }
      __syncwarp();
#pragma unroll
      for (int v = 0; v < values; ++v) {
        if (base + thread_ < count && column + v <= Columns) {
          take(k * (Columns + 1) + column + v, static_cast<double>(sum.at[v]) + static_cast<double>(other.at[v]));
        }
      }
      __syncwarp();
    }
  }

  // Unweighted rows of a whole part, or any.
  template <bool Plain>
  __device__ void add_some(const Scalar* rows, const Scalar (&read)[each][Columns], const Scalar* weights, int count,
                           const int (&labels)[each]) {
    if constexpr (row_threads == 1) {
      add_alone<Plain>(read, weights, count, labels);
    } else {
      add_together<Plain>(rows, weights, count, labels);
    }
  }

  // A thread for each row.
  template <bool Plain>
  __device__ void add_alone(const Scalar (&read)[each][Columns], const Scalar* weights, int count,
                            const int (&labels)[each]) {
    Scalar of_rows = 0;
    some added[each];
#pragma unroll
    for (int i = 0; i < each; ++i) {
      const int row = i * 32 + thread_;
      const bool there = Plain || row < count;
      Scalar weight = there ? 1 : 0;
      if (!Plain && there && weights != nullptr) weight = weights[row];
      const some c = centre_at(static_cast<unsigned>(labels[i]) * centre_bytes);
#pragma unroll
      for (int v = 0; v < Columns; ++v) {
        const Scalar difference = there ? read[i][v] - c.at[v] : Scalar{0};
        added[i].at[v] = Plain ? difference : weight * difference;
        of_rows = fma(added[i].at[v], difference, of_rows);
      }
      added[i].at[Columns] = weight;
    }
    double squares = static_cast<double>(of_rows);
    if (sizeof(Scalar) == 4 && of_rows < least_squares) {
      squares = 0;
#pragma unroll
      for (int i = 0; i < each; ++i) {
        const auto weight = static_cast<double>(added[i].at[Columns]);
#pragma unroll
        for (int v = 0; v < Columns; ++v) {
          const auto moved = static_cast<double>(added[i].at[v]);
          if (Plain || weight > 0) squares += Plain ? moved * moved : moved * moved / weight;
        }
      }
    }
    inertia_ += squares;
    if (threads_ == 32) {
      add_own<32>(labels, added);
      return;
    }
    for (int turn = 0; turn < 32; turn += threads_) {
      if (thread_ / threads_ * threads_ == turn) {
        threads_ == 16 ? add_own<16>(labels, added) : add_own<8>(labels, added);
      }
      __syncwarp();
    }
  }

  template <int Threads>
  __device__ void add_own(const int (&labels)[each], const some (&added)[each]) {
#pragma unroll
    for (int i = 0; i < each; ++i) {
      some* const to = own_at(static_cast<unsigned>(labels[i]) * (Threads * unsigned{sizeof(some)}));
      some sum = *to;
#pragma unroll
      for (int v = 0; v <= Columns; ++v) sum.at[v] += added[i].at[v];
      *to = sum;
    }
  }

  // Threads that share a row, each some of its columns. Steps of 32 / row_threads rows, two at a time: they wait for
  // the sums of both, and the second adds to the first's where they are of one cluster. What is no column is 0 times a
  // number, less the -1 that stands for a weight's centre.
  template <bool Plain>
  __device__ void add_together(const Scalar* rows, const Scalar* weights, int count, const int (&labels)[each]) {
    constexpr int step_rows = 32 / row_threads;
    const int column = first_column(), sub_warp = thread_ / row_threads;
    Scalar taken[values], of_rows[values] = {};
    const Scalar* from[values];
#pragma unroll
    for (int v = 0; v < values; ++v) {
      taken[v] = column + v < Columns ? 1 : 0;
      from[v] = rows + sub_warp * Columns + (column + v < Columns ? column + v : v);
    }
#pragma unroll
    for (int i = 0; i < each; ++i) {
      if (!Plain && i * 32 >= count) break;
#pragma unroll(row_threads <= 8 ? row_threads / 2 : 4)
      for (int step = 0; step < 32; step += 2 * step_rows) {
        unsigned offset[2];
        some added[2];
#pragma unroll
        for (int which = 0; which < 2; ++which) {
          const int mine = i * 32 + step + which * step_rows;  // and sub_warp
          offset[which] =
              __shfl_sync(~0U, static_cast<unsigned>(labels[i]) * centre_bytes, (step + which * step_rows) + sub_warp);
          const bool there = Plain || mine + sub_warp < count;
          const some c = centre_at(offset[which]);
          Scalar weight = there ? 1 : 0;
          if (!Plain && there && weights != nullptr) weight = weights[mine + sub_warp];
          some x{};
          if (there) {
            if constexpr (Columns % values == 0) {  // all of them are columns, or none
              x = *reinterpret_cast<const some*>(from[0] + mine * Columns);
            } else {
#pragma unroll
              for (int v = 0; v < values; ++v) x.at[v] = from[v][mine * Columns];
            }
          }
#pragma unroll
          for (int v = 0; v < values; ++v) {
            const Scalar difference = fma(x.at[v], taken[v], -c.at[v]);
            added[which].at[v] = Plain ? difference : weight * difference;
            of_rows[v] = fma(added[which].at[v], difference, of_rows[v]);
          }
        }
        some* const to = own_at(offset[0] * (own_bytes / centre_bytes));
        some* const next = own_at(offset[1] * (own_bytes / centre_bytes));
        some sum = *to, other = *next;
#pragma unroll
        for (int v = 0; v < values; ++v) {
          sum.at[v] += added[0].at[v];
          if (offset[1] == offset[0]) other.at[v] = sum.at[v];
          other.at[v] += added[1].at[v];
        }
        *to = sum;
        *next = other;
      }
    }
    if constexpr (sizeof(Scalar) == 4) {
      float most = 0;
#pragma unroll
      for (int v = 0; v < values; ++v) most = fmaxf(most, taken[v] * of_rows[v]);
      if (__reduce_max_sync(~0U, __float_as_uint(most)) < __float_as_uint(least_squares)) {
        inertia_ += row_by_row(rows, weights, count, labels, [](int, double) {});
        return;
      }
    }
#pragma unroll
    for (int v = 0; v < values; ++v) inertia_ += static_cast<double>(taken[v] * of_rows[v]);
  }

  int clusters_, threads_, thread_;
  Scalar* all_;
  unsigned own_, centres_;  // addresses in shared memory, the thread's
  double* totals_;
  bool moved_ = false;  // totals hold something
  double inertia_ = 0;
};

}  // namespace shoal::kmeans
