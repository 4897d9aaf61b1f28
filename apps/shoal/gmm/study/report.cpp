// The study as a page with pictures.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "gmm/study/study.hpp"
#include "gmm/words.hpp"
#include "report/chart.hpp"
#include "report/page.hpp"
#include "report/text.hpp"

namespace shoal::app {
namespace {

using report::line_chart;
using report::line_series;
using report::number;

// What the paper printed. Its figure 7 is of clusters that do not overlap.
struct printed_line {
  const char* algorithm;
  double order, constant;
};
constexpr printed_line printed_lines[] = {
    {"batch", 0.9823, 0.0222}, {"async-em-2013", 0.99846, 0.94597}, {"incremental", 0.99903, 0.96864}};

constexpr const char* more_means = "more: most starts ended at a lower likelihood, or never came so near.";

std::string passes_words(const std::optional<std::size_t>& passes) { return passes ? report::count(*passes) : "more"; }

std::string degree_name(const overlap_result& degree) {
  return fmt::format("spread {} ({} confused)", number(degree.spread, 3), report::percent(degree.confusion));
}

report::picture line_picture(const overlap_result& degree) {
  line_chart chart;
  chart.title = "Convergence, " + degree_name(degree);
  chart.x_label = "ln(L* − Lᵢ)";
  chart.y_label = "ln(L* − Lᵢ₊₁)";
  for (std::size_t a = 0; a < degree.algorithms.size(); ++a) {
    const overlap_row& row = degree.algorithms[a];
    if (!row.convergence) continue;
    chart.series.push_back({row.algorithm, row.convergence->before, row.convergence->after, static_cast<int>(a)});
    chart.description += fmt::format("{}: order {}, constant {}. ", row.algorithm, number(row.convergence->order, 3),
                                     number(row.convergence->constant, 3));
  }
  return draw(chart);
}

bool has_lines(const overlap_result& degree) { return degree.algorithms.front().convergence.has_value(); }

// Both figures of a curve against the rows seen, on logarithmic scales.
report::picture curve_picture(const overlap_result& degree, bool error) {
  line_chart chart;
  chart.title = fmt::format("{}, {}", error ? "Modelling error" : "Log-likelihood still to gain", degree_name(degree));
  chart.description = "Each algorithm after numbers of passes, medians over the starts.";
  chart.x_label = "log₁₀ rows seen";
  chart.y_label = error ? "log₁₀ modelling error" : "log₁₀(ℓ* − ℓ), a row";
  for (std::size_t a = 0; a < degree.algorithms.size(); ++a) {
    const overlap_row& row = degree.algorithms[a];
    line_series series;
    series.name = row.algorithm;
    series.colour = static_cast<int>(a);
    for (std::size_t i = 0; i < row.seen.size(); ++i) {
      const double value = error ? row.modelling_error[i] : row.deficit[i];
      // Below this the algorithm has arrived, and what is left is rounding or another optimum.
      if (row.seen[i] == 0 || !(value > 1e-9)) continue;
      series.x.push_back(std::log10(static_cast<double>(row.seen[i]) * static_cast<double>(degree.rows)));
      series.y.push_back(std::log10(value));
    }
    chart.series.push_back(std::move(series));
  }
  return draw(chart);
}

void add_overlap(report::page& out, const std::vector<overlap_result>& degrees) {
  const overlap_result& first = degrees.front();
  out.part("Convergence",
           fmt::format("{} Gaussians of unit covariance in {} dimensions, {} rows, full covariances are fitted. The "
                       "coordinates of the means are normal; their standard deviation, the spread, sets the overlap. "
                       "Confusion is how often the best guess of a row's component is wrong under the true mixture.",
                       first.components, first.columns, report::count(first.rows)));
  out.section("Order of convergence (figure 7)");
  out.paragraph(
      "The line through ln(L* − Lᵢ₊₁) against ln(L* − Lᵢ) has the order λ as its slope and ln C as its intercept, L "
      "being the log-likelihood of all rows after i passes and L* the value that this very fit ends at. It is drawn "
      "from where less than 0.01 a row is left to gain. λ = 1 with C "
      "near 1 is slow, with C near 0 fast, linear convergence: C is the share of the distance that a pass leaves.");
  report::table lines;
  lines.caption = "Order λ and constant C of one start. The paper's figures are for clusters that do not overlap.";
  lines.headings = {"algorithm"};
  for (const overlap_result& degree : degrees) {
    lines.headings.push_back(fmt::format("λ, spread {}", number(degree.spread, 3)));
    lines.headings.push_back("C");
  }
  lines.headings.insert(lines.headings.end(), {"λ, paper", "C, paper"});
  for (std::size_t a = 0; a < first.algorithms.size(); ++a) {
    std::vector<report::table::cell> row{{first.algorithms[a].algorithm, 0, static_cast<int>(a)}};
    for (const overlap_result& degree : degrees) {
      const auto& line = degree.algorithms[a].convergence;
      row.push_back({line ? number(line->order, 3) : "–"});
      row.push_back({line ? number(line->constant, 2) : "–"});
    }
    const auto printed = std::find_if(std::begin(printed_lines), std::end(printed_lines), [&](const auto& line) {
      return line.algorithm == first.algorithms[a].algorithm;
    });
    const bool known = printed != std::end(printed_lines);
    row.push_back({known ? number(printed->order, 3) : ""});
    row.push_back({known ? number(printed->constant, 2) : ""});
    lines.rows.push_back(std::move(row));
  }
  lines.note = "–: too few passes for a line; the fit had arrived.";
  out.add(lines);
  const auto apart = std::find_if(degrees.begin(), degrees.end(), has_lines);
  if (apart != degrees.end()) {
    out.figure(line_picture(*apart), "The means farthest apart of those where there is a line.");
    out.figure(line_picture(degrees.back()), "The means that overlap most.");
  }

  out.section("Passes to come near the end");
  report::table passes;
  passes.caption = fmt::format(
      "Median over {} starts ({} where the overlap is greatest), each of another mixture, of the passes to come within "
      "1e-4 of the mean log-likelihood that batch reaches in the end, and how many times fewer than batch.",
      first.starts, degrees.back().starts);
  passes.headings = {"algorithm"};
  for (const overlap_result& degree : degrees) {
    passes.headings.push_back(fmt::format("spread {}", number(degree.spread, 3)));
    passes.headings.push_back("fewer");
  }
  for (std::size_t a = 0; a < first.algorithms.size(); ++a) {
    std::vector<report::table::cell> row{{first.algorithms[a].algorithm, 0, static_cast<int>(a)}};
    for (const overlap_result& degree : degrees) {
      const auto batch = median_of(degree.algorithms[0].passes);
      const auto own = median_of(degree.algorithms[a].passes);
      row.push_back({passes_words(own)});
      const bool compared = a > 0 && batch && own && *own > 0;
      row.push_back({compared ? fmt::format("{:.1f} ×", static_cast<double>(*batch) / static_cast<double>(*own)) : ""});
    }
    passes.rows.push_back(std::move(row));
  }
  passes.note = more_means;
  out.add(passes);

  out.section("Log-likelihood and modelling error against rows seen");
  out.paragraph(
      "The modelling error is the mean over the rows of the squared differences between the memberships under the true "
      "mixture and under the fitted one, its components matched by exact linear assignment. It cannot fall to zero: "
      "the "
      "best fit of finitely many rows is not the true mixture.");
  for (const overlap_result& degree : degrees) {
    out.figure(curve_picture(degree, false));
    out.figure(curve_picture(degree, true));
  }
}

using size_key = std::tuple<std::size_t, std::size_t, std::size_t, int>;

size_key key_of(const speed_row& row) {
  return {row.rows, row.components, row.columns, static_cast<int>(row.covariance_type)};
}

// The paper's milliseconds of an iteration, all of diagonal covariances on a GTX 480; 0 where it has none.
double printed_milliseconds(const speed_row& row) {
  if (row.covariance_type != gmm::covariance_type::diag) return 0;
  if (row.rows == 46'800 && row.components == 8) return 1.26;
  if (row.rows == 1u << 20 && row.components == 10) return 30;
  if (row.rows == 1u << 15 && row.components == 8) return 0.86;
  if (row.rows == 1u << 16 && row.components == 8) return 1.74;
  if (row.rows == 1u << 21 && row.components == 8) return 51.43;
  return 0;
}

std::string runner_name(const speed_row& row) { return row.algorithm + ", " + row.device; }

report::picture sweep_picture(const std::vector<speed_row>& rows, const std::vector<std::string>& runners,
                              gmm::covariance_type type) {
  line_chart chart;
  chart.title = fmt::format("An iteration, {} covariances, K = d = 8", word_for(covariance_choices(), type));
  chart.description = "Milliseconds against rows, both as powers.";
  chart.x_label = "log₂ rows";
  chart.y_label = "log₁₀ milliseconds";
  for (std::size_t r = 0; r < runners.size(); ++r) {
    line_series series;
    series.name = runners[r];
    series.colour = static_cast<int>(r);
    for (const speed_row& row : rows) {
      const bool in_sweep =
          row.components == 8 && row.columns == 8 && row.covariance_type == type && (row.rows & (row.rows - 1)) == 0;
      if (!in_sweep || runner_name(row) != runners[r]) continue;
      series.x.push_back(std::log2(static_cast<double>(row.rows)));
      series.y.push_back(std::log10(1e3 * row.seconds));
    }
    chart.series.push_back(std::move(series));
  }
  if (type == gmm::covariance_type::diag) {
    chart.series.push_back({"paper, asynchronous, GTX 480",
                            {15, 16, 21},
                            {std::log10(0.86), std::log10(1.74), std::log10(51.43)},
                            static_cast<int>(runners.size()),
                            true});
  }
  return draw(chart);
}

void add_speed(report::page& out, const speed_result& speed) {
  out.part("Time",
           "float32 rows of overlapping unit Gaussians; milliseconds of an iteration in the loop of a fit, the "
           "least of three fits.");
  out.section("An iteration (tables 1 to 3, figures 8 and 9)");
  std::vector<std::string> runners;
  std::map<size_key, std::map<std::string, double>> times;
  std::vector<speed_row> sizes;
  for (const speed_row& row : speed.iterations) {
    if (std::find(runners.begin(), runners.end(), runner_name(row)) == runners.end()) {
      runners.push_back(runner_name(row));
    }
    if (!times.contains(key_of(row))) sizes.push_back(row);
    times[key_of(row)][runner_name(row)] = 1e3 * row.seconds;
  }
  report::table table;
  table.caption = "Milliseconds an iteration.";
  table.headings = {"rows, K, d, covariances"};
  table.headings.insert(table.headings.end(), runners.begin(), runners.end());
  table.headings.push_back("paper");
  for (const speed_row& size : sizes) {
    std::vector<report::table::cell> row{
        {fmt::format("{}, {}, {}, {}", report::count(size.rows), size.components, size.columns,
                     word_for(covariance_choices(), size.covariance_type))}};
    for (const std::string& runner : runners) {
      const auto& known = times[key_of(size)];
      const auto time = known.find(runner);
      row.push_back({time == known.end() ? "" : number(time->second, 3)});
    }
    const double printed = printed_milliseconds(size);
    row.push_back({printed > 0 ? number(printed, 4) : ""});
    table.rows.push_back(std::move(row));
  }
  table.note =
      "The paper's figures are of its asynchronous algorithm with diagonal covariances on a GTX 480; of the batch "
      "programs that it compares with it gives 16.2 and 1.6 ms for the first size and 450, 62 and 61.4 ms for the "
      "second.";
  out.add(table);
  out.figure(sweep_picture(speed.iterations, runners, gmm::covariance_type::diag));
  out.figure(sweep_picture(speed.iterations, runners, gmm::covariance_type::full));

  out.section("Time to come near the end");
  report::table reach;
  reach.caption =
      "From one start to within 1e-4 of the mean log-likelihood that batch reaches in the end, full "
      "covariances.";
  reach.headings = {"algorithm and device", "rows, K, d", "passes", "ms", "against batch"};
  for (const reach_row& row : speed.reach) {
    const reach_row& batch = speed.reach.front();
    reach.rows.push_back({{row.algorithm + ", " + row.device},
                          {fmt::format("{}, {}, {}", report::count(row.rows), row.components, row.columns)},
                          {passes_words(row.passes)},
                          {row.passes ? number(1e3 * row.seconds, 4) : "–"},
                          {row.passes && batch.passes ? fmt::format("{:.2f} ×", batch.seconds / row.seconds) : ""}});
  }
  out.add(reach);
}

struct printed_data {
  const char* data;
  const char* algorithm;
  const char* iterations;
  const char* likelihood;
};
constexpr printed_data printed_tables[] = {{"Shuttle", "batch", "82.6 ± 58.1", "21.28 ± 0.48"},
                                           {"Shuttle", "async-em-2013", "14.2 ± 9.4", "21.08 ± 0.41"},
                                           {"Covertype", "batch", "43.2 ± 14.6", "−5.67 ± 0.12"},
                                           {"Covertype", "async-em-2013", "21.8 ± 6.4", "−5.63 ± 0.09"}};

std::string spread_words(const mean_and_deviation& figure, int decimals) {
  if (!std::isfinite(figure.mean)) return "–";
  return fmt::format("{}{:.{}f} ± {:.{}f}", figure.mean < 0 ? "−" : "", std::abs(figure.mean), decimals,
                     figure.deviation, decimals);
}

std::string seconds_words(const mean_and_deviation& figure) {
  if (!std::isfinite(figure.mean)) return "–";
  return number(figure.mean, 3) + " ± " + number(figure.deviation, 2);
}

void add_data(report::page& out, const data_result& data) {
  out.section(fmt::format("{} (table 4)", data.name));
  out.paragraph(fmt::format(
      "{} rows × {} columns, {} components of {} covariances, {} starts from centroids of k-means on a random tenth of "
      "the rows. A fit stops when a pass changes the mean log-likelihood by less than {}; {} is added to the diagonal "
      "of every covariance. async-em-2013 stops as the paper's does, when a pass changes nothing or after 100.",
      report::count(data.rows), data.columns, data.components, word_for(covariance_choices(), data.covariance_type),
      data.starts, number(data.tolerance), number(data.regularization)));
  report::table table;
  table.headings = {
      "algorithm and device", "iterations", "paper", "−log-likelihood", "paper", "seconds", "passes", "failed"};
  for (std::size_t a = 0; a < data.algorithms.size(); ++a) {
    const data_row& row = data.algorithms[a];
    const auto printed = std::find_if(std::begin(printed_tables), std::end(printed_tables), [&](const auto& one) {
      return one.data == data.name && one.algorithm == row.algorithm;
    });
    const bool known = printed != std::end(printed_tables);
    table.rows.push_back({{row.algorithm + ", " + row.device, 0, static_cast<int>(a)},
                          {spread_words(row.iterations, 1)},
                          {known ? printed->iterations : ""},
                          {spread_words(row.negative_log_likelihood, 3)},
                          {known ? printed->likelihood : ""},
                          {seconds_words(row.seconds)},
                          {row.passes.empty() ? "–" : passes_words(median_of(row.passes))},
                          {report::count(row.failed)}});
  }
  table.note = fmt::format(
      "Mean ± standard deviation over the starts; −log-likelihood is the mean of a row. Passes: the median, over the "
      "first {}, of those to come within 1e-4 "
      "of where batch stopped from the same start, among at most four times as many as batch took. {}",
      data.algorithms.front().passes.size(), more_means);
  out.add(table);
}

void add_differences(report::page& out) {
  out.part("Where the figures differ from the paper's");
  out.paragraph(
      "The paper says 6 and 4 times fewer iterations for its asynchronous algorithm; its table 4 shows 5.8 and 2.0. "
      "Its "
      "batch is another program (MATLAB's) with another stop rule than its asynchronous one, which ends when no row's "
      "memberships move by more than 0.01, or after 100 iterations, so that the iterations of the two do not lead to "
      "one "
      "likelihood. The passes counted here do: all algorithms go from one start to within 1e-4 of one likelihood.");
  out.paragraph(
      "Its figure 7 finds fast convergence of batch and slow convergence of the others for clusters that do not "
      "overlap. "
      "Near the end each of these algorithms converges linearly, λ near 1, with a C that grows with the overlap. The "
      "paper leaves out updates below a threshold and computes in single precision, which may have flattened the ends "
      "of "
      "its curves, and does not say from which starts they come: from one with a mean in each cluster batch needs a "
      "handful of passes where clusters do not overlap.");
  out.paragraph(
      "Its Covertype is all 581,012 rows and 54 columns, 44 of them binary; the file read here holds the ten numerical "
      "columns of two classes, so that methods can be compared and likelihoods cannot. The paper states neither the "
      "type "
      "of its covariances nor what was added to them. Here covariances are full, and the variance of rounding to whole "
      "numbers, 1/12, is added.");
}

}  // namespace

void write_study_report(const study_result& study, const std::vector<std::pair<std::string, std::string>>& facts,
                        const std::string& path) {
  report::page out("EM algorithms compared",
                   "Altinigneli, Plant & Böhm, “Massively parallel expectation maximization using graphics processing "
                   "units” (KDD 2013), measured again");
  if (!study.overlap.empty()) add_overlap(out, study.overlap);
  if (!study.speed.iterations.empty()) add_speed(out, study.speed);
  if (!study.data.empty() || !study.skipped.empty()) {
    out.part("Real data");
    for (const data_result& data : study.data) add_data(out, data);
    for (const std::string& sentence : study.skipped) out.paragraph(sentence);
  }
  add_differences(out);
  out.part("How this was run");
  out.facts(facts);
  out.write(path);
}

}  // namespace shoal::app
