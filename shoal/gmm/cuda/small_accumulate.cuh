// The kernel for few columns: a thread has a component and a slice of the rows. It keeps the component's parameters and
// its sums in registers, for a whole group of rows; only log-densities and responsibilities pass through shared memory.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/gmm/cuda/small_kernel.hpp>
#include <shoal/gmm/cuda/tuning.hpp>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm {
namespace small {

template <class T>
struct vector_of;
template <>
struct vector_of<float> {
  using type = float4;
};
template <>
struct vector_of<double> {
  using type = double2;
};
template <class T>
struct pair_of;
template <>
struct pair_of<float> {
  using type = float2;
};
template <>
struct pair_of<double> {
  using type = double2;
};

/// What is known when a kernel is compiled. Sums of a component: with matrices the upper triangle of (x−c, 1)(x−c, 1)ᵀ
/// by rows, else W, S, Q; the order of statistics_layout.
template <class T, int Columns, bool Matrix>
struct shape {
  static constexpr int vector = 16 / static_cast<int>(sizeof(T));
  static constexpr int planes = (Columns + vector - 1) / vector;
  static constexpr int sums = Matrix ? (Columns + 1) * (Columns + 2) / 2 : 1 + 2 * Columns;
  static constexpr int factor = Matrix ? Columns * (Columns + 1) / 2 : Columns;
  /// c, then for each column its b and its factors, then the log-constant.
  static constexpr int parameters = 2 * Columns + factor + 1;
  /// An odd number of vectors, so that threads that read the records of different components do not wait for banks.
  static constexpr int record = ((parameters + vector - 1) / vector | 1) * vector;
  static constexpr int flushes = (sums + most_flushed_sums<T> - 1) / most_flushed_sums<T>;
  static constexpr int flushed_sums = (sums + flushes - 1) / flushes;
  static constexpr small_registers registers =
      registers_for(sums * static_cast<int>(sizeof(T) / 4), parameters * static_cast<int>(sizeof(T) / 4),
                    vector * Columns * static_cast<int>(sizeof(T) / 4));
};

__device__ inline float exponential_of_two(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
__device__ inline double exponential_of_two(double x) { return exp2(x); }
__device__ inline float logarithm_of_two(float x) { return log2f(x); }
__device__ inline double logarithm_of_two(double x) { return log2(x); }

inline constexpr double log2_e = 1.4426950408889634;
inline constexpr double ln_2 = 0.6931471805599453;

// The head of a lane.
inline constexpr std::size_t log_likelihood_place = statistics_layout::log_likelihood();
inline constexpr std::size_t total_weight_place = statistics_layout::total_weight();
inline constexpr std::size_t far_rows_place = statistics_layout::far_rows();
inline constexpr std::size_t head_size = 4;

/// Places in the dynamic shared memory of a block.
template <class T>
struct places {
  T* records;
  T* rows;   ///< two stages of planes of 16 bytes: [2][planes][row_places]
  T* scale;  ///< [stage_rows] w / Σ exp
  T* terms;  ///< [components][term_stride]
  unsigned* far;
};

template <class Shape, class T>
__device__ places<T> find_places(const small_arguments<T>& a) {
  extern __shared__ __align__(16) unsigned char memory[];
  places<T> p;
  p.records = reinterpret_cast<T*>(memory);
  p.rows = p.records + a.round_components * Shape::record;
  p.scale = p.rows + 2 * Shape::planes * Shape::vector * a.row_places;
  p.terms = p.scale + a.stage_rows;
  p.far = reinterpret_cast<unsigned*>(p.terms + a.components * a.term_stride);
  return p;
}

/// Copies the parameters of some components into records; log-constants become powers of two.
template <class Shape, int Columns, bool Matrix, class T>
__device__ void load_records(const small_arguments<T>& a, unsigned first, unsigned count, T* records) {
  const device_components<T>& from = a.parameters.packed;
  for (unsigned e = threadIdx.x; e < count * Shape::record; e += blockDim.x) {
    const unsigned k = first + e / Shape::record;
    const unsigned slot = e % Shape::record;
    T value = 0;
    if (slot < Columns) {
      value = from.centres[k * Columns + slot];
    } else if (slot < 2 * Columns + Shape::factor) {
      unsigned rest = slot - Columns;
      unsigned j = 0;
      if constexpr (Matrix) {
        while (rest >= j + 2) rest -= j++ + 2;
        value = rest == 0 ? from.offsets[k * Columns + j]
                          : from.factors[k * a.factor_stride + (rest - 1) * Columns + j];
      } else {
        j = rest / 2;
        value = rest % 2 == 0 ? from.offsets[k * Columns + j] : from.factors[k * Columns + j];
      }
    } else if (slot == 2 * Columns + Shape::factor) {
      value = static_cast<T>(static_cast<double>(from.log_constants[k]) * log2_e);
    }
    records[e] = value;
  }
}

template <class Shape, class T>
__device__ void read_record(const T* record, T (&value)[Shape::record]) {
  using vector = typename vector_of<T>::type;
#pragma unroll
  for (int i = 0; i < Shape::record; i += Shape::vector) {
    *reinterpret_cast<vector*>(value + i) = *reinterpret_cast<const vector*>(record + i);
  }
}

template <class Shape, int Columns, class T>
__device__ void read_row(const T* rows, unsigned row_places, unsigned place, T (&x)[Columns]) {
  using vector = typename vector_of<T>::type;
  T padded[Shape::planes * Shape::vector];
#pragma unroll
  for (int i = 0; i < Shape::planes; ++i) {
    *reinterpret_cast<vector*>(padded + i * Shape::vector) =
        reinterpret_cast<const vector*>(rows)[i * row_places + place];
  }
#pragma unroll
  for (int i = 0; i < Columns; ++i) x[i] = padded[i];
}

/// log2 of the density of some rows under the component of a record.
template <class Shape, int Columns, bool Matrix, int Rows, class T>
__device__ void log_densities(const T (&value)[Shape::record], T (&z)[Rows][Columns], T* result) {
  T norm[Rows] = {};
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
#pragma unroll
    for (int i = 0; i < Columns; ++i) z[r][i] -= value[i];
  }
  int next = Columns;
#pragma unroll
  for (int j = 0; j < Columns; ++j) {
    T y[Rows];
#pragma unroll
    for (int r = 0; r < Rows; ++r) y[r] = value[next];
    ++next;
#pragma unroll
    for (int i = Matrix ? 0 : j; i <= j; ++i) {
#pragma unroll
      for (int r = 0; r < Rows; ++r) y[r] += value[next] * z[r][i];
      ++next;
    }
#pragma unroll
    for (int r = 0; r < Rows; ++r) norm[r] += y[r] * y[r];
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r) result[r] = value[next] + static_cast<T>(-0.5 * log2_e) * norm[r];
}

/// Whether a row's best log-density, as a power of two, is so low that its ‖y‖² may be beyond far_norm. Log-constants
/// are at most zero, so that nothing else can be.
__device__ inline bool may_be_far(float best) { return !(best >= static_cast<float>(-0.5 * log2_e) * far_norm); }

/// Whether the component that attains `best` is far from row `row` of the stage.
__device__ inline bool is_far(const small_arguments<float>& a, const float* terms, unsigned row, float best) {
  for (unsigned k = 0; k < a.components; ++k) {
    if (terms[k * a.term_stride + row] != best) continue;
    const double constant = static_cast<double>(a.parameters.packed.log_constants[k]) * log2_e;
    return !((constant - static_cast<double>(best)) * (2 * ln_2) <= static_cast<double>(far_norm));
  }
  return true;
}

/// Σ w log2 p and Σ w of a thread's near rows.
struct row_sums {
  double log_likelihood = 0;
  double weight = 0;
};

template <int Bytes>
__device__ void copy_asynchronously(void* to, const void* from) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if constexpr (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(address), "l"(from), "n"(Bytes) : "memory");
  }
}

