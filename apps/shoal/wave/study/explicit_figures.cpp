// Figures 1 to 4: waves by explicit steps, and their errors.
#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "wave/study/study.hpp"

namespace shoal::app::wave_study {
namespace {

curve profile(const std::string& name, const std::vector<double>& v, double spacing) {
  curve line{name, {}, v};
  for (std::size_t i = 0; i < v.size(); ++i) line.x.push_back(static_cast<double>(i) * spacing);
  return line;
}

figure axon_with_input(const setting& how) {
  rd::problem wave = source_axon();
  wave.boundary = rd::boundary::input;
  const double end = 306.19;
  const auto found = run(how, wave, rd::rest(wave.grid), rd::scheme::explicit_steps, 0.1, {end - 5, end});
  const std::size_t nodes = wave.grid.columns;
  const auto before = rd::crossings(found.states.data(), wave.grid),
             after = rd::crossings(found.states.data() + 2 * nodes, wave.grid);
  double speed = std::numeric_limits<double>::quiet_NaN();
  // The leftmost crossing is a wave's front, unless it left within the last 5 units of time.
  if (!before.empty() && !after.empty() && after[0] < before[0]) speed = (after[0] - before[0]) / 5;
  const std::vector<double> w(found.states.end() - static_cast<std::ptrdiff_t>(nodes), found.states.end());
  return {1,
          "Excitation and relaxation under constant input at the last node, t = 306.19",
          "x",
          "v, w",
          false,
          {profile("v", v_of(found, 1, nodes), wave.grid.spacing), profile("w", w, wave.grid.spacing)},
          {{"places where v crosses 1/2", static_cast<double>(after.size()), "several waves on the axon"},
           {"speed of the first wave, positive to the right", speed, "right to left"}},
          "The input keeps the last node excited, and waves leave it one after the other."};
}

figure splitting_impulse(const setting& how) {
  const rd::problem wave = source_axon();
  const std::size_t nodes = wave.grid.columns, middle = nodes / 2;
  const double between = how.quick ? 1 : 0.05;
  std::vector<double> times;
  for (double time = 0; time <= 290; time = static_cast<double>(times.size()) * between) times.push_back(time);
  const auto found = run(how, wave, rd::impulse(wave.grid), rd::scheme::explicit_steps, 0.1, times);
  double collapse = 0, below_half = 0, below_hundredth = 0;
  figure out{2, "An impulse collapses in its middle and parts into two", "x", "v", false, {}, {}, {}};
  const double shown[] = {0, 20, 38, 90};
  for (std::size_t t = 0; t < times.size(); ++t) {
    const std::vector<double> v = v_of(found, t, nodes);
    const double largest = *std::max_element(v.begin(), v.end());
    if (collapse == 0 && v[middle] < 0) collapse = times[t];
    if (largest > 0.5) below_half = times[t];
    if (largest > 0.01) below_hundredth = times[t];
    if (out.curves.size() < std::size(shown) && times[t] >= shown[out.curves.size()]) {
      out.curves.push_back(profile(fmt::format("t = {:.0f}", times[t]), v, wave.grid.spacing));
    }
  }
  out.values = {{"v in the middle falls below 0 at t", collapse, "37.85 (the peak collapses)"},
                {"v is below 1/2 everywhere from t", below_half, "242.98 (the pulses vanish)"},
                {"v is below 0.01 everywhere from t", below_hundredth, "242.98 (the pulses vanish)"}};
  out.note =
      "Two pulses, mirrors of each other, leave the axon at rest. The article gives no level for its two times; the "
      "levels "
      "here are named.";
  return out;
}

figure explicit_error_of_spacing(const setting& how) {
  // 2Δt ≤ Δx² on the finest grid. Its caption has Δx and Δt exchanged: as printed the scheme could not be stable.
  const int finest = how.quick ? 4 : 6;
  const double least = 0.5 / (1 << finest), step = 0.45 * least * least, end = 0.91;
  curve errors{"explicit", {}, {}};
  std::vector<double> reference;
  for (int k = finest; k >= 0; --k) {
    const rd::problem wave = source_axon(0.5 / (1 << k));
    const auto found = run(how, wave, rd::impulse(wave.grid), rd::scheme::explicit_steps, step, {end});
    const std::vector<double> v = v_of(found, 0, wave.grid.columns);
    if (k == finest) {
      reference = v;
    } else if (k < finest - 1) {  // the next to finest lies too near the reference
      errors.x.push_back(wave.grid.spacing);
      errors.y.push_back(root_mean_square(v, reference));
    }
  }
  return {
      3,
      fmt::format("Explicit: error against the spacing at t = 0.91, reference {:.4g}, step {:.3g}", least, step),
      "spacing",
      "root mean square error",
      true,
      {errors, line_of_order("the article: order 2", 2, errors)},
      {{"fitted order", fitted_order(errors), "2"}},
      "The article's caption has spacing and step exchanged (reference spacing 0.000045, step 0.0098): as printed no "
      "explicit step could be stable."};
}

figure explicit_error_of_step(const setting& how) {
  const double least = how.quick ? 0.00184 : 0.00023;
  const rd::problem wave = source_axon();
  const std::vector<double> times = {5, 10, 20};
  const auto exact = run(how, wave, rd::impulse(wave.grid), rd::scheme::explicit_steps, least, times);
  figure out{4,      fmt::format("Explicit: error against the step, reference {}", least),
             "step", "root mean square error",
             true,   {},
             {},     {}};
  for (const double time : times) out.curves.push_back({fmt::format("t = {}", time), {}, {}});
  for (double step = 0.1; step > 8 * least; step /= 2) {
    const auto found = run(how, wave, rd::impulse(wave.grid), rd::scheme::explicit_steps, step, times);
    for (std::size_t t = 0; t < times.size(); ++t) {
      out.curves[t].x.push_back(step);
      out.curves[t].y.push_back(root_mean_square(v_of(found, t, wave.grid.columns), v_of(exact, t, wave.grid.columns)));
    }
  }
  for (const curve& errors : std::vector<curve>(out.curves)) {
    out.values.push_back({"fitted order at " + errors.name, fitted_order(errors), "1, whatever the time"});
  }
  out.curves.push_back(line_of_order("the article: order 1", 1, out.curves.front()));
  return out;
}

}  // namespace

void add_explicit_figures(const setting& how, std::vector<figure>& to) {
  to.push_back(axon_with_input(how));
  to.push_back(splitting_impulse(how));
  to.push_back(explicit_error_of_spacing(how));
  to.push_back(explicit_error_of_step(how));
}

}  // namespace shoal::app::wave_study
