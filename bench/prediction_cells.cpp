// What labels of rows take under a mixture, by centroids and on a map.
// prediction_cells DEVICE [SECONDS] < CELLS
//
// Each line of standard input is a cell: FAMILY TYPE SCALAR ROWS COLUMNS COMPONENTS, such as
// "gmm full float64 1000000 16 100"; TYPE is "-" where a family has none. A map is a chain of units.
// Each is answered by one line of JSON: the seconds of predict(), rows lying where the device reads them, labels going
// to the host. A figure is the median of at least three runs and of as many as fit into SECONDS (0.2 if not given).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/device_choice.hpp>
#include <shoal/gmm/predict.hpp>
#include <shoal/kmeans/predict.hpp>
#include <shoal/som/predict.hpp>

#include "grid_rows.hpp"

namespace {

struct cell {
  std::string family, type, scalar;
  std::size_t rows = 0, columns = 0, components = 0;
};

std::vector<double> places(const cell& c) {
  std::vector<double> found(c.components * c.columns);
  for (std::size_t i = 0; i < found.size(); ++i) found[i] = 0.5 * grid::value_at(i, 2);
  return found;
}

shoal::gmm::model mixture_of(const cell& c) {
  using shoal::gmm::covariance_type;
  shoal::gmm::model model;
  model.covariance_type = c.type == "full"   ? covariance_type::full
                          : c.type == "tied" ? covariance_type::tied
                          : c.type == "diag" ? covariance_type::diag
                                             : covariance_type::spherical;
  model.components = c.components;
  model.columns = c.columns;
  model.weights.assign(c.components, 1 / static_cast<double>(c.components));
  model.means = places(c);
  model.covariances.assign(shoal::gmm::covariance_size(model.covariance_type, c.components, c.columns), 0.0);
  const bool matrices = c.type == "full" || c.type == "tied";
  const std::size_t step = matrices ? c.columns + 1 : 1, size = matrices ? c.columns * c.columns : 1;
  for (std::size_t first = 0; first < model.covariances.size(); first += size) {
    for (std::size_t i = 0; i < size; i += step) model.covariances[first + i] = 1.0 / 3;
  }
  return model;
}

// The median of seconds that predict() takes, after one time that is not counted.
template <class Predict>
double median_of(double budget, const Predict& predict) {
  std::vector<double> found;
  double spent = 0;
  for (int run = 0; run < 4 || spent < budget; ++run) {
    const auto before = std::chrono::steady_clock::now();
    predict();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
    spent += seconds;
    if (run > 0) found.push_back(seconds);
  }
  std::sort(found.begin(), found.end());
  return found[found.size() / 2];
}

template <class Scalar>
double measure(const cell& c, const shoal::device_choice& device, double budget) {
  const auto rows = grid::rows<Scalar>(device, c.rows, c.columns);
  std::vector<std::int32_t> labels(c.rows);
  if (c.family == "kmeans") {
    const shoal::kmeans::model model{c.components, c.columns, places(c), {}};
    return median_of(budget, [&] { shoal::kmeans::predict(model, *rows, labels.data(), 0, 0, {}, {}, device); });
  }
  if (c.family == "som") {
    shoal::som::model model;
    model.width = c.components;
    model.height = 1;
    model.columns = c.columns;
    model.codebook = places(c);
    return median_of(budget, [&] { shoal::som::predict(model, *rows, labels.data(), 0, 0, {}, {}, device); });
  }
  const shoal::gmm::model model = mixture_of(c);
  shoal::gmm::prediction<Scalar> wanted;
  wanted.labels = labels.data();
  return median_of(budget, [&] { shoal::gmm::predict(model, *rows, wanted, 0, 0, {}, {}, device); });
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    std::fputs("usage: prediction_cells DEVICE [SECONDS] < CELLS\n", stderr);
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
        std::fprintf(stderr, "prediction_cells: a cell is FAMILY TYPE SCALAR ROWS COLUMNS COMPONENTS; got '%s'\n",
                     line.c_str());
        return 2;
      }
      std::string answer;
      try {
        const bool single = c.scalar == "float32";
        answer = fmt::format("\"labels\": {:.6g}",
                             single ? measure<float>(c, device, budget) : measure<double>(c, device, budget));
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
    std::fprintf(stderr, "prediction_cells: %s\n", failure.what());
    return 1;
  }
}
