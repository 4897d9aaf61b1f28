// The study of EM algorithms: what is measured, and the figures that come of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <shoal/core/progress.hpp>
#include <shoal/gmm/covariance_type.hpp>
#include <shoal/gmm/options.hpp>

#include "common/answer.hpp"

namespace shoal::app {

/// One of the algorithms that are compared.
struct study_algorithm {
  std::string name;
  void (*choose)(gmm::options&);
  /// fit_result::history holds the log-likelihood of the model that each iteration began with, so that one fit says
  /// what all shorter ones reach.
  bool exact_history = false;
  /// On real data it stops as the paper's does: when a pass changes nothing, or after 100.
  bool papers_stop = false;
};

const std::vector<study_algorithm>& study_algorithms();

/// What all parts of the study are given.
struct study_setting {
  std::vector<study_algorithm> algorithms;  ///< batch first
  bool quick = false;                       ///< sizes that end in seconds, to try the command
  std::size_t starts = 0;                   ///< most of each mixture and each data set; 0: as many as the part says
  std::uint64_t seed = 0;
  std::size_t threads = 0;
  device_choice device;  ///< where the parts on speed and on data run what runs there
  const shoal::control* control = nullptr;
  std::function<void(const std::string&)> announce;  ///< says what is being done
};

/// A least-squares line through the points (ln(L* − Lᵢ), ln(L* − Lᵢ₊₁)) of one fit, L being the log-likelihood of all
/// rows after i passes, from where less than 0.01 a row is left to gain: its slope is the order of convergence λ, the
/// exponential of its intercept the constant C.
struct convergence_line {
  std::vector<double> before;
  std::vector<double> after;
  double order = 0;
  double constant = 0;
};

/// One algorithm on mixtures of one degree of overlap.
struct overlap_row {
  std::string algorithm;
  /// Passes to come within 1e-4 of the mean log-likelihood that batch reaches in the end, for each start; none where
  /// it ended elsewhere.
  std::vector<std::optional<std::size_t>> passes;
  std::optional<convergence_line> convergence;  ///< of the first start; none where there are too few points
  /// Medians over the first starts after so many passes: batch's last mean log-likelihood less that of the model, and
  /// the modelling error.
  std::vector<std::size_t> seen;
  std::vector<double> deficit;
  std::vector<double> modelling_error;
};

struct overlap_result {
  double spread = 0;     ///< standard deviation of the means' coordinates; the components' own is 1
  double confusion = 0;  ///< mean over rows of 1 − the greatest membership, under the true mixture
  std::size_t rows = 0, columns = 0, components = 0;
  std::size_t starts = 0;        ///< each of another mixture and another start
  std::size_t curve_starts = 0;  ///< of them, those whose curves were taken
  std::vector<overlap_row> algorithms;
};

/// Convergence order, passes, log-likelihood and modelling error against rows seen.
std::vector<overlap_result> study_overlap(const study_setting& setting);

/// Time of one iteration.
struct speed_row {
  std::size_t rows = 0, components = 0, columns = 0;
  gmm::covariance_type covariance_type = gmm::covariance_type::full;
  std::string algorithm;
  std::string device;
  double seconds = 0;  ///< an iteration; the least of a few fits
};

/// Time to come within 1e-4 of what batch reaches in the end.
struct reach_row {
  std::size_t rows = 0, components = 0, columns = 0;
  std::string algorithm;
  std::string device;
  std::optional<std::size_t> passes;
  double seconds = 0;
};

struct speed_result {
  std::vector<speed_row> iterations;
  std::vector<reach_row> reach;
};

/// Tables 1 to 3 and figures 8 and 9.
speed_result study_speed(const study_setting& setting);

struct mean_and_deviation {
  double mean = 0;
  double deviation = 0;
};
mean_and_deviation summary_of(const std::vector<double>& values);

/// The middle value, the greater of two; starts that never came there count as more than all that did.
std::optional<std::size_t> median_of(std::vector<std::optional<std::size_t>> passes);

/// One algorithm on one data set, over all starts.
struct data_row {
  std::string algorithm;
  std::string device;
  mean_and_deviation iterations;
  mean_and_deviation negative_log_likelihood;  ///< mean per row
  mean_and_deviation seconds;
  std::size_t not_converged = 0;
  std::size_t failed = 0;                          ///< starts that ended in a numerical error
  std::vector<std::optional<std::size_t>> passes;  ///< as overlap_row::passes, for the first starts
};

struct data_result {
  std::string name;
  std::size_t rows = 0, columns = 0, components = 0, starts = 0;
  gmm::covariance_type covariance_type = gmm::covariance_type::full;
  double regularization = 0;
  double tolerance = 0;
  std::vector<data_row> algorithms;
};

/// Table 4: one of its data sets.
data_result study_data(const study_setting& setting, const std::string& name, const std::string& file,
                       const std::string& label_column, std::size_t starts);

/// All that was measured; a part that was not asked for is empty.
struct study_result {
  std::vector<overlap_result> overlap;
  speed_result speed;
  std::vector<data_result> data;
  std::vector<std::string> skipped;  ///< sentences: what was left out, and why
};

named_values study_values(const study_result& study);

/// Writes the page with pictures. `facts` are the options and the machine.
void write_study_report(const study_result& study, const std::vector<std::pair<std::string, std::string>>& facts,
                        const std::string& path);

/// The tables, for a terminal, and the sentences behind them.
std::vector<std::string> study_paragraphs(const study_result& study);

}  // namespace shoal::app
