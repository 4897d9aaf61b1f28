// The rows of Newton's system on an axon, and the rates of change there.
#pragma once

#include <cstddef>

namespace shoal::reaction_diffusion {

/// D·v_xx + f(v) of node i is weight·(v[i − 1] − 2·v[i] + v[i + 1]) + v(1 − v)(v − a).
template <class Scalar>
struct row_coefficients {
  Scalar a, weight;
  Scalar kappa, own;  ///< of a stage: own·v − κ·(D·v_xx + f(v)) = right, own = 1 + κβ
};

/// For nodes [first, end), which have both neighbours: residual ← right − own·v + κ·(D·v_xx + f(v)), and diagonal ←
/// what −residual changes by with v.
void assemble_rows(const row_coefficients<double>& by, const double* v, const double* right, std::size_t first,
                   std::size_t end, double* residual, double* diagonal);
void assemble_rows(const row_coefficients<float>& by, const float* v, const float* right, std::size_t first,
                   std::size_t end, float* residual, float* diagonal);

/// v ← v + change over `count` nodes; returns the largest |change|, or not-a-number where one is.
double add_change(const double* change, std::size_t count, double* v);
float add_change(const float* change, std::size_t count, float* v);

}  // namespace shoal::reaction_diffusion
