// Figures 7 and 8: the oscillation that the adaptive scheme removed, and the nodes that it saves.
#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include <shoal/execution/executor.hpp>
#include <shoal/reaction_diffusion/adaptive.hpp>
#include <shoal/reaction_diffusion/explicit_steps.hpp>

#include "wave/study/study.hpp"

namespace shoal::app::wave_study {
namespace {

// The part of v that changes its sign from node to node.
double oscillation(const double* v, std::size_t nodes) {
  double largest = 0;
  for (std::size_t i = 2; i + 2 < nodes; ++i) {
    const double part = std::abs(v[i - 2] - 4 * v[i - 1] + 6 * v[i] - 4 * v[i + 1] + v[i + 2]) / 16;
    largest = part <= largest ? largest : part;  // a not-a-number stays
  }
  return largest;
}

// Of a run whose step may lie above the bound, which the library refuses.
double oscillation_after(rd::stepper<double>& steps, const rd::problem& wave, double time) {
  const rd::initial_state begin = rd::impulse(wave.grid);
  rd::state<double> now;
  now.v.grow(wave.grid.columns);
  now.w.grow(wave.grid.columns);
  std::copy(begin.v.begin(), begin.v.end(), now.v.data());
  std::copy(begin.w.begin(), begin.w.end(), now.w.data());
  while (now.time < time) steps.advance(now, {0, time}, 1000);
  return oscillation(now.v.data(), wave.grid.columns);
}

figure removed_oscillation() {
  rd::problem wave = source_axon();
  wave.parameters.epsilon = 0;
  const double bound = rd::longest_explicit_step(wave), of_source = wave.grid.spacing * wave.grid.spacing / 2;
  figure out{
      7, "What oscillates from node to node as v settles at 1", "step over its bound", "amplitude", false, {}, {}, {}};
  const auto executor = make_executor(1);
  for (const double time : {60.11, 90.12, 120.11}) {
    curve line{fmt::format("explicit, t = {}", time), {}, {}};
    for (const double ratio : {0.9, 0.95, 0.99, 1.0, 1.002, 1.004, 1.008, 1.012, 1.02}) {
      const auto steps = rd::make_explicit_steps<double>(wave, ratio * bound, *executor);
      line.x.push_back(ratio);
      line.y.push_back(oscillation_after(*steps, wave, time));
    }
    out.curves.push_back(line);
  }
  curve adaptive{"adaptive, t = 120.11", {}, {}};
  for (const double ratio : {0.9, 0.95, 0.99, 1.0, 1.002, 1.004, 1.008, 1.012, 1.02}) {
    const auto steps = rd::make_adaptive<double>(wave, {}, ratio * bound);
    adaptive.x.push_back(ratio);
    adaptive.y.push_back(oscillation_after(*steps, wave, 120.11));
  }
  out.values = {{"explicit at 0.99 of the bound, t = 120.11", out.curves[2].y[2], ""},
                {"explicit at 1.02 of the bound, t = 120.11", out.curves[2].y.back(), "oscillates"},
                {"adaptive at 1.02 of the bound, t = 120.11", adaptive.y.back(), "does not"},
                {"step that the article allows over the bound", of_source / bound, "1"}};
  out.curves.push_back(adaptive);
  out.note =
      "The article bounds the step by the differences alone, half of spacing squared. Near v = 1 the reaction adds "
      "1 - a to the rate of decay, so that steps between the true bound and the article's let a wave from node to node "
      "grow, where nothing else happens. The adaptive scheme uses every eighth node there, for which the step is "
      "short.";
  return out;
}

figure saved_nodes(const setting& how) {
  const rd::problem wave = source_axon();
  const std::vector<double> times = {15.06, 30.13, 45.05, 60.12, 75.05, 90.11, 243};
  const rd::initial_state begin = rd::impulse(wave.grid);
  const auto fixed = run(how, wave, begin, rd::scheme::explicit_steps, 0.1, times);
  const auto found = run(how, wave, begin, rd::scheme::adaptive, 0.1, times);
  const std::size_t nodes = wave.grid.columns, shown = 3;
  curve line{"explicit, t = 60.12", {}, v_of(fixed, shown, nodes)}, used{"adaptive, nodes in use", {}, {}};
  for (std::size_t i = 0; i < nodes; ++i) line.x.push_back(static_cast<double>(i) * wave.grid.spacing);
  const std::vector<double> v = v_of(found, shown, nodes);
  for (const std::size_t place : found.nodes_in_use[shown]) {
    used.x.push_back(static_cast<double>(place) * wave.grid.spacing);
    used.y.push_back(v[place]);
  }
  figure out{8, "The nodes that the adaptive scheme uses on the impulse", "x", "v", false, {line, used}, {}, {}};
  for (std::size_t t = 0; t + 1 < times.size(); ++t) {
    out.values.push_back({fmt::format("nodes over nodes in use, t = {}", times[t]),
                          static_cast<double>(nodes) / static_cast<double>(found.nodes_in_use[t].size()), "2 to 3"});
  }
  out.values.push_back(
      {"the same, mean to t = 243", static_cast<double>(nodes) / found.mean_nodes, "2 to 3 (at the times shown)"});
  out.values.push_back({"root mean square difference of the two at t = 60.12",
                        root_mean_square(v, v_of(fixed, shown, nodes)), "no loss of quality"});
  out.note =
      "Every eighth node where nothing happens, every fourth where v is steep, every second where it changes, all "
      "of them within 2 of an inflection point.";
  return out;
}

}  // namespace

void add_adaptive_figures(const setting& how, std::vector<figure>& to) {
  to.push_back(removed_oscillation());
  to.push_back(saved_nodes(how));
}

}  // namespace shoal::app::wave_study
