// Seconds that an iteration takes, for one cell of the grid of bench/grid.py after the other, in one process.
// grid_cells DEVICE [SECONDS [THREADS]]
//
// Each line of standard input is a cell: FAMILY TYPE SCALAR PRECISION ROWS COLUMNS COMPONENTS [clusters], such as
// "gmm full float32 tf32 1000000 16 10"; TYPE is "-" where a family has none. Each is answered by one line of JSON.
// Rows are uniform, so that every component takes part of every row. With the word clusters, of mixtures only, they lie
// in normal clusters .7 apart, where the fit starts: of many columns few components share a row, and lists save work.
// A figure is the median over three pairs of a long fit and a short one: their difference in time over that in
// iterations. Where the fits take many times the seconds that they are to take (0.2 if not given) there is one pair.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/device_choice.hpp>
#include <shoal/gmm/fit.hpp>
#include <shoal/kmeans/fit.hpp>
#include <shoal/som/fit.hpp>

#include "grid_rows.hpp"

namespace {

struct cell {
  std::string family, type, scalar, precision;
  std::size_t rows = 0, columns = 0, components = 0;
  bool clusters = false;
};

struct loop {
  double seconds;
  std::size_t iterations;
};

constexpr std::size_t short_iterations = 2, most_iterations = 1000, most_pairs = 3;
constexpr double long_budgets = 5;

std::vector<double> places(const cell& c, double spread) {
  std::vector<double> found(c.components * c.columns);
  for (std::size_t i = 0; i < found.size(); ++i) found[i] = spread * grid::value_at(i, 2);
  return found;
}

template <class Scalar>
loop fit_mixture(const cell& c, const shoal::device_choice& device, std::size_t threads, std::size_t iterations) {
  using shoal::gmm::covariance_type;
  shoal::gmm::options options;
  options.components = c.components;
  options.covariance_type = c.type == "full"   ? covariance_type::full
                            : c.type == "tied" ? covariance_type::tied
                            : c.type == "diag" ? covariance_type::diag
                                               : covariance_type::spherical;
  options.init = shoal::gmm::initialization::model;
  shoal::gmm::model& start = options.start;
  start.covariance_type = options.covariance_type;
  start.components = c.components;
  start.columns = c.columns;
  start.weights.assign(c.components, 1 / static_cast<double>(c.components));
  start.means = places(c, 0.5);
  if (c.clusters) {
    for (std::size_t i = 0; i < start.means.size(); ++i) start.means[i] = grid::clusters::center_at(i);
  }
  start.covariances.assign(shoal::gmm::covariance_size(start.covariance_type, c.components, c.columns), 0.0);
  // That of a cluster, or of all uniform rows: every component takes part of every row, as EM begins.
  const double variance = c.clusters ? 1 : 1.0 / 3;
  const bool matrices = c.type == "full" || c.type == "tied";
  const std::size_t step = matrices ? c.columns + 1 : 1, size = matrices ? c.columns * c.columns : 1;
  for (std::size_t first = 0; first < start.covariances.size(); first += size) {
    for (std::size_t i = 0; i < size; i += step) start.covariances[first + i] = variance;
  }
  options.max_iterations = iterations;
  options.tolerance = 0;
  options.regularization = 1e-3;
  options.device = device;
  options.threads = threads;
  const grid::clusters kind = c.clusters ? grid::clusters{c.columns, c.components} : grid::clusters{};
  const auto result = shoal::gmm::fit(*grid::rows<Scalar>(device, c.rows, c.columns, kind), options);
  return {result.loop_seconds, result.loop_iterations};
}

template <class Scalar>
loop fit_kmeans(const cell& c, const shoal::device_choice& device, std::size_t threads, std::size_t iterations) {
  shoal::kmeans::options options;
  options.clusters = c.components;
  options.init = shoal::kmeans::seeding::centroids;
  const auto& values = grid::values<Scalar>(c.rows * c.columns);
  for (std::size_t k = 0; k < c.components; ++k) {
    const Scalar* const row = values.data() + k * (c.rows / c.components) * c.columns;
    options.centroids.insert(options.centroids.end(), row, row + c.columns);
  }
  options.max_iterations = iterations;
  options.tolerance = 0;
  options.device = device;
  options.threads = threads;
  const auto result = shoal::kmeans::fit(*grid::rows<Scalar>(device, c.rows, c.columns), options);
  return {result.loop_seconds, result.loop_iterations};
}

template <class Scalar>
loop fit_map(const cell& c, const shoal::device_choice& device, std::size_t threads, std::size_t iterations) {
  shoal::som::options options;
  // As near to a square as the number of units allows.
  options.height = 1;
  for (std::size_t side = 1; side * side <= c.components; ++side) {
    if (c.components % side == 0) options.height = side;
  }
  options.width = c.components / options.height;
  const double radius = std::max(1.0, static_cast<double>(options.height) / 4);
  options.radius = shoal::som::range{radius, radius};
  options.init = shoal::som::initialization::codebook;
  options.codebook = places(c, 1);
  options.epochs = iterations;
  options.device = device;
  options.threads = threads;
  const auto result = shoal::som::fit(*grid::rows<Scalar>(device, c.rows, c.columns), options);
  return {result.loop_seconds, result.loop_epochs};
}

template <class Scalar>
loop fit(const cell& c, const shoal::device_choice& device, std::size_t threads, std::size_t iterations) {
  if (c.family == "gmm") return fit_mixture<Scalar>(c, device, threads, iterations);
  if (c.family == "kmeans") return fit_kmeans<Scalar>(c, device, threads, iterations);
  return fit_map<Scalar>(c, device, threads, iterations);
}

std::string measure(const cell& c, shoal::device_choice device, std::size_t threads, double budget) {
  device.precision = c.precision == "tf32"   ? shoal::precision::tf32
                     : c.precision == "bf16" ? shoal::precision::bf16
                                             : shoal::precision::float32;
  const auto run = [&](std::size_t iterations) {
    return c.scalar == "float32" ? fit<float>(c, device, threads, iterations)
                                 : fit<double>(c, device, threads, iterations);
  };
  run(short_iterations);  // what is made once, and the caches
  loop brief = run(short_iterations);
  const double guess = std::max(brief.seconds / static_cast<double>(brief.iterations), 1e-6);
  const auto more = static_cast<std::size_t>(std::clamp(budget / guess, 3.0, static_cast<double>(most_iterations)));
  const std::size_t pairs = guess * static_cast<double>(more) > long_budgets * budget ? 1 : most_pairs;
  std::vector<double> found;
  std::size_t iterations = 0;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    if (pair > 0) brief = run(short_iterations);
    const loop lengthy = run(short_iterations + more);
    iterations = lengthy.iterations;
    if (lengthy.iterations > brief.iterations) {
      found.push_back((lengthy.seconds - brief.seconds) / static_cast<double>(lengthy.iterations - brief.iterations));
    } else {  // nothing moved any more: all that there is to time is the fit from its start
      found.push_back(lengthy.seconds / static_cast<double>(lengthy.iterations));
    }
  }
  std::sort(found.begin(), found.end());
  return fmt::format("{{\"seconds\": {:.6g}, \"least\": {:.6g}, \"most\": {:.6g}, \"iterations\": {}}}",
                     found[found.size() / 2], found.front(), found.back(), iterations);
}

