// How a wave is computed.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <shoal/execution/device_choice.hpp>

namespace shoal::reaction_diffusion {

/// How time is discretised.
enum class scheme {
  explicit_steps,  ///< Euler's forward steps, of first order in time; with `order` 4 the classical Runge–Kutta method
  crank_nicolson,  ///< trapezoidal steps by Newton's method; the first two are damped (Rannacher 1984)
  adaptive,        ///< Euler's steps on nodes that are chosen anew in each step
  source_2016,     ///< the source's own implicit scheme, faults included, for its figures
  pieces,          ///< some nodes by explicit steps, the pieces between them by implicit ones: the source's proposal
  tr_bdf2,         ///< TR-BDF2 with an embedded error estimate (Hosea & Shampine 1996)
};

/// How the adaptive scheme takes second derivatives on nodes that are not evenly spaced.
enum class second_differences {
  three_point,  ///< of the parabola through three nodes: of first order where the spacing changes
  five_point,   ///< of the polynomial through five nodes: of third order
  spline,       ///< of the cubic spline through all nodes
};

/// Which nodes of the grid the adaptive scheme uses.
struct adaptive_options {
  second_differences differences = second_differences::three_point;
  std::size_t coarse_stride = 8;  ///< every so many nodes where nothing happens
  double slope = 0.01;            ///< half of that where |v_x| is above this,
  double rate = 0.005;            ///< a quarter where |v_t| is above this,
  double inflection_radius = 2;   ///< and all nodes at most so far in x from the inflection points of what is steep
};

/// End rows of the Jacobian of source_2016.
enum class source_end_rows {
  printed,     ///< (1, 1): Newton's method converges linearly
  derivative,  ///< (1, −1): quadratically
};

struct options {
  reaction_diffusion::scheme scheme = scheme::explicit_steps;
  std::size_t order =
      2;            ///< of the differences in space: 2, or 4 with explicit steps, which then have that order in time
  double step = 0;  ///< fixes the step; an interval between two states is cut into equal steps of at most this.
                    ///< 0: 0.9 of the bound (explicit), 0.1 (Crank–Nicolson), or by `tolerance` (TR-BDF2)
  double tolerance = 1e-4;     ///< of one TR-BDF2 step, in the largest norm of v and w
  double newton_accuracy = 0;  ///< what Newton's method may leave of an error; 0: 1e-12, or 1e-6 in float32
  adaptive_options adaptive;
  source_end_rows end_rows = source_end_rows::printed;  ///< of source_2016
  std::size_t piece_nodes = 256;                        ///< of pieces: nodes from one explicit node to the next
  std::vector<double> times;                            ///< when states are kept, ascending, from 0 on
  std::size_t threads = 1;                              ///< 0: one for each hardware thread. They change no bit
  device_choice device;                                 ///< where to run; the number of GPUs changes no bit
  std::string checkpoint;                               ///< file to resume from and to write; empty: none
  double checkpoint_seconds = 1;                        ///< at least so long between two of them
};

}  // namespace shoal::reaction_diffusion