__device__ inline void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

template <class Shape>
__device__ unsigned padded_rows(unsigned count) {
  return (count + Shape::vector - 1) / Shape::vector * Shape::vector;
}

/// How the rows of a stage are dealt to slices, a multiple of a vector to each. The rows of a slice lie together and a
/// place is left free after them, so that an odd number of places, and not always the same banks, are between those of
/// the slices that are read at once.
struct slicing {
  unsigned each;
  float reciprocal;

  template <class Shape>
  static __device__ slicing of(unsigned count, unsigned slices) {
    const unsigned each = padded_rows<Shape>((count + slices - 1) / slices);
    return {each, 1.0F / static_cast<float>(each)};
  }
  /// Where row `row` lies. Rows are few enough for the quotient to be exact.
  __device__ unsigned place(unsigned row) const {
    return row + static_cast<unsigned>((static_cast<float>(row) + 0.5F) * reciprocal);
  }
};

/// Starts to copy rows into a stage, whole planes at a time where rows consist of them. Rows up to the next multiple of
/// a vector are zero.
template <class Shape, int Columns, class T>
__device__ void fetch(const small_arguments<T>& a, const T* from, unsigned count, const slicing& cut, T* rows) {
  if constexpr (Columns % Shape::vector == 0) {
    for (unsigned e = threadIdx.x; e < count * Shape::planes; e += blockDim.x) {
      const unsigned place = cut.place(e / Shape::planes);
      const unsigned plane = e % Shape::planes;
      copy_asynchronously<16>(rows + (plane * a.row_places + place) * Shape::vector, from + e * Shape::vector);
    }
  } else {
    for (unsigned e = threadIdx.x; e < count * Columns; e += blockDim.x) {
      const unsigned place = cut.place(e / Columns);
      const unsigned column = e % Columns;
      copy_asynchronously<sizeof(T)>(
          rows + (column / Shape::vector * a.row_places + place) * Shape::vector + column % Shape::vector, from + e);
    }
  }
  const unsigned padding = padded_rows<Shape>(count) - count;
  if (threadIdx.x < padding * Shape::planes * Shape::vector) {
    const unsigned place = cut.place(count + threadIdx.x / (Shape::planes * Shape::vector));
    const unsigned element = threadIdx.x % (Shape::planes * Shape::vector);
    rows[(element / Shape::vector * a.row_places + place) * Shape::vector + element % Shape::vector] = 0;
  }
}