// A message as the contents of a JSON string.
std::string quoted(const std::string& message) {
  std::string text;
  for (const char letter : message) {
    if (letter == '"' || letter == '\\') text += '\\';
    text += static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
  }
  return text;
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    std::fputs("usage: grid_cells DEVICE [SECONDS [THREADS]] < CELLS\n", stderr);
    return 2;
  }
  const double budget = count > 2 ? std::strtod(words[2], nullptr) : 0.2;
  const std::size_t threads = count > 3 ? std::strtoull(words[3], nullptr, 10) : 0;
  std::string line;
  try {
    const shoal::device_choice device = shoal::choose_device(words[1]);
    while (std::getline(std::cin, line)) {
      cell c;
      std::istringstream text(line);
      if (!(text >> c.family >> c.type >> c.scalar >> c.precision >> c.rows >> c.columns >> c.components)) {
        std::fprintf(stderr, "grid_cells: a cell is FAMILY TYPE SCALAR PRECISION ROWS COLUMNS COMPONENTS; got '%s'\n",
                     line.c_str());
        return 2;
      }
      std::string word, more;
      c.clusters = static_cast<bool>(text >> word);
      if (c.clusters && (c.family != "gmm" || word != "clusters" || text >> more)) {
        std::fprintf(stderr, "grid_cells: only the word clusters may follow a cell, and only one of gmm; got '%s'\n",
                     line.c_str());
        return 2;
      }
      std::string answer;
      try {
        answer = measure(c, device, threads, budget);
      } catch (const shoal::error& failure) {
        answer = fmt::format("{{\"failure\": \"{}\"}}", quoted(failure.what()));
      }
      std::puts(answer.c_str());
      std::fflush(stdout);
    }
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "grid_cells: %s\n", failure.what());
    return 1;
  }
}
