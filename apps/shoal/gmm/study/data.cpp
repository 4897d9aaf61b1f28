// Table 4: iterations, mean negative log-likelihood and time on real data, over many starts.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <shoal/gmm/fit.hpp>
#include <shoal/io/io.hpp>
#include <shoal/kmeans/fit.hpp>
#include <shoal/random/stream.hpp>

#include "gmm/study/paths.hpp"

namespace shoal::app {
namespace {

constexpr std::size_t data_components = 7;
constexpr std::size_t most_iterations = 2'000;
constexpr std::size_t papers_iterations = 100;
// How many times batch's iterations another algorithm may take to come where batch stopped.
constexpr std::size_t patience = 4;
// Both data sets hold whole numbers, and a uniform error of rounding has this variance: without it a component that
// holds a single value of some column has no greatest likelihood.
constexpr double rounding_variance = 1.0 / 12;

struct held_rows {
  std::vector<double> values;
  std::size_t rows = 0;
  std::size_t columns = 0;
  matrix_view<const double> view() const { return {values.data(), rows, columns}; }
};

held_rows load(const std::string& file, const std::string& label_column) {
  read_options reading;
  reading.label_column = label_column;
  const opened_rows<double> opened = open_rows<double>(file, reading);
  held_rows held{{}, opened.rows->rows(), opened.rows->columns()};
  constexpr std::size_t piece = 65536;
  aligned_buffer<double> buffer;
  for (std::size_t first = 0; first < held.rows; first += piece) {
    const auto some = opened.rows->read(first, std::min(piece, held.rows - first), buffer);
    for (std::size_t i = 0; i < some.rows(); ++i) {
      held.values.insert(held.values.end(), some.row(i), some.row(i) + held.columns);
    }
  }
  return held;
}

// Each row with that chance.
held_rows sample_of(const held_rows& all, double chance, std::uint64_t seed) {
  held_rows some{{}, 0, all.columns};
  for (std::size_t i = 0; i < all.rows; ++i) {
    if (random::uniform_at(seed, 0, i) >= chance) continue;
    const double* const row = &all.values[i * all.columns];
    some.values.insert(some.values.end(), row, row + all.columns);
    ++some.rows;
  }
  return some;
}

// The paper's start: centroids of k-means on a random tenth of the rows. It does not say with which covariances and
// weights; here the variances of all rows, and equal weights.
gmm::model start_of(const held_rows& all, std::uint64_t seed, const study_setting& setting) {
  gmm::model start = random_start(all.view(), data_components, gmm::covariance_type::full, seed, setting);
  const held_rows some = sample_of(all, 0.1, seed);
  kmeans::options options;
  options.clusters = data_components;
  options.init = kmeans::seeding::random_rows;
  options.seed = seed;
  options.threads = setting.threads;
  start.means = kmeans::fit(view_source<double>(some.view()), options, nullptr, *setting.control).model.centroids;
  return start;
}

}  // namespace

mean_and_deviation summary_of(const std::vector<double>& values) {
  if (values.empty()) return {std::nan(""), std::nan("")};
  const auto count = static_cast<double>(values.size());
  double mean = 0;
  for (const double value : values) mean += value / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, values.size() > 1 ? std::sqrt(squares / (count - 1)) : 0};
}

data_result study_data(const study_setting& setting, const std::string& name, const std::string& file,
                       const std::string& label_column, std::size_t starts) {
  held_rows all = load(file, label_column);
  if (setting.quick) all = sample_of(all, 4'000 / static_cast<double>(all.rows), setting.seed);
  if (setting.quick) starts = 2;
  if (setting.starts > 0) starts = std::min(starts, setting.starts);
  const std::size_t reach_starts = setting.quick ? 1 : 5;
  data_result result{name, all.rows, all.columns, data_components, starts, {}, 0, 0, {}};
  result.regularization = rounding_variance;
  result.tolerance = 2e-5;
  struct figures {
    std::vector<double> iterations, negative_log_likelihood, seconds;
  };
  std::vector<figures> found(setting.algorithms.size());
  for (const study_algorithm& algorithm : setting.algorithms) {
    result.algorithms.emplace_back();
    result.algorithms.back().algorithm = algorithm.name;
    result.algorithms.back().device = device_name(first_device(setting));
  }
  for (std::size_t start = 0; start < result.starts; ++start) {
    setting.announce(fmt::format("{}: start {} of {}", name, start + 1, result.starts));
    const std::uint64_t seed = random::mix(setting.seed, start);
    const gmm::model first = start_of(all, seed, setting);
    double target = std::nan("");
    std::size_t most = most_iterations;
    for (std::size_t a = 0; a < setting.algorithms.size(); ++a) {
      const study_algorithm& algorithm = setting.algorithms[a];
      gmm::options options = options_from(first, algorithm, setting);
      options.regularization = result.regularization;
      options.seed = seed;
      options.device = first_device(setting);
      study_path<double> path(all.view(), options, algorithm.exact_history, *setting.control);
      options.tolerance = algorithm.papers_stop ? 0 : result.tolerance;
      options.max_iterations = algorithm.papers_stop ? papers_iterations : most_iterations;
      data_row& row = result.algorithms[a];
      try {
        const gmm::fit_result fit = gmm::fit(view_source<double>(all.view()), options, nullptr, *setting.control);
        found[a].iterations.push_back(static_cast<double>(fit.iterations));
        found[a].negative_log_likelihood.push_back(-fit.mean_log_likelihood);
        found[a].seconds.push_back(fit.loop_seconds);
        if (!fit.converged) ++row.not_converged;
        if (a == 0) {
          target = fit.mean_log_likelihood - near_enough;
          most = std::min(most_iterations, patience * fit.iterations);
        }
        if (start < reach_starts && !std::isnan(target)) row.passes.push_back(path.passes_to(target, most));
      } catch (const numerical_error&) {
        ++row.failed;
      }
    }
  }
  for (std::size_t a = 0; a < found.size(); ++a) {
    data_row& row = result.algorithms[a];
    row.iterations = summary_of(found[a].iterations);
    row.negative_log_likelihood = summary_of(found[a].negative_log_likelihood);
    row.seconds = summary_of(found[a].seconds);
  }
  return result;
}

}  // namespace shoal::app
