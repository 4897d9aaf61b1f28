// What every way to choose a first model or first centroids takes, over an iteration of the loop that follows.
// seeding_cells DEVICE [SECONDS] < CELLS
//
// Each line of standard input is a cell: FAMILY TYPE SCALAR ROWS COLUMNS COMPONENTS, such as
// "gmm full float32 1000000 16 10" or "kmeans - float64 1000000 32 4096", and then the starts that are asked for, all
// of the family's if none. Each is answered by one line of JSON: the seconds of an iteration, those of each start, and
// for a mixture that begins with k-means those of the steps of k-means within. A figure is the median of at most three
// runs, after one that is not counted, fewer where they take more than SECONDS (0.2 if not given).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/device_choice.hpp>
#include <shoal/gmm/fit.hpp>
#include <shoal/kmeans/fit.hpp>
#include <shoal/random/stream.hpp>

#include "grid_rows.hpp"

namespace {

struct cell {
  std::string family, type, scalar;
  std::size_t rows = 0, columns = 0, components = 0;
  std::vector<std::string> starts;
};

constexpr std::pair<const char*, shoal::gmm::initialization> mixture_starts[] = {
    {"random_rows", shoal::gmm::initialization::random_rows},
    {"random_responsibilities", shoal::gmm::initialization::random_responsibilities},
    {"plus_plus", shoal::gmm::initialization::plus_plus},
    {"parallel", shoal::gmm::initialization::parallel},
    {"kmeans", shoal::gmm::initialization::kmeans},
    {"kmeans_of_tenth", shoal::gmm::initialization::kmeans_of_tenth},
};
constexpr std::pair<const char*, shoal::kmeans::seeding> centroid_starts[] = {
    {"random_rows", shoal::kmeans::seeding::random_rows},
    {"plus_plus", shoal::kmeans::seeding::plus_plus},
    {"parallel", shoal::kmeans::seeding::parallel},
};

bool wanted(const cell& c, const char* start) {
  return c.starts.empty() || std::find(c.starts.begin(), c.starts.end(), start) != c.starts.end();
}

// The median of run() after one that warms up.
template <class Run>
double median_of(double budget, const Run& run) {
  std::vector<double> found{run()};
  const std::size_t runs = found[0] > 5 * budget ? 0 : (found[0] > budget ? 1 : 3);
  if (runs > 0) found.clear();
  for (std::size_t r = 0; r < runs; ++r) found.push_back(run());
  std::sort(found.begin(), found.end());
  return found[found.size() / 2];
}

// Seconds of an iteration: run(iterations) gives those of a loop, and how many iterations it had.
template <class Run>
double iteration_of(double budget, const Run& run) {
  constexpr std::size_t few = 2;
  run(few);
  const std::pair<double, std::size_t> brief = run(few);
  const double guess = std::max(brief.first / static_cast<double>(brief.second), 1e-6);
  const auto more = static_cast<std::size_t>(std::clamp(budget / guess, 3.0, 300.0));
  const std::pair<double, std::size_t> lengthy = run(few + more);
  if (lengthy.second <= brief.second) return lengthy.first / static_cast<double>(lengthy.second);
  return (lengthy.first - brief.first) / static_cast<double>(lengthy.second - brief.second);
}

shoal::kmeans::options clustering_of(const cell& c, const shoal::device_choice& device) {
  shoal::kmeans::options options;
  options.clusters = c.components;
  options.device = device;
  return options;
}

template <class Scalar>
std::string measure_mixture(const cell& c, const shoal::device_choice& device, double budget) {
  using shoal::gmm::covariance_type;
  const auto rows = grid::rows<Scalar>(device, c.rows, c.columns);
  shoal::gmm::options options;
  options.components = c.components;
  options.covariance_type = c.type == "full"   ? covariance_type::full
                            : c.type == "tied" ? covariance_type::tied
                            : c.type == "diag" ? covariance_type::diag
                                               : covariance_type::spherical;
  options.init = shoal::gmm::initialization::random_rows;
  options.regularization = 1e-3;
  options.tolerance = 0;
  options.device = device;
  const double iteration = iteration_of(budget, [&](std::size_t iterations) {
    options.max_iterations = iterations;
    const auto result = shoal::gmm::fit(*rows, options);
    return std::pair(result.loop_seconds, result.loop_iterations);
  });
  std::string text = fmt::format("\"iteration\": {:.6g}", iteration);
  options.max_iterations = 0;
  for (const auto& [name, start] : mixture_starts) {
    if (!wanted(c, name)) continue;
    options.init = start;
    const double seconds = median_of(budget, [&] { return shoal::gmm::fit(*rows, options).seeding_seconds; });
    text += fmt::format(", \"{}\": {:.6g}", name, seconds);
    if (start != shoal::gmm::initialization::kmeans) continue;
    shoal::kmeans::options clustering = clustering_of(c, device);
    clustering.seed = shoal::random::mix(options.seed, 0);
    text += fmt::format(", \"steps_of_kmeans\": {:.6g}", shoal::kmeans::fit(*rows, clustering).loop_seconds);
  }
  return text;
}

template <class Scalar>
std::string measure_centroids(const cell& c, const shoal::device_choice& device, double budget) {
  const auto rows = grid::rows<Scalar>(device, c.rows, c.columns);
  shoal::kmeans::options options = clustering_of(c, device);
  options.init = shoal::kmeans::seeding::random_rows;
  options.tolerance = 0;
  const double iteration = iteration_of(budget, [&](std::size_t iterations) {
    options.max_iterations = iterations;
    const auto result = shoal::kmeans::fit(*rows, options);
    return std::pair(result.loop_seconds, result.loop_iterations);
  });
  std::string text = fmt::format("\"iteration\": {:.6g}", iteration);
  options.max_iterations = 1;
  for (const auto& [name, start] : centroid_starts) {
    if (!wanted(c, name)) continue;
    options.init = start;
    const double seconds = median_of(budget, [&] { return shoal::kmeans::fit(*rows, options).seeding_seconds; });
    text += fmt::format(", \"{}\": {:.6g}", name, seconds);
  }
  return text;
}

std::string measure(const cell& c, const shoal::device_choice& device, double budget) {
  const bool single = c.scalar == "float32";
  if (c.family == "kmeans") {
    return single ? measure_centroids<float>(c, device, budget) : measure_centroids<double>(c, device, budget);
  }
  return single ? measure_mixture<float>(c, device, budget) : measure_mixture<double>(c, device, budget);
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    std::fputs("usage: seeding_cells DEVICE [SECONDS] < CELLS\n", stderr);
    return 2;
  }
  const double budget = count > 2 ? std::strtod(words[2], nullptr) : 0.2;
  std::string line;
  try {
    const shoal::device_choice device = shoal::choose_device(words[1]);
    while (std::getline(std::cin, line)) {
      cell c;
      std::istringstream text(line);
      if (!(text >> c.family >> c.type >> c.scalar >> c.rows >> c.columns >> c.components)) {
        std::fprintf(stderr,
                     "seeding_cells: a cell is FAMILY TYPE SCALAR ROWS COLUMNS COMPONENTS [START...]; got '%s'\n",
                     line.c_str());
        return 2;
      }
      for (std::string start; text >> start;) c.starts.push_back(start);
      std::string answer;
      try {
        answer = measure(c, device, budget);
      } catch (const shoal::error& failure) {
        answer = fmt::format("\"failure\": \"{}\"", failure.what());
      }
      std::puts(
          fmt::format("{{\"family\": \"{}\", \"type\": \"{}\", \"scalar\": \"{}\", \"rows\": {}, \"columns\": {}, "
                      "\"components\": {}, {}}}",
                      c.family, c.type, c.scalar, c.rows, c.columns, c.components, answer)
              .c_str());
      std::fflush(stdout);
    }
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "seeding_cells: %s\n", failure.what());
    return 1;
  }
}
