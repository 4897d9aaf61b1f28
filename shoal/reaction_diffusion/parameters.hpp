// What a wave is: the equations, the nodes on which they are solved, and what holds at the ends.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <optional>
#include <vector>

namespace shoal::reaction_diffusion {

/// v_t = D·v_xx + v(1 − v)(v − a) − w and w_t = E·w_xx + ε(v − γw): FitzHugh (1961) and Nagumo, Arimoto & Yoshizawa
/// (1962).
struct parameters {
  double a = 0.1;                 ///< threshold of excitation
  double gamma = 2;               ///< γ ≥ 0, how fast the recovery itself decays
  double epsilon = 0.01;          ///< ε ≥ 0, how slow the recovery is
  double diffusion = 1;           ///< D ≥ 0, of v
  double recovery_diffusion = 0;  ///< E ≥ 0, of w
};

/// Nodes at x = 0, spacing, 2·spacing, …: `columns` of them on an axon (`rows` = 1), or rows × columns in the plane.
struct grid {
  std::size_t rows = 1;
  std::size_t columns = 401;
  double spacing = 0.5;

  std::size_t nodes() const { return rows * columns; }
};

/// What holds at the ends.
enum class boundary {
  no_flux,         ///< v_x = 0 at every end, to second order: a ghost node mirrors the neighbour
  input,           ///< v = `input_level` at the last node of an axon or of each row, no flux elsewhere
  periodic_input,  ///< there v = input_level·(1 − cos(2πt / input_period)) / 2
  periodic,        ///< the last node's neighbour is the first
};

/// Coefficients that differ from node to node, [rows][columns] each; an empty one is that of `parameters` everywhere.
/// Between two nodes D is the mean of theirs.
struct coefficient_fields {
  std::vector<double> a;
  std::vector<double> gamma;
  std::vector<double> epsilon;
  std::vector<double> diffusion;

  bool any() const { return !a.empty() || !gamma.empty() || !epsilon.empty() || !diffusion.empty(); }
};

/// White noise in space and time that drives v, in Itô's sense: strength·g(v)·dW with g = 1 or g = v.
enum class noise_kind { additive, multiplicative };
struct noise {
  noise_kind kind = noise_kind::additive;
  double strength = 0;     ///< 0: none
  std::uint64_t seed = 0;  ///< of the streams of random/
};

/// One problem: equations, nodes, ends.
struct problem {
  reaction_diffusion::parameters parameters;
  reaction_diffusion::grid grid;
  reaction_diffusion::boundary boundary = boundary::no_flux;
  double input_level = 1;
  double input_period = 100;
  coefficient_fields fields;
  reaction_diffusion::noise noise;
  /// With one, each row is an axon of its own, and v_t of each gets coupling·(v of the next axon − v), and the same of
  /// the one before.
  std::optional<double> coupling;

  /// Whether the grid is a plane, in which v spreads in both directions.
  bool in_plane() const { return grid.rows > 1 && !coupling; }
  bool has_noise() const { return noise.strength > 0; }
  /// Whether more is asked for than constant coefficients without noise.
  bool is_varied() const { return fields.any() || has_noise() || coupling.has_value(); }

  /// Whether implicit steps are split into reaction and diffusion, which are taken by turns.
  bool is_split() const { return grid.rows > 1 || parameters.recovery_diffusion > 0 || fields.any(); }

  bool has_input() const { return boundary == boundary::input || boundary == boundary::periodic_input; }

  /// v at the last node of a row at a time, where there is input.
  double input_at(double time) const {
    if (boundary == boundary::input) return input_level;
    return input_level * (1 - std::cos(2 * std::numbers::pi * time / input_period)) / 2;
  }
};

}  // namespace shoal::reaction_diffusion