/// The rows of one thread in a stage, a multiple of a vector, and how far behind a row its place is.
struct row_range {
  unsigned begin;
  unsigned end;
  unsigned shift;
};

template <class Shape>
__device__ row_range slice_rows(const slicing& cut, unsigned slice, unsigned count) {
  const unsigned padded = padded_rows<Shape>(count);
  return {min(slice * cut.each, padded), min((slice + 1) * cut.each, padded), slice};
}

/// terms = log2 of the densities of the rows under one component.
template <class Shape, int Columns, bool Matrix, class T>
__device__ void densities(const small_arguments<T>& a, const T* rows, const T* record, row_range range, T* terms) {
  using vector = typename vector_of<T>::type;
  T held[Shape::record];
  if constexpr (Shape::registers.hold_parameters) read_record<Shape>(record, held);
  for (unsigned row = range.begin; row < range.end; row += Shape::vector) {
    T result[Shape::vector];
    if constexpr (Shape::registers.hold_parameters) {
#pragma unroll
      for (int r = 0; r < Shape::vector; ++r) {
        T z[1][Columns];
        read_row<Shape>(rows, a.row_places, row + range.shift + r, z[0]);
        log_densities<Shape, Columns, Matrix>(held, z, result + r);
      }
    } else {
      T value[Shape::record];
      read_record<Shape>(record, value);
      T z[Shape::vector][Columns];
#pragma unroll
      for (int r = 0; r < Shape::vector; ++r) read_row<Shape>(rows, a.row_places, row + range.shift + r, z[r]);
      log_densities<Shape, Columns, Matrix>(value, z, result);
    }
    if constexpr (Shape::vector == 4) {
      *reinterpret_cast<vector*>(terms + row) = make_float4(result[0], result[1], result[2], result[3]);
    } else {
      *reinterpret_cast<vector*>(terms + row) = make_double2(result[0], result[1]);
    }
  }
}

