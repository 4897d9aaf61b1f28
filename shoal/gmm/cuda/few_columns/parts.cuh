// What the kernels for few columns have in common: their arithmetic of one row, where sums lie, and far rows.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/few_columns/tuning.hpp>
#include <shoal/gmm/cuda/parameters.hpp>
#include <shoal/gmm/statistics_layout.hpp>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::few_columns {

__device__ inline float exponential_of_two(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
/// Of numbers that are hardly above zero, to the last digit, in two thirds of the instructions that exp2() takes: the
/// polynomial interpolates (2ᶠ − 1)/f at Chebyshev's places of |f| ≤ ½. Zero below 2⁻¹⁰²¹.
__device__ inline double exponential_of_two(double x) {
  constexpr double coefficients[] = {4.4549605981865186e-10, 7.072585949269223e-09, 1.0178062445845774e-07,
                                     1.321544258792169e-06,  1.525273382983612e-05, 0.0001540353044173605,
                                     0.0013333558146416936,  0.009618129107606888,  0.0555041086648216,
                                     0.24022650695910097,    0.6931471805599453,    1.0};
  constexpr double whole = 6755399441055744;  // 1.5 · 2⁵²: its sum with x ends in x as a whole number
  constexpr unsigned least = 0xc08fe800, infinite = 0xfff00000;  // the upper halves of −1021 and −∞
  const double rounded = x + whole, f = x - (rounded - whole);
  double power = coefficients[0];
#pragma unroll
  for (int i = 1; i < 12; ++i) power = fma(power, f, coefficients[i]);
  const double result =
      __hiloint2double(__double2hiint(power) + (__double2loint(rounded) << 20), __double2loint(power));
  return static_cast<unsigned>(__double2hiint(x)) - least <= infinite - least ? 0 : result;
}
/// Off by at most 2⁻²² for the sums of at least 1 that it is asked for.
__device__ inline float logarithm_of_two(float x) { return __log2f(x); }
__device__ inline double logarithm_of_two(double x) { return log2(x); }
/// Without what quotient() does about numbers below 2⁻¹²⁶.
__device__ inline float reciprocal(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
__device__ inline float quotient(float a, float b) { return __fdividef(a, b); }
__device__ inline double quotient(double a, double b) { return a / b; }

inline constexpr double log2_e = 1.4426950408889634;
inline constexpr double ln_2 = 0.6931471805599453;
/// Factors and offsets times this make ‖y‖² a power of two's exponent.
inline constexpr double root_half_log2_e = 0.84932180028801904;

// The head of a lane.
inline constexpr std::size_t log_likelihood_place = statistics_layout::log_likelihood();
inline constexpr std::size_t total_weight_place = statistics_layout::total_weight();
inline constexpr std::size_t far_rows_place = statistics_layout::far_rows();
inline constexpr std::size_t head_size = 4;

/// Σ w log2 p and Σ w of some near rows.
struct row_sums {
  double log_likelihood = 0;
  double weight = 0;
};

/// Whether a row's best log-density, as a power of two, is so low that its ‖y‖² may be beyond far_norm. Log-constants
/// are at most zero, so that nothing else can be.
__device__ inline bool may_be_far(float best) { return !(best >= static_cast<float>(-0.5 * log2_e) * far_norm); }

/// Whether the component that attains `best` is far; terms[k · stride] is the log-density of component k.
template <class Arguments>
__device__ bool is_far(const Arguments& a, const float* terms, unsigned stride, float best) {
  for (unsigned k = 0; k < a.components; ++k) {
    if (terms[k * stride] != best) continue;
    const double constant = static_cast<double>(a.parameters.packed.log_constants[k]) * log2_e;
    return !((constant - static_cast<double>(best)) * (2 * ln_2) <= static_cast<double>(far_norm));
  }
  return true;
}

/// Sums of a component: full (and tied) the upper triangle of (x−c, 1)(x−c, 1)ᵀ by rows, else W, S and Q, of which
/// spherical needs but the trace.
template <covariance_type Type>
constexpr int sums_of(int columns) {
  if (Type == covariance_type::full) return (columns + 1) * (columns + 2) / 2;
  return Type == covariance_type::spherical ? columns + 2 : 2 * columns + 1;
}

/// Element (i, j) of a triangle of `order` columns, i <= j, from its place in it.
__device__ inline void triangle_element(unsigned order, unsigned place, unsigned& i, unsigned& j) {
  i = 0;
  while (place >= order - i) place -= order - i++;
  j = i + place;
}

/// Where sum `sum` of component k lies in a lane.
template <int Columns, covariance_type Type, class Arguments>
__device__ std::size_t lane_place(const Arguments& a, unsigned k, unsigned sum) {
  constexpr unsigned size = Type == covariance_type::full ? sums_of<Type>(Columns) : 1 + 2 * Columns;
  if (Type != covariance_type::full || a.shared_triangle == 0) return head_size + std::size_t{k} * size + sum;
  unsigned i = 0, j = 0;
  triangle_element(Columns + 1, sum, i, j);
  if (j == Columns) return head_size + std::size_t{k} * (Columns + 1) + i;
  return a.shared_triangle + std::size_t{i} * Columns - std::size_t{i} * (i + 1) / 2 + j;
}

/// What a row adds to sum `sum` of a component with that centre, for a responsibility of one.
template <int Columns, covariance_type Type>
__device__ double summand(const float* x, const double* centre, unsigned sum) {
  const auto z = [&](unsigned i) { return static_cast<double>(x[i]) - centre[i]; };
  if constexpr (Type == covariance_type::full) {
    unsigned i = 0, j = 0;
    triangle_element(Columns + 1, sum, i, j);
    return (i < Columns ? z(i) : 1.0) * (j < Columns ? z(j) : 1.0);
  } else {
    if (sum == 0) return 1;
    if (sum <= Columns) return z(sum - 1);
    if constexpr (Type == covariance_type::spherical) {
      double norm = 0;
      for (unsigned i = 0; i < Columns; ++i) norm += z(i) * z(i);
      return norm;
    } else {
      return z(sum - 1 - Columns) * z(sum - 1 - Columns);
    }
  }
}

/// Does some rows' far ones in float64, one after another, all threads of a team on each: rows whose bit in far
/// [count / 32] is set. `terms` [components] is room to work.
template <int Columns, covariance_type Type, class Arguments, class Team>
__device__ void far_rows(const Arguments& a, const Team& team, const unsigned* far, double* terms, const float* from,
                         const float* weights, unsigned count, double* lane) {
  constexpr bool matrix = Type == covariance_type::full;
  constexpr unsigned sums = sums_of<Type>(Columns);
  const prepared_components<double>& c = a.parameters.in_double;
  const bool tied = matrix && a.shared_triangle != 0;
  for (unsigned word = 0; word * 32 < count; ++word) {
    for (unsigned bits = far[word]; bits != 0; bits &= bits - 1) {
      const unsigned row = word * 32 + static_cast<unsigned>(__ffs(static_cast<int>(bits))) - 1;
      const float* const x = from + static_cast<std::size_t>(row) * Columns;
      const double weight = weights == nullptr ? 1.0 : static_cast<double>(weights[row]);
      if (weight == 0) {  // its density may be zero
        if (team.rank == 0) lane[far_rows_place] += 1;
        continue;
      }
      for (unsigned k = team.rank; k < a.components; k += team.size) {
        double norm = 0;
        for (int j = 0; j < Columns; ++j) {
          double y = c.offsets[k * Columns + j];
          for (int i = matrix ? 0 : j; i <= j; ++i) {
            const double z = static_cast<double>(x[i]) - c.centres[k * Columns + i];
            y += (matrix ? c.factors[k * a.factor_stride + i * Columns + j] : c.factors[k * Columns + j]) * z;
          }
          norm += y * y;
        }
        terms[k] = c.log_constants[k] - 0.5 * norm;
      }
      team.sync();
      double best = -INFINITY;
      for (unsigned k = 0; k < a.components; ++k) best = fmax(best, terms[k]);
      team.sync();
      for (unsigned k = team.rank; k < a.components; k += team.size) terms[k] = exp(terms[k] - best);
      team.sync();
      double sum = 0;
      for (unsigned k = 0; k < a.components; ++k) sum += terms[k];
      for (unsigned e = team.rank; e < a.components * sums; e += team.size) {
        const unsigned k = e / sums;
        unsigned i = Columns, j = Columns;
        if constexpr (matrix) triangle_element(Columns + 1, e % sums, i, j);
        const bool common = tied && j < Columns;
        if (common && k > 0) continue;
        double added = 0;
        for (unsigned each = k; each < (common ? a.components : k + 1); ++each) {
          added += weight * terms[each] / sum * summand<Columns, Type>(x, c.centres + each * Columns, e % sums);
        }
        lane[lane_place<Columns, Type>(a, k, e % sums)] += added;
      }
      if (team.rank == 0) {
        lane[log_likelihood_place] += weight * (best + log(sum) + *c.log_shift);
        lane[total_weight_place] += weight;
        lane[far_rows_place] += 1;
      }
      team.sync();
    }
  }
}

}  // namespace shoal::gmm::few_columns
