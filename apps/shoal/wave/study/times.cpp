// Figures 5, 6, 13 and 14: times of steps and of solvers on the host.
#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include <shoal/reaction_diffusion/tridiagonal/tridiagonal.hpp>

#include "wave/study/study.hpp"

namespace shoal::app::wave_study {
namespace {

using clock = std::chrono::steady_clock;

constexpr const char* on_the_host =
    " The times here are of the host; those of GPUs are measured by the bench, since a study must run where there is "
    "none.";

// The least time of a few calls.
template <class Work>
double seconds_of(std::size_t calls, const Work& work) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < calls; ++i) {
    const clock::time_point start = clock::now();
    work();
    least = std::min(least, std::chrono::duration<double>(clock::now() - start).count());
  }
  return least;
}

std::vector<std::size_t> sizes(const setting& how, int least, int most) {
  std::vector<std::size_t> found;
  for (int power = least; power <= (how.quick ? std::min(most, least + 2) : most); power += 2) {
    found.push_back(std::size_t{1} << power);
  }
  return found;
}

rd::problem long_axon(std::size_t nodes) {
  rd::problem wave = source_axon();
  wave.grid.columns = nodes;
  return wave;
}

}  // namespace

void add_explicit_times(const setting& how, std::vector<figure>& to) {
  curve whole{"with memory and states out", {}, {}}, core{"core loop", {}, {}};
  for (const std::size_t nodes : sizes(how, 10, 22)) {
    const rd::problem wave = long_axon(nodes);
    const rd::initial_state begin = rd::impulse(wave.grid);
    const double step = 0.1;
    whole.x.push_back(static_cast<double>(nodes));
    whole.y.push_back(seconds_of(3, [&] { run(how, wave, begin, rd::scheme::explicit_steps, step, {0, step}); }));
    const std::size_t steps = 64;
    core.x.push_back(static_cast<double>(nodes));
    core.y.push_back(
        seconds_of(
            3, [&] { run(how, wave, begin, rd::scheme::explicit_steps, step, {static_cast<double>(steps) * step}); }) /
        static_cast<double>(steps));
  }
  const double share = core.y.back() / whole.y.back();
  to.push_back(
      {5,
       "Explicit: seconds of one step with memory and states out",
       "nodes",
       "seconds",
       true,
       {whole, core},
       {{"core loop in the whole, of the most nodes", share, "0.037 on its CPU, 0.149 on its GPU at 2^24"},
        {"GPU over CPU without transfers", std::numeric_limits<double>::quiet_NaN(), "73 times at 2^24"}},
       std::string("A step alone is a small part of a call that takes memory, computes one step and copies the "
                   "states out, as in the article.") +
           on_the_host});
  to.push_back(
      {6,
       "Explicit: seconds of one step in the core loop",
       "nodes",
       "seconds",
       true,
       {core, line_of_order("in proportion to the nodes", 1, core)},
       {{"nanoseconds a node and step", 1e9 * core.y.back() / core.x.back(), ""},
        {"GPU over CPU", std::numeric_limits<double>::quiet_NaN(), "18 times at 2^24"}},
       std::string("Steps are blocked in time, up to 32 a pass over memory, so that a step takes less than one "
                   "pass would.") +
           on_the_host});
}

void add_implicit_times(const setting& how, std::vector<figure>& to) {
  figure steps{13,
               "Implicit: seconds of one step",
               "nodes",
               "seconds",
               true,
               {{"source-2016, Thomas", {}, {}}, {"crank-nicolson, partition", {}, {}}},
               {{"cyclic reduction over Thomas on its CPU", std::numeric_limits<double>::quiet_NaN(),
                 "equally fast; no gain by its GPU"}},
               {}};
  for (const std::size_t nodes : sizes(how, 10, 18)) {
    const rd::problem wave = long_axon(nodes);
    const rd::initial_state begin = rd::impulse(wave.grid);
    const rd::scheme schemes[] = {rd::scheme::source_2016, rd::scheme::crank_nicolson};
    for (std::size_t s = 0; s < 2; ++s) {
      steps.curves[s].x.push_back(static_cast<double>(nodes));
      steps.curves[s].y.push_back(seconds_of(2, [&] { run(how, wave, begin, schemes[s], 0.1, {1}); }) / 10);
    }
  }
  steps.values.push_back(
      {"crank-nicolson over source-2016, of the most nodes", steps.curves[0].y.back() / steps.curves[1].y.back(), ""});
  steps.note = std::string("Ten steps with Newton's method to 1e-12.") + on_the_host;

  using rd::tridiagonal::method;
  const std::pair<const char*, method> methods[] = {{"Thomas", method::thomas},
                                                    {"cyclic reduction", method::cyclic_reduction},
                                                    {"parallel cyclic reduction", method::parallel_cyclic_reduction},
                                                    {"partition", method::partition}};
  figure solvers{14, "Seconds of one Jacobian's solution", "rows", "seconds", true, {}, {}, {}};
  for (const auto& [name, by] : methods) {
    curve line{name, {}, {}};
    for (const std::size_t rows : sizes(how, 10, 22)) {
      const std::vector<double> beside(rows, -0.5), diagonal(rows, 2.2), right(rows, 1);
      std::vector<double> solution(rows);
      line.x.push_back(static_cast<double>(rows));
      line.y.push_back(seconds_of(3, [&] {
        rd::tridiagonal::solve({beside.data(), diagonal.data(), beside.data(), right.data(), rows}, solution.data(), by,
                               how.threads);
      }));
    }
    solvers.curves.push_back(line);
  }
  solvers.values = {
      {"cyclic reduction: Thomas's time over its own", solvers.curves[0].y.back() / solvers.curves[1].y.back(),
       "1 on its CPU, 4 to 5 on its GPU"},
      {"partition: Thomas's time over its own", solvers.curves[0].y.back() / solvers.curves[3].y.back(), ""}};
  solvers.note =
      std::string("Cyclic reduction strides through memory; the partition method reads it in order, twice.") +
      on_the_host;
  to.push_back(std::move(steps));
  to.push_back(std::move(solvers));
}

}  // namespace shoal::app::wave_study