/// Responsibilities of the stage's rows: terms become exp(ln p − greatest) and scale what they are to be multiplied by.
/// Returns whether this thread saw a far row; those have zeros in terms, scale and rows and a bit in far.
template <class Shape, int Columns, class T>
__device__ bool normalise(const small_arguments<T>& a, const places<T>& p, T* rows, const slicing& cut, const T* weights,
                          unsigned count, row_sums& sums) {
  using pair = typename pair_of<T>::type;
  const unsigned padded = padded_rows<Shape>(count);
  bool any_far = false;
  for (unsigned first = 2 * (threadIdx.x / 32 * 32); first < padded; first += 2 * blockDim.x) {
    const unsigned row = first + 2 * (threadIdx.x % 32);
    bool far[2] = {false, false};
    if (row < padded) {
      T* const terms = p.terms + row;
      T best[2] = {-INFINITY, -INFINITY};
#pragma unroll 4
      for (unsigned k = 0; k < a.components; ++k) {
        const pair term = *reinterpret_cast<const pair*>(terms + k * a.term_stride);
        best[0] = max(best[0], term.x);
        best[1] = max(best[1], term.y);
      }
      if constexpr (std::is_same_v<T, float>) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          float x[Columns];
          read_row<Shape>(rows, a.row_places, cut.place(row + r), x);
          float extent = 0;
#pragma unroll
          for (int i = 0; i < Columns; ++i) extent = fmaxf(extent, fabsf(x[i]));
          far[r] = !(extent <= most_extent) || (may_be_far(best[r]) && is_far(a, p.terms, row + r, best[r]));
        }
      }
      T sum[2] = {};
#pragma unroll 4
      for (unsigned k = 0; k < a.components; ++k) {
        pair* const place = reinterpret_cast<pair*>(terms + k * a.term_stride);
        pair term = *place;
        term.x = exponential_of_two(term.x - best[0]);
        term.y = exponential_of_two(term.y - best[1]);
        *place = term;
        sum[0] += term.x;
        sum[1] += term.y;
      }
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const bool real = row + r < count;
        const T weight = !real ? T{0} : (weights == nullptr ? T{1} : weights[row + r]);
        T scale = weight / sum[r];
        // A sum that is not a number comes of a row and a component whose ‖y‖² is not one.
        if constexpr (std::is_same_v<T, float>) far[r] = far[r] || !(sum[r] <= static_cast<float>(a.components));
        if (far[r] || !real) {
          scale = 0;
          for (unsigned k = 0; k < a.components; ++k) terms[k * a.term_stride + r] = 0;
          for (int i = 0; i < Shape::planes * Shape::vector; ++i) {
            rows[(i / Shape::vector * a.row_places + cut.place(row + r)) * Shape::vector + i % Shape::vector] = 0;
          }
          far[r] = real;
        } else {
          const double log_density = static_cast<double>(best[r]) + static_cast<double>(logarithm_of_two(sum[r]));
          sums.log_likelihood += static_cast<double>(weight) * log_density;
          sums.weight += static_cast<double>(weight);
        }
        p.scale[row + r] = scale;
      }
    }
    if constexpr (std::is_same_v<T, float>) {
      const unsigned even = __ballot_sync(~0U, far[0]);
      const unsigned odd = __ballot_sync(~0U, far[1]);
      if (threadIdx.x % 32 == 0) {
        p.far[first / 32] = even;
        p.far[first / 32 + 1] = odd;
      }
    }
    any_far = any_far || far[0] || far[1];
  }
  return any_far;
}

/// Adds a thread's rows of the stage to its component's sums.
template <class Shape, int Columns, bool Matrix, class T>
__device__ void moments(const small_arguments<T>& a, const places<T>& p, const T* rows, const T* terms,
                        const T (&centre)[Columns], row_range range, T (&sums)[Shape::sums]) {
  using vector = typename vector_of<T>::type;
  for (unsigned row = range.begin; row < range.end; row += Shape::vector) {
    T term[Shape::vector], scale[Shape::vector];
    *reinterpret_cast<vector*>(term) = *reinterpret_cast<const vector*>(terms + row);
    *reinterpret_cast<vector*>(scale) = *reinterpret_cast<const vector*>(p.scale + row);
#pragma unroll
    for (int r = 0; r < Shape::vector; ++r) {
      const T share = term[r] * scale[r];
      T z[Columns];
      read_row<Shape>(rows, a.row_places, row + range.shift + r, z);
#pragma unroll
      for (int i = 0; i < Columns; ++i) z[i] -= centre[i];
      if constexpr (Matrix) {
        int next = 0;
#pragma unroll
        for (int i = 0; i < Columns; ++i) {
          const T scaled = share * z[i];
#pragma unroll
          for (int j = i; j < Columns; ++j) sums[next++] += scaled * z[j];
          sums[next++] += scaled;
        }
        sums[next] += share;
      } else {
        sums[0] += share;
#pragma unroll
        for (int i = 0; i < Columns; ++i) {
          const T scaled = share * z[i];
          sums[1 + i] += scaled;
          sums[1 + Columns + i] += scaled * z[i];
        }
      }
    }
  }
}

