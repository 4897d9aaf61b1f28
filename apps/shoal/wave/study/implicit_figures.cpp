// Figures 9 to 12: errors, stability and Newton's method of the article's implicit scheme, beside sound ones.
#include <algorithm>
#include <cmath>
#include <tuple>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/random/stream.hpp>
#include <shoal/reaction_diffusion/source_2016.hpp>

#include "wave/study/study.hpp"

namespace shoal::app::wave_study {
namespace {

// Errors against the finest of spacings that halve from `widest`, `count` of them.
template <class Begin>
curve errors_of_spacing(const setting& how, const std::string& name, double length, double widest, int count,
                        double step, double time, rd::scheme scheme, double a, const Begin& begin) {
  std::vector<std::vector<double>> found;
  curve errors{name, {}, {}};
  for (int k = 0; k < count; ++k) {
    rd::problem wave;
    wave.parameters = {.a = a, .gamma = 2, .epsilon = a < 0.05 ? 0.01 : 0};
    const double spacing = widest / (1 << k);
    wave.grid = {1, static_cast<std::size_t>(std::lround(length / spacing)) + 1, spacing};
    // With the right Jacobian: what is found is the same, and steps of any length are solved.
    found.push_back(
        v_of(run(how, wave, begin(wave), scheme, step, {time}, rd::source_end_rows::derivative), 0, wave.grid.columns));
    errors.x.push_back(spacing);
  }
  errors.x.resize(errors.x.size() - 2);  // the last but one lies too near the reference
  for (std::size_t k = 0; k < errors.x.size(); ++k) errors.y.push_back(root_mean_square(found[k], found.back()));
  return errors;
}

rd::initial_state box(const rd::problem& wave) {
  rd::initial_state begin = rd::rest(wave.grid);
  for (std::size_t i = 0; i < begin.v.size(); ++i) {
    const double x = static_cast<double>(i) * wave.grid.spacing;
    if (x >= 92.5 && x <= 107.5) begin.v[i] = 1;
  }
  return begin;
}

figure implicit_error_of_spacing(const setting& how) {
  const double step = how.quick ? 0.0051 : 0.00051;
  const int count = how.quick ? 4 : 6;
  const auto impulse = [](const rd::problem& wave) { return rd::impulse(wave.grid); };
  const auto front = [](const rd::problem& wave) { return rd::front(wave.grid, wave.parameters); };
  figure out{9, "Implicit: error against the spacing", "spacing", "root mean square error", true, {}, {}, {}};
  out.curves = {errors_of_spacing(how, "source-2016, impulse far from walls, t = 0.51", 200, 0.5, count, step, 0.51,
                                  rd::scheme::source_2016, 0.01, impulse),
                errors_of_spacing(how, "source-2016, box, t = 0.51", 200, 0.5, count, step, 0.51,
                                  rd::scheme::source_2016, 0.01, box),
                errors_of_spacing(how, "source-2016, a front at a wall, t = 16", 20, 0.4, count, 0.02, 16,
                                  rd::scheme::source_2016, 0.1, front),
                errors_of_spacing(how, "crank-nicolson, a front at a wall, t = 16", 20, 0.4, count, 0.02, 16,
                                  rd::scheme::crank_nicolson, 0.1, front)};
  for (const curve& errors : out.curves) {
    out.values.push_back({"fitted order, " + errors.name, fitted_order(errors),
                          errors.name.starts_with("source-2016, impulse") ? "1, where 2 was expected" : ""});
  }
  out.curves.push_back(line_of_order("the article: order 1", 1, out.curves[2]));
  out.note =
      "The article found the first order and no explanation. Its scheme is of second order where a wave is far from "
      "the "
      "walls. Three things make it one of first order: its rows v0 = v1 are one-sided, with an error of the flux of "
      "half "
      "the spacing times v_xx, as soon as a wave is near a wall (ghost nodes keep the second order there); data with "
      "jumps "
      "that are sampled at nodes; and a reference grid that is compared by index although it is shifted by half a "
      "cell.";
  return out;
}

figure implicit_error_of_step(const setting& how) {
  const rd::problem wave = source_axon(0.52);
  const double time = 8, least = how.quick ? 0.004 : 0.00025;
  struct row {
    const char* name;
    rd::scheme scheme;
    rd::source_end_rows rows;
  };
  const row rows[] = {
      {"source-2016, printed end rows", rd::scheme::source_2016, rd::source_end_rows::printed},
      {"source-2016, end rows of the derivative", rd::scheme::source_2016, rd::source_end_rows::derivative},
      {"crank-nicolson", rd::scheme::crank_nicolson, rd::source_end_rows::printed},
      {"tr-bdf2", rd::scheme::tr_bdf2, rd::source_end_rows::printed}};
  figure out{10,     fmt::format("Implicit: error against the step at t = 8, reference {}", least),
             "step", "root mean square error",
             true,   {},
             {},     {}};
  for (const auto& [name, scheme, end_rows] : rows) {
    const std::vector<double> exact =
        v_of(run(how, wave, rd::impulse(wave.grid), scheme, least, {time}, end_rows), 0, wave.grid.columns);
    curve errors{name, {}, {}};
    for (double step = 0.256; step > 6 * least; step /= 2) {
      errors.x.push_back(step);
      errors.y.push_back(root_mean_square(
          v_of(run(how, wave, rd::impulse(wave.grid), scheme, step, {time}, end_rows), 0, wave.grid.columns), exact));
    }
    out.values.push_back(
        {"fitted order, " + std::string(name), fitted_order(errors), scheme == rd::scheme::source_2016 ? "2" : ""});
    out.curves.push_back(errors);
  }
  out.curves.push_back(line_of_order("the article: order 2", 2, out.curves.front()));
  out.note =
      "All are of second order in time. What the article saw as aberrations of Thomas's method at long steps is its "
      "Newton's method, which the end rows of its Jacobian slow down, whatever solves the systems.";
  return out;
}

// The largest |v| at the end, or not a number where the run failed or blew up.
double largest_v(const setting& how, const rd::problem& wave, const rd::initial_state& begin, rd::scheme scheme,
                 double step, double time, rd::source_end_rows rows) {
  try {
    const auto found = run(how, wave, begin, scheme, step, {time}, rows);
    double largest = 0;
    for (const double v : v_of(found, 0, wave.grid.columns)) largest = std::max(largest, std::abs(v));
    return largest < 10 ? largest : std::numeric_limits<double>::quiet_NaN();
  } catch (const numerical_error&) {
    return std::numeric_limits<double>::quiet_NaN();
  } catch (const bad_argument&) {  // an explicit step above its bound
    return std::numeric_limits<double>::quiet_NaN();
  }
}

figure stability(const setting& how) {
  rd::problem wave = source_axon(0.25);
  wave.parameters.a = 0.1;
  wave.grid.columns = how.quick ? 201 : 801;
  rd::initial_state begin = rd::rest(wave.grid);
  random::stream bits(0, 0);
  for (double& v : begin.v) v = 1 - 1e-6 * bits.uniform();
  struct row {
    const char* name;
    rd::scheme scheme;
    rd::source_end_rows rows;
    const char* source;
  };
  const row rows[] = {
      {"explicit", rd::scheme::explicit_steps, rd::source_end_rows::printed, "0.5 exactly"},
      {"source-2016, printed end rows", rd::scheme::source_2016, rd::source_end_rows::printed, "0.9 (Thomas)"},
      {"source-2016, end rows of the derivative", rd::scheme::source_2016, rd::source_end_rows::derivative,
       "1.05 (cyclic reduction)"},
      {"crank-nicolson", rd::scheme::crank_nicolson, rd::source_end_rows::printed, ""},
      {"tr-bdf2", rd::scheme::tr_bdf2, rd::source_end_rows::printed, ""}};
  const double ratios[] = {0.3, 0.49, 0.5, 0.51, 0.9, 1.05, 2, 4, 8, 16, 32, 64};
  figure out{11,
             "The largest v after 100 units of time, from v = 1 less noise of 1e-6",
             "log2 of step over spacing squared",
             "largest v",
             false,
             {},
             {},
             {}};
  for (const auto& [name, scheme, end_rows, source] : rows) {
    curve line{name, {}, {}};
    double bounded = 0;
    for (const double ratio : ratios) {
      const double step = ratio * wave.grid.spacing * wave.grid.spacing;
      const double v = largest_v(how, wave, begin, scheme, step, 100, end_rows);
      line.x.push_back(std::log2(ratio));
      line.y.push_back(v);
      if (std::isfinite(v)) bounded = ratio;
    }
    out.curves.push_back(line);
    out.values.push_back({std::string("largest bounded step over spacing squared, ") + name, bounded, source});
  }
  out.note =
      "Points that are missing blew up, failed, or were refused. The explicit bound is 2 / (4 / spacing^2 + 1 - a), a "
      "little below one half of spacing squared, since the reaction counts too. The implicit scheme itself has no "
      "limit "
      "near 1, with either end rows, when Newton's method is run to its end; with the printed ones it converges so "
      "slowly "
      "at long steps that it stops after 100 iterations. A limit near 1 is that of a single iteration whose Jacobian "
      "carries half the weight of diffusion, and of the maximum principle, above which data with jumps ring.";
  return out;
}

figure newton(const setting&) {
  figure out{12,          "Newton's method: the largest change by iteration, r = 0.04",
             "iteration", "log10 of the change",
             false,       {},
             {},          {}};
  rd::problem wave;
  wave.grid = {1, 41, 0.5};
  const double r = 0.04, root = (1 + r - std::sqrt(1 + 2 * r)) / r;
  for (const auto& [name, rows, source] :
       {std::tuple{"end rows (1, 1), as printed", rd::source_end_rows::printed, "0.037 times the last (Thomas)"},
        {"end rows (1, -1), the derivative", rd::source_end_rows::derivative,
         "0.17 times its square (cyclic reduction)"}}) {
    rd::source_2016<double> scheme(wave, 0.01, 1e-15, rows);
    rd::state<double> now;
    now.v.grow(41);
    now.w.grow(41);
    for (std::size_t i = 0; i < 41; ++i) {
      now.v[i] = 0.3 + 0.01 * static_cast<double>(i * i) / 40;  // steep at the last wall
      now.w[i] = 0;
    }
    scheme.advance(now, {0, 0.01}, 1);
    curve line{name, {}, {}};
    for (std::size_t i = 0; i < scheme.changes().size(); ++i) {
      line.x.push_back(static_cast<double>(i + 1));
      line.y.push_back(std::log10(scheme.changes()[i]));
    }
    const std::vector<double>& changes = scheme.changes();
    const bool printed = rows == rd::source_end_rows::printed;
    out.values.push_back(
        {std::string(printed ? "fourth change over the third, " : "second change over the square of the first, ") +
             name,
         printed ? changes[3] / changes[2] : changes[1] / (changes[0] * changes[0]), source});
    out.curves.push_back(line);
  }
  out.values.push_back({"2 rho / (1 + rho), which the printed rows give", 2 * root / (1 + root), ""});
  curve linear{"the article: 0.037 an iteration", out.curves[0].x, {}, true};
  for (const double i : linear.x) linear.y.push_back(out.curves[0].y[2] + (i - 3) * std::log10(0.037));
  out.curves.push_back(linear);
  out.note =
      "The article took the solver for the cause. It is the Jacobian: v0 = v1 has the derivative (1, -1), and with the "
      "printed (1, 1) Newton's method converges linearly, by 2 rho / (1 + rho) with rho = (1 + r - sqrt(1 + 2 r)) / r. "
      "A "
      "Jacobian that agrees with finite differences makes all solvers agree.";
  return out;
}

}  // namespace

void add_implicit_errors(const setting& how, std::vector<figure>& to) {
  to.push_back(implicit_error_of_spacing(how));
  to.push_back(implicit_error_of_step(how));
}

void add_implicit_newton(const setting& how, std::vector<figure>& to) {
  to.push_back(stability(how));
  to.push_back(newton(how));
}

}  // namespace shoal::app::wave_study
