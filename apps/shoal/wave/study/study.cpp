#include "wave/study/study.hpp"

#include <cmath>

namespace shoal::app::wave_study {

rd::problem source_axon(double spacing) {
  rd::problem wave;
  wave.parameters = {.a = 0.01, .gamma = 2, .epsilon = 0.01};
  wave.grid = {1, static_cast<std::size_t>(std::lround(200 / spacing)) + 1, spacing};
  return wave;
}

rd::result<double> run(const setting& how, const rd::problem& wave, const rd::initial_state& begin, rd::scheme scheme,
                       double step, std::vector<double> times, rd::source_end_rows rows) {
  rd::options options;
  options.scheme = scheme;
  options.step = step;
  options.times = std::move(times);
  options.end_rows = rows;
  options.threads = how.threads;
  return rd::solve<double>(wave, begin, options, {}, *how.control);
}

std::vector<double> v_of(const rd::result<double>& found, std::size_t time, std::size_t nodes) {
  const auto begin = found.states.begin() + static_cast<std::ptrdiff_t>(2 * nodes * time);
  return {begin, begin + static_cast<std::ptrdiff_t>(nodes)};
}

double root_mean_square(const std::vector<double>& coarse, const std::vector<double>& fine) {
  const std::size_t stride = (fine.size() - 1) / (coarse.size() - 1);
  double sum = 0;
  for (std::size_t i = 0; i < coarse.size(); ++i) sum += std::pow(coarse[i] - fine[i * stride], 2);
  return std::sqrt(sum / static_cast<double>(coarse.size()));
}

double fitted_order(const curve& errors) {
  double x = 0, y = 0, xx = 0, xy = 0, count = 0;
  for (std::size_t i = 0; i < errors.x.size(); ++i) {
    const double at = std::log(errors.x[i]), error = std::log(errors.y[i]);
    if (!std::isfinite(error)) continue;
    x += at, y += error, xx += at * at, xy += at * error, ++count;
  }
  return (count * xy - x * y) / (count * xx - x * x);
}

curve line_of_order(const std::string& name, double order, const curve& through) {
  curve line{name, through.x, {}, true};
  for (const double x : through.x) line.y.push_back(through.y.back() * std::pow(x / through.x.back(), order));
  return line;
}

}  // namespace shoal::app::wave_study