/// Element (i, j) of a triangle of `order` columns, i <= j, from its place in it.
__device__ inline void triangle_element(unsigned order, unsigned place, unsigned& i, unsigned& j) {
  i = 0;
  while (place >= order - i) place -= order - i++;
  j = i + place;
}

/// Where sum `sum` of component k lies in a lane.
template <int Columns, bool Matrix, class T>
__device__ std::size_t lane_place(const small_arguments<T>& a, unsigned k, unsigned sum) {
  constexpr unsigned sums = Matrix ? (Columns + 1) * (Columns + 2) / 2 : 1 + 2 * Columns;
  if (!Matrix || a.shared_triangle == 0) return head_size + std::size_t{k} * sums + sum;
  unsigned i = 0, j = 0;
  triangle_element(Columns + 1, sum, i, j);
  if (j == Columns) return head_size + std::size_t{k} * (Columns + 1) + i;
  return a.shared_triangle + std::size_t{i} * Columns - std::size_t{i} * (i + 1) / 2 + j;
}

/// Does the far rows of a stage in float64, one after another, all threads on each.
template <int Columns, bool Matrix>
__device__ void far_rows(const small_arguments<float>& a, const places<float>& p, const float* from,
                         const float* weights, unsigned count, double* lane) {
  const device_components<double>& c = a.parameters.in_double;
  // The stage's own terms were used, and have room for two numbers of each component.
  double* const terms = reinterpret_cast<double*>(p.terms);
  // Bits of even rows and of odd rows, 32 of each, take turns.
  for (unsigned word = 0; word < (count + 63) / 64 * 2; ++word) {
    for (unsigned bits = p.far[word]; bits != 0; bits &= bits - 1) {
      const unsigned bit = static_cast<unsigned>(__ffs(static_cast<int>(bits))) - 1;
      const unsigned row = word / 2 * 64 + 2 * bit + word % 2;
      const float* const x = from + static_cast<std::size_t>(row) * Columns;
      const double weight = weights == nullptr ? 1.0 : static_cast<double>(weights[row]);
      for (unsigned k = threadIdx.x; k < a.components; k += blockDim.x) {
        double norm = 0;
        for (int j = 0; j < Columns; ++j) {
          double y = c.offsets[k * Columns + j];
          for (int i = Matrix ? 0 : j; i <= j; ++i) {
            const double z = static_cast<double>(x[i]) - c.centres[k * Columns + i];
            y += (Matrix ? c.factors[k * a.factor_stride + i * Columns + j] : c.factors[k * Columns + j]) * z;
          }
          norm += y * y;
        }
        terms[k] = c.log_constants[k] - 0.5 * norm;
      }
      __syncthreads();
      double best = -INFINITY;
      for (unsigned k = 0; k < a.components; ++k) best = fmax(best, terms[k]);
      __syncthreads();
      for (unsigned k = threadIdx.x; k < a.components; k += blockDim.x) terms[k] = exp(terms[k] - best);
      __syncthreads();
      double sum = 0;
      for (unsigned k = 0; k < a.components; ++k) sum += terms[k];
      constexpr unsigned sums = Matrix ? (Columns + 1) * (Columns + 2) / 2 : 1 + 2 * Columns;
      const bool tied = Matrix && a.shared_triangle != 0;
      for (unsigned e = threadIdx.x; e < a.components * sums; e += blockDim.x) {
        const unsigned k = e / sums;
        unsigned i = Columns, j = Columns;
        if constexpr (Matrix) {
          triangle_element(Columns + 1, e % sums, i, j);
        } else if (e % sums > 0) {
          i = (e % sums - 1) % Columns;
          if (e % sums > Columns) j = i;
        }
        const bool common = tied && j < Columns;
        if (common && k > 0) continue;
        double added = 0;
        for (unsigned each = k; each < (common ? a.components : k + 1); ++each) {
          const double* const centre = c.centres + each * Columns;
          const double left = i < Columns ? static_cast<double>(x[i]) - centre[i] : 1.0;
          const double right = j < Columns ? static_cast<double>(x[j]) - centre[j] : 1.0;
          added += weight * terms[each] / sum * left * right;
        }
        lane[lane_place<Columns, Matrix>(a, k, e % sums)] += added;
      }
      if (threadIdx.x == 0) {
        lane[log_likelihood_place] += weight * (best + log(sum) + *c.log_shift);
        lane[total_weight_place] += weight;
        lane[far_rows_place] += 1;
      }
      __syncthreads();
    }
  }
}

