#include <shoal/reaction_diffusion/check.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/reaction_diffusion/adaptive.hpp>
#include <shoal/reaction_diffusion/explicit_steps.hpp>
#include <shoal/reaction_diffusion/pieces.hpp>
#include <shoal/reaction_diffusion/runge_kutta.hpp>
#include <shoal/reaction_diffusion/state.hpp>

namespace shoal::reaction_diffusion {
namespace {

void require_at_least_zero(std::string_view name, double value) {
  if (value >= 0 && std::isfinite(value)) return;
  throw bad_argument(fmt::format("{} must be a finite number of at least 0; got {}", name, value));
}

void require_above_zero(std::string_view name, double value) {
  if (value > 0 && std::isfinite(value)) return;
  throw bad_argument(fmt::format("{} must be a finite number above 0; got {}", name, value));
}

void check_equations(const problem& wave) {
  const parameters& of = wave.parameters;
  if (!std::isfinite(of.a)) throw bad_argument(fmt::format("a must be a finite number; got {}", of.a));
  require_at_least_zero("gamma", of.gamma);
  require_at_least_zero("epsilon", of.epsilon);
  require_at_least_zero("diffusion", of.diffusion);
  require_at_least_zero("recovery_diffusion", of.recovery_diffusion);
  require_above_zero("spacing", wave.grid.spacing);
  if (wave.grid.columns < 3 || wave.grid.rows == 0 || (wave.in_plane() && wave.grid.rows < 3)) {
    if (wave.grid.rows == 1) {
      throw bad_argument(fmt::format("an axon needs at least 3 nodes; got {}", wave.grid.columns));
    }
    throw bad_argument(fmt::format("the plane needs at least 3 nodes in each direction; got {} times {}",
                                   wave.grid.rows, wave.grid.columns));
  }
  if (!std::isfinite(wave.input_level)) {
    throw bad_argument(fmt::format("input_level must be a finite number; got {}", wave.input_level));
  }
  require_above_zero("input_period", wave.input_period);
}

bool is_implicit(const options& how) { return how.scheme == scheme::crank_nicolson || how.scheme == scheme::tr_bdf2; }

void check_field(const problem& wave, std::string_view name, const std::vector<double>& values, double least) {
  if (values.empty()) return;
  if (values.size() != wave.grid.nodes()) {
    throw bad_argument(
        fmt::format("the field of {} has {} values, and the grid {} nodes", name, values.size(), wave.grid.nodes()));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i]) && values[i] >= least) continue;
    throw bad_argument(fmt::format("{}[{}] must be a finite number{}; got {}", name, i,
                                   least == 0 ? " of at least 0" : "", values[i]));
  }
}

// Fields, noise and coupling.
void check_variants(const problem& wave, const options& how) {
  check_field(wave, "a", wave.fields.a, -std::numeric_limits<double>::infinity());
  check_field(wave, "gamma", wave.fields.gamma, 0);
  check_field(wave, "epsilon", wave.fields.epsilon, 0);
  check_field(wave, "diffusion", wave.fields.diffusion, 0);
  require_at_least_zero("the strength of noise", wave.noise.strength);
  if (wave.coupling) {
    require_at_least_zero("coupling", *wave.coupling);
    if (wave.grid.rows < 2) throw bad_argument("coupling needs at least 2 axons, a row each; got 1 row");
  }
  if (how.scheme == scheme::explicit_steps && how.order == 2) return;
  if (wave.has_noise() && how.scheme != scheme::crank_nicolson) {
    throw bad_argument(
        "noise needs scheme explicit_steps of order 2 or crank_nicolson: it would undo the order of the others, and "
        "what "
        "they know of their error");
  }
  if (!wave.fields.any() && !wave.coupling) return;
  if (!is_implicit(how)) {
    throw bad_argument(
        "fields of coefficients and coupled axons need scheme explicit_steps of order 2, crank_nicolson or tr_bdf2");
  }
}

void check_times(const std::vector<double>& times) {
  if (times.empty()) throw bad_argument("times must hold at least one time at which a state is kept");
  double before = 0;
  for (const double time : times) {
    if (!(time >= before) || !std::isfinite(time)) {
      throw bad_argument(fmt::format("times must be finite and ascend from 0 on; got {} after {}", time, before));
    }
    before = time;
  }
}

void check_step(double step, double bound, std::string_view formula) {
  if (step <= bound) return;
  throw bad_argument(fmt::format(
      "step {} is too long for explicit steps, which stay bounded up to {:.6g} on this grid (for v: {}); give a "
      "shorter step or an implicit scheme",
      step, bound, formula));
}

void check_adaptive(const problem& wave, const options& how) {
  if (wave.boundary == boundary::periodic && how.adaptive.differences == second_differences::spline) {
    throw bad_argument(
        "scheme adaptive with boundary periodic needs three-point or five-point differences; the spline is flat at its "
        "ends");
  }
  if (wave.has_input() && how.adaptive.differences != second_differences::three_point) {
    throw bad_argument("scheme adaptive with input needs three-point differences; the others mirror v beyond the ends");
  }
  const adaptive_options& use = how.adaptive;
  if (use.coarse_stride == 0) throw bad_argument("coarse_stride must be at least 1; got 0");
  require_at_least_zero("slope", use.slope);
  require_at_least_zero("rate", use.rate);
  require_at_least_zero("inflection_radius", use.inflection_radius);
  check_step(how.step, longest_adaptive_step(wave, use.differences),
             "2/(λD/spacing² + 1 − a) with λ = 4 for three points, 16/3 for five, 12 for a spline");
}

