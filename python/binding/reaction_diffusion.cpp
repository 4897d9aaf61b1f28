// FitzHugh–Nagumo waves for Python.
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <shoal/core/error.hpp>
#include <shoal/reaction_diffusion/reaction_diffusion.hpp>

#include "module.hpp"
#include "running.hpp"

namespace shoal::python {
namespace {

namespace rd = reaction_diffusion;

template <class Value>
using words = std::initializer_list<std::pair<const char*, Value>>;

template <class Value>
Value named(const char* parameter, const std::string& name, words<Value> all) {
  std::string known;
  for (const auto& [word, value] : all) {
    if (name == word) return value;
    known += (known.empty() ? "" : ", ") + std::string(word);
  }
  throw bad_argument(std::string(parameter) + " must be one of " + known + "; got '" + name + "'");
}

rd::scheme scheme_named(const std::string& name) {
  return named<rd::scheme>("scheme", name,
                           {{"explicit", rd::scheme::explicit_steps},
                            {"adaptive", rd::scheme::adaptive},
                            {"crank-nicolson", rd::scheme::crank_nicolson},
                            {"pieces", rd::scheme::pieces},
                            {"tr-bdf2", rd::scheme::tr_bdf2},
                            {"source-2016", rd::scheme::source_2016}});
}

rd::boundary boundary_named(const std::string& name) {
  return named<rd::boundary>("boundary", name,
                             {{"no-flux", rd::boundary::no_flux},
                              {"input", rd::boundary::input},
                              {"periodic-input", rd::boundary::periodic_input},
                              {"periodic", rd::boundary::periodic}});
}

rd::second_differences differences_named(const std::string& name) {
  return named<rd::second_differences>("differences", name,
                                       {{"three-point", rd::second_differences::three_point},
                                        {"five-point", rd::second_differences::five_point},
                                        {"spline", rd::second_differences::spline}});
}

rd::noise_kind noise_named(const std::string& name) {
  return named<rd::noise_kind>(
      "noise_kind", name, {{"additive", rd::noise_kind::additive}, {"multiplicative", rd::noise_kind::multiplicative}});
}

// Coefficients that differ from node to node, by name.
rd::coefficient_fields fields_of(const nb::dict& given) {
  const auto field = [&](const char* name) {
    return given.contains(name) ? copied(nb::cast<numbers>(given[name])) : std::vector<double>();
  };
  return {field("a"), field("gamma"), field("epsilon"), field("diffusion")};
}

rd::initial_state state_named(const std::string& name, const rd::problem& wave) {
  using maker = rd::initial_state (*)(const rd::problem&);
  return named<maker>("v", name,
                      {{"rest", [](const rd::problem& of) { return rd::rest(of.grid); }},
                       {"impulse", [](const rd::problem& of) { return rd::impulse(of.grid); }},
                       {"front", [](const rd::problem& of) { return rd::front(of.grid, of.parameters); }},
                       {"broken-front", [](const rd::problem& of) { return rd::broken_front(of.grid); }}})(wave);
}

// [times][2][rows][columns], without the rows of an axon.
template <class Scalar>
nb::object states_of(rd::result<Scalar>& found, const rd::grid& grid) {
  using held_states = aligned_vector<Scalar>;
  auto* const held = new held_states(std::move(found.states));
  const nb::capsule owner(held, [](void* memory) noexcept { delete static_cast<held_states*>(memory); });
  std::vector<std::size_t> shape = {found.times.size(), 2};
  if (grid.rows > 1) shape.push_back(grid.rows);
  shape.push_back(grid.columns);
  return nb::cast(nb::ndarray<nb::numpy, Scalar>(held->data(), shape.size(), shape.data(), owner));
}

template <class Scalar>
nb::dict solve(const rd::problem& wave, const rd::initial_state& begin, const rd::options& how, bool brief,
               const nb::object& report) {
  rd::result<Scalar> found;
  run_with_python(report, brief,
                  [&](const control& control) { found = rd::solve<Scalar>(wave, begin, how, {}, control); });
  nb::dict made;
  const std::optional<double> speed = rd::wave_speed(found, wave.grid);
  made["wave_speed"] = speed ? nb::cast(*speed) : nb::none();
  made["steps"] = found.steps;
  made["refused_steps"] = found.refused_steps;
  made["newton_iterations"] = found.newton_iterations;
  made["mean_nodes"] = found.mean_nodes;
  made["seconds"] = found.seconds;
  made["states"] = states_of(found, wave.grid);
  return made;
}

}  // namespace

const add_family added([](nb::module_& module) {
  module.def(
      "reaction_diffusion_state",
      [](const std::string& name, std::size_t rows, std::size_t columns, double spacing, double diffusion) {
        rd::problem wave;
        wave.grid = {rows, columns, spacing};
        wave.parameters.diffusion = diffusion;
        rd::initial_state begin = state_named(name, wave);
        return std::pair(array_of(std::move(begin.v), {rows, columns}), array_of(std::move(begin.w), {rows, columns}));
      },
      nb::arg("name"), nb::kw_only(), nb::arg("rows"), nb::arg("columns"), nb::arg("spacing"), nb::arg("diffusion"),
      "v and w at time 0, [rows][columns] each.");
  module.def(
      "reaction_diffusion_solve",
      [](const numbers& v, const numbers& w, std::size_t rows, std::size_t columns, double spacing,
         const nb::dict& fields, double a, double gamma, double epsilon, double diffusion, double recovery_diffusion,
         const std::string& boundary, double input_level, double input_period, double noise,
         const std::string& noise_kind, std::uint64_t seed, std::optional<double> coupling, const std::string& scheme,
         std::size_t order, double step, double tolerance, double newton_accuracy, std::size_t piece_nodes,
         const std::string& differences, std::vector<double> times, bool float32, const std::string& checkpoint,
         std::size_t threads, const std::string& device, bool brief, const nb::object& report) {
        rd::problem wave;
        wave.parameters = {a, gamma, epsilon, diffusion, recovery_diffusion};
        wave.grid = {rows, columns, spacing};
        wave.boundary = boundary_named(boundary);
        wave.input_level = input_level;
        wave.input_period = input_period;
        wave.fields = fields_of(fields);
        wave.noise = {noise_named(noise_kind), noise, seed};
        wave.coupling = coupling;
        rd::options how;
        how.scheme = scheme_named(scheme);
        how.order = order;
        how.step = step;
        how.tolerance = tolerance;
        how.newton_accuracy = newton_accuracy;
        how.piece_nodes = piece_nodes;
        how.adaptive.differences = differences_named(differences);
        how.times = std::move(times);
        how.threads = threads;
        how.checkpoint = checkpoint;
        how.device = choose_device(device);
        const rd::initial_state begin{copied(v), copied(w)};
        return float32 ? solve<float>(wave, begin, how, brief, report) : solve<double>(wave, begin, how, brief, report);
      },
      nb::arg("v"), nb::arg("w"), nb::kw_only(), nb::arg("rows"), nb::arg("columns"), nb::arg("spacing"),
      nb::arg("fields"), nb::arg("a"), nb::arg("gamma"), nb::arg("epsilon"), nb::arg("diffusion"),
      nb::arg("recovery_diffusion"), nb::arg("boundary"), nb::arg("input_level"), nb::arg("input_period"),
      nb::arg("noise"), nb::arg("noise_kind"), nb::arg("seed"), nb::arg("coupling").none(), nb::arg("scheme"),
      nb::arg("order"), nb::arg("step"), nb::arg("tolerance"), nb::arg("newton_accuracy"), nb::arg("piece_nodes"),
      nb::arg("differences"), nb::arg("times"), nb::arg("float32"), nb::arg("checkpoint"), nb::arg("threads"),
      nb::arg("device"), nb::arg("brief"), nb::arg("report").none(),
      "Computes a wave from v and w at time 0; `states` are [times][2][nodes].");
});

}  // namespace shoal::python