__device__ inline double sum_of_warp(double value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0U, value, step);
  return value;
}

/// A lane, and whether what it holds counts.
struct lane_sums {
  double* values;
  bool empty;
  __device__ void add(std::size_t place, double value) const { values[place] = empty ? value : values[place] + value; }
};

/// Adds every thread's sums to the lane in float64, always in the order of the slices.
template <class Shape, int Columns, bool Matrix, class T>
__device__ void flush(const small_arguments<T>& a, const places<T>& p, unsigned first, unsigned components,
                      unsigned slices, const T (&sums)[Shape::sums], const lane_sums& lane) {
  T* const buffer = p.scale;
  const unsigned threads = blockDim.x;
  const bool tied = Matrix && a.shared_triangle != 0;
#pragma unroll
  for (int begin = 0; begin < Shape::sums; begin += Shape::flushed_sums) {
    constexpr int most = Shape::flushed_sums;
    const int some = begin + most < Shape::sums ? most : Shape::sums - begin;
#pragma unroll
    for (int i = 0; i < most; ++i) {
      if (begin + i < Shape::sums) buffer[i * threads + threadIdx.x] = sums[begin + i < Shape::sums ? begin + i : 0];
    }
    __syncthreads();
    for (unsigned e = threadIdx.x; e < some * components; e += threads) {
      const unsigned k = e % components;
      const unsigned sum = begin + e / components;
      if (tied) {
        unsigned i = 0, j = 0;
        triangle_element(Columns + 1, sum, i, j);
        if (j < Columns) continue;
      }
      const T* const values = buffer + e / components * threads + k;
      const unsigned step = a.round_components;
      double total = 0;
#pragma unroll 2
      for (unsigned slice = 0; slice < slices; slice += a.single_precision_slices) {
        const unsigned last = min(slices, slice + a.single_precision_slices);
        T part = values[slice * step];
        for (unsigned s = slice + 1; s < last; ++s) part += values[s * step];
        total += static_cast<double>(part);
      }
      lane.add(lane_place<Columns, Matrix>(a, first + k, sum), total);
    }
    if (tied) {
      for (int i = static_cast<int>(threadIdx.x / 32); i < some; i += static_cast<int>(threads / 32)) {
        unsigned row = 0, column = 0;
        triangle_element(Columns + 1, begin + i, row, column);
        if (column == Columns) continue;
        double total = 0;
        for (unsigned t = threadIdx.x % 32; t < slices * a.round_components; t += 32) {
          total += static_cast<double>(buffer[i * threads + t]);
        }
        total = sum_of_warp(total);
        // Rounds of components after the first add to what it left.
        const lane_sums into{lane.values, lane.empty && first == 0};
        if (threadIdx.x % 32 == 0) into.add(lane_place<Columns, Matrix>(a, 0, begin + i), total);
      }
    }
    __syncthreads();
  }
}

