// The figures of the article that these waves come from (2016), run again: what they showed, what is measured here, and
// what its puzzles were.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <shoal/core/progress.hpp>
#include <shoal/reaction_diffusion/reaction_diffusion.hpp>

namespace shoal::app::wave_study {

namespace rd = reaction_diffusion;

/// One line of a figure.
struct curve {
  std::string name;
  std::vector<double> x;
  std::vector<double> y;
  bool of_source = false;  ///< what the article says, drawn dashed
};

/// A number of the article beside the one that is measured.
struct value {
  std::string name;
  double measured = std::numeric_limits<double>::quiet_NaN();  ///< not a number: none
  std::string source;                                          ///< what the article says; empty: nothing
};

struct figure {
  int number = 0;  ///< in the article
  std::string title;
  std::string x_label, y_label;
  bool logarithmic = false;  ///< both axes
  std::vector<curve> curves;
  std::vector<value> values;
  std::string note;  ///< what the article made of it, and why
};

struct setting {
  bool quick = false;
  std::size_t threads = 1;
  const shoal::control* control = nullptr;
};

/// Each adds its figures in the article's order.
void add_explicit_figures(const setting& how, std::vector<figure>& to);  // 1 to 4
void add_explicit_times(const setting& how, std::vector<figure>& to);    // 5 and 6
void add_adaptive_figures(const setting& how, std::vector<figure>& to);  // 7 and 8
void add_implicit_errors(const setting& how, std::vector<figure>& to);   // 9 and 10
void add_implicit_newton(const setting& how, std::vector<figure>& to);   // 11 and 12
void add_implicit_times(const setting& how, std::vector<figure>& to);    // 13 and 14

/// Writes the page.
void write_report(const std::vector<figure>& figures, const std::vector<std::pair<std::string, std::string>>& facts,
                  const std::string& path);

/// The article's axon: a = 0.01, γ = 2, ε = 0.01, 200 long, without flux.
rd::problem source_axon(double spacing = 0.5);

/// A run by a scheme with a fixed step.
rd::result<double> run(const setting& how, const rd::problem& wave, const rd::initial_state& begin, rd::scheme scheme,
                       double step, std::vector<double> times, rd::source_end_rows rows = rd::source_end_rows::printed);

/// v of a state that was kept.
std::vector<double> v_of(const rd::result<double>& found, std::size_t time, std::size_t nodes);

/// Root mean square of the difference at the nodes of the coarser one; the finer one has a whole number of nodes for
/// each.
double root_mean_square(const std::vector<double>& coarse, const std::vector<double>& fine);

/// The slope of log y over log x by least squares.
double fitted_order(const curve& errors);

/// A dashed line of this order through the last point of another.
curve line_of_order(const std::string& name, double order, const curve& through);

}  // namespace shoal::app::wave_study
