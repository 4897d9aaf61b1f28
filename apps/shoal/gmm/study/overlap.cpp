// Convergence order, passes, log-likelihood and modelling error for several degrees of overlap.
#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include <shoal/gmm/fit.hpp>
#include <shoal/gmm/modelling_error.hpp>
#include <shoal/gmm/predict.hpp>
#include <shoal/random/stream.hpp>

#include "gmm/study/paths.hpp"

namespace shoal::app {
namespace {

constexpr std::size_t overlap_components = 6;
constexpr std::size_t columns = 4;
// Differences of mean log-likelihoods below this are rounding.
constexpr double least_difference = 1e-11;
// An order is a limit. Farther from the end than this, in mean log-likelihood, components may still change places.
constexpr double near_the_end = 0.01;

struct extent {
  std::size_t rows, starts, curve_starts, most_passes, converged_passes, line_passes;
};

extent extent_of(const study_setting& setting) {
  if (setting.quick) return {2'000, 3, 2, 256, 400, 60};
  return {60'000, 25, 5, 2'000, 4'000, 400};
}

// 0, 1, 2, 3, 4, 6, 8, 12, …: two in every doubling at first, then one.
std::vector<std::size_t> curve_passes(std::size_t most) {
  std::vector<std::size_t> passes{0, 1};
  for (std::size_t n = 2; n <= most; n *= 2) {
    passes.push_back(n);
    if (n < 64 && n + n / 2 <= most) passes.push_back(n + n / 2);
  }
  return passes;
}

// All small numbers of passes, then ever fewer.
std::vector<std::size_t> line_passes(std::size_t most) {
  std::vector<std::size_t> passes;
  for (std::size_t n = 0; n < most; n += 1 + n / 5) passes.push_back(n);
  return passes;
}

std::optional<convergence_line> line_of(study_path<double>& path, std::size_t rows, const extent& size) {
  const double last = path.last_log_likelihood(size.converged_passes, 1e-13);
  convergence_line line;
  for (const std::size_t passes : line_passes(size.line_passes)) {
    const double before = last - path.log_likelihood(passes);
    const double after = last - path.log_likelihood(passes + 1);
    if (before < least_difference || after < least_difference) break;
    if (before > near_the_end) continue;
    line.before.push_back(std::log(before * static_cast<double>(rows)));
    line.after.push_back(std::log(after * static_cast<double>(rows)));
  }
  const auto count = static_cast<double>(line.before.size());
  if (count < 3) return std::nullopt;
  double x = 0, y = 0, xx = 0, xy = 0;
  for (std::size_t i = 0; i < line.before.size(); ++i) {
    x += line.before[i] / count;
    y += line.after[i] / count;
  }
  for (std::size_t i = 0; i < line.before.size(); ++i) {
    xx += (line.before[i] - x) * (line.before[i] - x);
    xy += (line.before[i] - x) * (line.after[i] - y);
  }
  if (!(xx > 0)) return std::nullopt;
  line.order = xy / xx;
  line.constant = std::exp(y - line.order * x);
  return line;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// 1 − the greatest membership of a row, on average: how often the best guess of a row's component is wrong.
double confusion_of(const gmm::model& truth, matrix_view<const double> rows, std::size_t threads) {
  std::vector<double> memberships(rows.rows() * truth.components);
  gmm::prediction<double> out;
  out.probabilities = memberships.data();
  gmm::predict(truth, view_source<double>(rows), out, threads);
  double sum = 0;
  for (auto row = memberships.begin(); row != memberships.end(); row += static_cast<std::ptrdiff_t>(truth.components)) {
    sum += 1 - *std::max_element(row, row + static_cast<std::ptrdiff_t>(truth.components));
  }
  return sum / static_cast<double>(rows.rows());
}

// Figures of one start, for one algorithm.
struct curve {
  std::vector<double> deficit;
  std::vector<double> modelling_error;
};

class degree {
 public:
  degree(const study_setting& setting, const extent& size, double spread) : setting_(setting), size_(size) {
    result_.spread = spread;
    result_.rows = size.rows;
    result_.columns = columns;
    result_.components = overlap_components;
    result_.starts = size.starts;
    result_.curve_starts = size.curve_starts;
    for (const study_algorithm& algorithm : setting.algorithms) {
      result_.algorithms.emplace_back();
      result_.algorithms.back().algorithm = algorithm.name;
    }
    curves_.resize(setting.algorithms.size());
  }

  overlap_result run() {
    for (std::size_t start = 0; start < size_.starts; ++start) {
      setting_.announce(fmt::format("overlap, spread {}: start {} of {}", result_.spread, start + 1, size_.starts));
      one_start(start);
    }
    for (std::size_t a = 0; a < curves_.size(); ++a) gather(curves_[a], result_.algorithms[a]);
    result_.confusion /= static_cast<double>(size_.starts);
    return std::move(result_);
  }

 private:
  void one_start(std::size_t start) {
    const std::uint64_t seed = random::mix(setting_.seed, start);
    const gmm::model truth = unit_mixture(overlap_components, columns, result_.spread, seed);
    const std::vector<double> values = draw<double>(truth, size_.rows, random::mix(seed, 1));
    const matrix_view<const double> rows(values.data(), size_.rows, columns);
    result_.confusion += confusion_of(truth, rows, setting_.threads);
    const gmm::model first =
        random_start(rows, overlap_components, gmm::covariance_type::full, random::mix(seed, 2), setting_);

    double target = 0;
    for (std::size_t a = 0; a < setting_.algorithms.size(); ++a) {
      const study_algorithm& algorithm = setting_.algorithms[a];
      study_path<double> path(rows, options_from(first, algorithm, setting_), algorithm.exact_history,
                              *setting_.control);
      if (a == 0) target = path.last_log_likelihood(size_.converged_passes, 1e-8);
      const auto passes = path.passes_to(target - near_enough, size_.most_passes);
      overlap_row& row = result_.algorithms[a];
      row.passes.push_back(passes);
      if (steps_.empty())
        steps_ = curve_passes(std::min(size_.most_passes, passes.value_or(size_.most_passes) * 3 / 2 + 8));
      if (start == 0) row.convergence = line_of(path, size_.rows, size_);
      if (start < size_.curve_starts) curves_[a].push_back(curve_of(path, truth, rows, target));
    }
  }

  curve curve_of(study_path<double>& path, const gmm::model& truth, matrix_view<const double> rows,
                 double target) const {
    curve out;
    for (const std::size_t passes : steps_) {
      out.deficit.push_back(target - path.log_likelihood(passes));
      out.modelling_error.push_back(gmm::modelling_error(truth, path.model(passes), rows, setting_.threads).error);
    }
    return out;
  }

  void gather(const std::vector<curve>& curves, overlap_row& row) const {
    row.seen = steps_;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      std::vector<double> deficits;
      std::vector<double> errors;
      for (const curve& one : curves) {
        deficits.push_back(one.deficit[i]);
        errors.push_back(one.modelling_error[i]);
      }
      row.deficit.push_back(median(deficits));
      row.modelling_error.push_back(median(errors));
    }
  }

  const study_setting& setting_;
  const extent size_;
  overlap_result result_;
  std::vector<std::size_t> steps_;
  std::vector<std::vector<curve>> curves_;  // [algorithm][start]
};

}  // namespace

std::optional<std::size_t> median_of(std::vector<std::optional<std::size_t>> passes) {
  if (passes.empty()) return std::nullopt;
  const auto middle = passes.begin() + static_cast<std::ptrdiff_t>(passes.size() / 2);
  std::nth_element(passes.begin(), middle, passes.end(), [](const auto& a, const auto& b) {
    if (!a || !b) return a.has_value() && !b;
    return *a < *b;
  });
  return *middle;
}

std::vector<overlap_result> study_overlap(const study_setting& setting) {
  std::vector<overlap_result> results;
  for (const double spread : {10.0, 4.0, 2.0, 1.3}) {
    extent size = extent_of(setting);
    // Where means overlap most the starts differ most.
    if (spread > 1.5) size.starts = (size.starts + 2) / 3;
    if (setting.starts > 0) size.starts = std::min(size.starts, setting.starts);
    size.curve_starts = std::min(size.curve_starts, size.starts);
    results.push_back(degree(setting, size, spread).run());
  }
  return results;
}

}  // namespace shoal::app