/// Adds the threads' row sums to the head of the lane.
template <class T>
__device__ void flush_head(const small_arguments<T>& a, const places<T>& p, const row_sums& sums,
                           const lane_sums& lane) {
  double* const buffer = reinterpret_cast<double*>(p.scale);
  buffer[threadIdx.x] = sums.log_likelihood;
  buffer[blockDim.x + threadIdx.x] = sums.weight;
  __syncthreads();
  if (threadIdx.x < 32) {
    double log_likelihood = 0, weight = 0;
    for (unsigned t = threadIdx.x; t < blockDim.x; t += 32) {
      log_likelihood += buffer[t];
      weight += buffer[blockDim.x + t];
    }
    log_likelihood = sum_of_warp(log_likelihood);
    weight = sum_of_warp(weight);
    if (threadIdx.x == 0) {
      lane.add(log_likelihood_place, ln_2 * log_likelihood + weight * *a.parameters.packed.log_shift);
      lane.add(total_weight_place, weight);
      lane.add(far_rows_place, 0);
      lane.add(head_size - 1, 0);
    }
  }
  __syncthreads();
}

/// The groups of the piece that belong to a lane, in order.
template <class T>
struct group_range {
  std::size_t begin;
  std::size_t end;  ///< begin when there are no more
  std::size_t index;

  __device__ void find(const small_arguments<T>& a) {
    const std::size_t units = (a.count + cuda::piece_unit - 1) / cuda::piece_unit;
    for (; index < units * a.unit_groups; index += gridDim.x) {
      const std::size_t unit = index / a.unit_groups * cuda::piece_unit;
      begin = unit + index % a.unit_groups * a.group_rows;
      end = min(min(begin + a.group_rows, unit + cuda::piece_unit), a.count);
      if (begin < end) return;
    }
    begin = end = 0;
  }
};

template <class T>
__device__ group_range<T> first_group(const small_arguments<T>& a) {
  const std::size_t lanes = gridDim.x;
  group_range<T> range{0, 0, (blockIdx.x + lanes - a.first_unit * a.unit_groups % lanes) % lanes};
  range.find(a);
  return range;
}

template <class T>
__device__ group_range<T> next_group(const small_arguments<T>& a, group_range<T> range) {
  range.index += gridDim.x;
  range.find(a);
  return range;
}

/// Starts to copy the stage of a group that begins with row `first`; nothing of a group without rows.
template <class Shape, int Columns, class T>
__device__ void fetch_stage(const small_arguments<T>& a, std::size_t first, std::size_t end, T* rows) {
  const auto count = static_cast<unsigned>(min(static_cast<std::size_t>(a.stage_rows), end - first));
  if (count == 0) return;
  fetch<Shape, Columns>(a, a.rows + first * Columns, count,
                        slicing::of<Shape>(count, blockDim.x / a.round_components), rows);
}

/// One group of rows, whose first stage is on its way to p.rows or the stage beside it, `rows`, into the block's lane.
/// More components than threads are summed in rounds, each of which computes all responsibilities again. Leaves the
/// first stage of the group that follows on its way to `rows`.
template <class Shape, int Columns, bool Matrix, class T>
__device__ void sum_group(const small_arguments<T>& a, const places<T>& p, const group_range<T>& own,
                          const group_range<T>& following, T*& rows, lane_sums& lane) {
  const bool one_round = a.round_components >= a.components;
  T* const beside = p.rows + Shape::planes * Shape::vector * a.row_places;
  const unsigned slices = blockDim.x / a.round_components;
  const unsigned slice = threadIdx.x / a.round_components;
  const unsigned component = threadIdx.x % a.round_components;
  for (unsigned first = 0; first < a.components; first += a.round_components) {
    const unsigned components = min(a.round_components, a.components - first);
    T sums[Shape::sums] = {};
    row_sums head;
    for (std::size_t stage = own.begin; stage < own.end; stage += a.stage_rows) {
      const auto count = static_cast<unsigned>(min(static_cast<std::size_t>(a.stage_rows), own.end - stage));
      const T* const weights = a.weights == nullptr ? nullptr : a.weights + stage;
      const slicing cut = slicing::of<Shape>(count, slices);
      const row_range range = slice_rows<Shape>(cut, slice, count);
      wait_for_copies();
      __syncthreads();
      T* const next_rows = rows == p.rows ? beside : p.rows;
      if (stage + a.stage_rows < own.end) {
        fetch_stage<Shape, Columns>(a, stage + a.stage_rows, own.end, next_rows);
      } else if (first + a.round_components < a.components) {
        fetch_stage<Shape, Columns>(a, own.begin, own.end, next_rows);
      } else {
        fetch_stage<Shape, Columns>(a, following.begin, following.end, next_rows);
      }
      for (unsigned other = 0; other < a.components; other += a.round_components) {
        const unsigned some = min(a.round_components, a.components - other);
        if (!one_round) {
          __syncthreads();
          load_records<Shape, Columns, Matrix>(a, other, some, p.records);
          __syncthreads();
        }
        if (component < some && slice < slices) {
          densities<Shape, Columns, Matrix>(a, rows, p.records + component * Shape::record, range,
                                            p.terms + (other + component) * a.term_stride);
        }
      }
      __syncthreads();
      const bool any_far = __syncthreads_or(normalise<Shape, Columns>(a, p, rows, cut, weights, count, head));
      if (component < components && slice < slices) {
        T centre[Columns];
#pragma unroll
        for (int i = 0; i < Columns; ++i) {
          centre[i] = one_round ? p.records[component * Shape::record + i]
                                : a.parameters.packed.centres[(first + component) * Columns + i];
        }
        moments<Shape, Columns, Matrix>(a, p, rows, p.terms + (first + component) * a.term_stride, centre, range, sums);
      }
      if constexpr (std::is_same_v<T, float>) {
        if (any_far && first == 0) {
          __syncthreads();
          if (lane.empty) {
            for (std::size_t i = threadIdx.x; i < a.statistics; i += blockDim.x) lane.values[i] = 0;
            lane.empty = false;
            __syncthreads();
          }
          far_rows<Columns, Matrix>(a, p, a.rows + stage * Columns, weights, count, lane.values);
        }
      }
      rows = next_rows;
    }
    __syncthreads();
    if (first == 0) flush_head(a, p, head, lane);
    flush<Shape, Columns, Matrix>(a, p, first, components, slices, sums, lane);
  }
  lane.empty = false;
}

}  // namespace small