void check_pieces(const problem& wave, const options& how) {
  if (wave.parameters.recovery_diffusion > 0) {
    throw bad_argument(
        fmt::format("scheme pieces needs recovery_diffusion 0; got {}", wave.parameters.recovery_diffusion));
  }
  const std::size_t reach = reach_of_step(wave, how.step > 0 ? how.step : 0.1);
  // One piece needs no explicit node, unless the axon closes there.
  const std::size_t longest =
      wave.boundary == boundary::periodic ? std::min(how.piece_nodes, wave.grid.columns) : how.piece_nodes;
  if (reach > 0 && longest > 2 * reach) return;
  throw bad_argument(
      fmt::format("scheme pieces: for step {} the explicit nodes look {} nodes away, and pieces must be longer than "
                  "twice that; got "
                  "{} nodes. Give a shorter step or longer pieces",
                  how.step, reach == 0 ? "infinitely many" : fmt::to_string(reach), longest));
}

void check_plane(const problem& wave, const options& how) {
  if ((how.scheme != scheme::explicit_steps && !is_implicit(how)) || how.order != 2) {
    throw bad_argument(
        fmt::format("in the plane ({} rows) the scheme is explicit_steps, crank_nicolson or tr_bdf2, of order 2; "
                    "others need rows = 1",
                    wave.grid.rows));
  }
  if (wave.has_input() && how.scheme != scheme::explicit_steps) {
    throw bad_argument("in the plane and on coupled axons input needs scheme explicit_steps");
  }
}

void check_fourth_order(const problem& wave, const options& how) {
  if (how.scheme != scheme::explicit_steps) {
    throw bad_argument("order 4 needs scheme explicit_steps; the others are of order 2");
  }
  if (wave.has_input() && wave.grid.columns < 6) {
    throw bad_argument(fmt::format("order 4 with input needs at least 6 nodes; got {}", wave.grid.columns));
  }
  check_step(how.step, longest_runge_kutta_step(wave), "2.785/(16/3 D/spacing² + 1 − a)");
}

}  // namespace

void check(const problem& wave, const options& how) {
  check_equations(wave);
  check_times(how.times);
  require_at_least_zero("step", how.step);
  require_above_zero("tolerance", how.tolerance);
  require_at_least_zero("newton_accuracy", how.newton_accuracy);
  require_at_least_zero("checkpoint_seconds", how.checkpoint_seconds);
  check_variants(wave, how);
  if (wave.grid.rows > 1) check_plane(wave, how);
  if (how.order == 4) return check_fourth_order(wave, how);
  if (how.order != 2) throw bad_argument(fmt::format("order must be 2 or 4; got {}", how.order));
  if (how.scheme == scheme::explicit_steps) {
    return check_step(how.step, longest_explicit_step(wave),
                      wave.in_plane() ? "2/(8D/spacing² + 1 − a)"
                      : wave.coupling ? "2/(4D/spacing² + 4·coupling + 1 − a)"
                                      : "2/(4D/spacing² + 1 − a)");
  }
  if (how.scheme == scheme::source_2016 && wave.boundary != boundary::no_flux) {
    throw bad_argument("scheme source_2016 needs boundary no_flux");
  }
  if (how.scheme == scheme::pieces) check_pieces(wave, how);
  if (how.scheme == scheme::adaptive) check_adaptive(wave, how);
  if (is_implicit(how) && wave.is_split() && wave.has_input()) {
    throw bad_argument(
        "implicit steps with recovery_diffusion or fields of coefficients are split, and need boundary no_flux or "
        "periodic; got input. Use scheme explicit_steps");
  }
  if (how.scheme == scheme::source_2016 && wave.parameters.recovery_diffusion > 0) {
    throw bad_argument(fmt::format("scheme source_2016 needs recovery_diffusion 0; got {}. Use another scheme",
                                   wave.parameters.recovery_diffusion));
  }
}

void check(const problem& wave, const initial_state& begin) {
  using named = std::pair<char, const std::vector<double>*>;
  for (const auto& [name, values] : {named{'v', &begin.v}, named{'w', &begin.w}}) {
    if (values->size() != wave.grid.nodes()) {
      throw bad_argument(
          fmt::format("the initial {} has {} values, and the grid {} nodes", name, values->size(), wave.grid.nodes()));
    }
    for (std::size_t i = 0; i < values->size(); ++i) {
      if (!std::isfinite((*values)[i])) {
        throw bad_data(fmt::format("the initial {}[{}] is {}; every value must be finite", name, i, (*values)[i]));
      }
    }
  }
}

std::size_t span::steps_of(double step) const {
  constexpr double most = 0x1p53;
  const double steps = std::max(1.0, std::ceil((end - begin) / step * (1 - 1e-12)));
  if (steps <= most) return static_cast<std::size_t>(steps);
  throw bad_argument(fmt::format(
      "from time {} to {} there are {:.3g} steps of {:.3g}, more than can be counted; end earlier, give nodes a "
      "wider spacing, or choose a scheme whose step is not bounded",
      begin, end, steps, step));
}

}  // namespace shoal::reaction_diffusion