/// Adds the groups of a piece that belong to the block's lane.
template <class T, int Columns, bool Matrix>
__global__ void __launch_bounds__(small::shape<T, Columns, Matrix>::registers.threads)
    small_accumulate(const __grid_constant__ small_arguments<T> a) {
  using Shape = small::shape<T, Columns, Matrix>;
  // The kernel before may still run, and the one after be made ready.
  cudaGridDependencySynchronize();
  cudaTriggerProgrammaticLaunchCompletion();
  const small::places<T> p = small::find_places<Shape>(a);
  T* rows = p.rows;
  small::group_range<T> group = small::first_group(a);
  const int stopped = *a.parameters.stopped;
  small::fetch_stage<Shape, Columns>(a, group.begin, group.end, rows);
  if (a.round_components >= a.components) {
    small::load_records<Shape, Columns, Matrix>(a, 0, a.components, p.records);
  }
  if (stopped != 0) {
    small::wait_for_copies();
    return;
  }

  small::lane_sums lane{a.lanes + blockIdx.x * a.statistics, a.fresh};
  while (group.begin < group.end) {
    const small::group_range<T> following = small::next_group(a, group);
    small::sum_group<Shape, Columns, Matrix>(a, p, group, following, rows, lane);
    group = following;
  }
  if (lane.empty) {
    for (std::size_t i = threadIdx.x; i < a.statistics; i += blockDim.x) lane.values[i] = 0;
  }
}

template <class T, int Columns, bool Matrix>
small_kernel describe_small_kernel() {
  using Shape = small::shape<T, Columns, Matrix>;
  small_kernel kernel;
  kernel.function = reinterpret_cast<const void*>(&small_accumulate<T, Columns, Matrix>);
  kernel.threads = Shape::registers.threads;
  kernel.sums = Shape::sums;
  kernel.record = Shape::record;
  kernel.row_elements = Shape::planes * Shape::vector;
  kernel.vector = Shape::vector;
  kernel.flushed_sums = Shape::flushed_sums;
  return kernel;
}

template <class T, bool Matrix, int Columns = 1>
small_kernel find_small_kernel(std::size_t columns) {
  if constexpr (Columns <= static_cast<int>(most_small_columns)) {
    return columns == Columns ? describe_small_kernel<T, Columns, Matrix>()
                              : find_small_kernel<T, Matrix, Columns + 1>(columns);
  } else {
    return {};
  }
}

}  // namespace shoal::gmm
