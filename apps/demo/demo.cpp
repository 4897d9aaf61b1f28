// Fits two mixtures, says how it went, and writes a page of pictures.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <shoal/core/error.hpp>

#include "mixtures.hpp"
#include "report/gmm/report.hpp"
#include "report/sections.hpp"
#include "report/text.hpp"

namespace shoal::demo {
namespace {

struct demo_options {
  std::string data = "examples/data/faithful.csv";
  std::string output = "demo/report.html";
  std::string picture;
  std::size_t rows = 1000000;
  std::size_t threads = 0;
};

report::fit_data faithful_data(const chosen_mixture& found) {
  report::fit_data data;
  data.name = "Old Faithful";
  data.rows = found.sample.rows();
  data.labels = found.labels;
  data.column_names = found.column_names;
  data.choices = found.choices;
  data.options = {{"components tried", fmt::format("1 to {}", found.choices.size())},
                  {"starts of each", fmt::format("{}, the best kept", found.starts)},
                  {"time for all", report::duration(found.seconds)},
                  {"scalar", "float64"}};
  return data;
}

report::fit_data generated_data(const recovered_mixture& found) {
  report::fit_data data;
  data.name = "generated rows";
  data.rows = found.sample.rows();
  data.rows_in_all = found.sample.rows_in_all;
  data.labels = found.labels;
  data.given = found.given;
  data.agreement = found.agreement;
  data.known_weights = found.truth.weights;
  data.options = {{"mean log-likelihood of the true mixture", report::number(found.truth_log_likelihood, 7)},
                  {"drawing the rows", report::duration(found.drawing_seconds)},
                  {"scalar", "float32"},
                  {"tolerance", report::number(found.options.tolerance)},
                  {"initial means", "k-means++"},
                  {"starts", fmt::format("{}, the best kept", found.starts)},
                  {"time for all starts", report::duration(found.seconds)}};
  return data;
}

void write_picture(const chosen_mixture& found, const std::string& path) {
  report::fit_data data = faithful_data(found);
  data.column_names = {"length of the eruption (minutes)", "wait until the next (minutes)"};
  const std::vector<report::picture> sides{
      report::fit_picture(found.fit.model, data, "Old Faithful as a mixture of Gaussians"),
      report::choice_picture(found.choices, "component")};
  const std::string description = fmt::format(
      "Left: 272 eruptions of Old Faithful with the contours of {} Gaussian components. Right: BIC and AIC against the "
      "number of components.",
      found.fit.model.components);
  write_file_atomically(path, report::standalone_svg(report::beside(sides, "Old Faithful", description)));
}

void print(const chosen_mixture& found) {
  fmt::print("\nOld Faithful: {} rows × {} columns, {} starts for each K\n\n", report::count(found.fit.rows),
             found.fit.model.columns, found.starts);
  fmt::print("     K   log-likelihood a row        BIC        AIC\n");
  for (const report::choice& tried : found.choices)
    fmt::print("  {} {:>2}   {:>20.4f} {:>10.2f} {:>10.2f}\n", tried.groups == found.fit.model.components ? ">" : " ",
               tried.groups, tried.mean_log_likelihood, tried.bic, tried.aic);
  fmt::print("\n  K = {} has the least BIC. All fits took {:.2f} s.\n", found.fit.model.components, found.seconds);
}

void print(const recovered_mixture& found) {
  const gmm::fit_result& fit = found.fit;
  const double iteration = fit.loop_seconds / static_cast<double>(std::max<std::size_t>(fit.loop_iterations, 1));
  fmt::print("\nA generated mixture: {} rows × {} columns, {} components, float32\n\n", report::count(fit.rows),
             fit.model.columns, fit.model.components);
  fmt::print("  drawn in         {:.2f} s\n", found.drawing_seconds);
  fmt::print("  fitted in        {:.2f} s, {} starts\n", found.seconds, found.starts);
  fmt::print("  the best         {} iterations of {:.1f} ms, {:.1f} million rows a second\n", fit.iterations,
             1e3 * iteration, 1e-6 * static_cast<double>(fit.rows) / iteration);
  fmt::print("  log-likelihood   {:.4f} a row; {:.4f} under the mixture that they were drawn from\n",
             fit.mean_log_likelihood, found.truth_log_likelihood);
  fmt::print("  agreement        {:.4f} with the true components (adjusted Rand index; 1 is perfect)\n",
             metrics::adjusted_rand_index(found.agreement));
}

void run(const demo_options& options) {
  const chosen_mixture faithful = fit_old_faithful(options.data, options.threads);
  if (!options.picture.empty()) {
    write_picture(faithful, options.picture);
    return;
  }
  print(faithful);
  const recovered_mixture generated = fit_generated(options.rows, options.threads);
  print(generated);

  report::page page("Gaussian mixtures, fitted by shoal",
                    "Old Faithful, with the number of components chosen by BIC, and a mixture found again in rows that "
                    "were drawn from it.");
  page.part("Old Faithful",
            fmt::format("{} eruptions of the geyser in Yellowstone: how long each lasted and how long the wait for the "
                        "next one was, both in minutes (Azzalini & Bowman 1990).",
                        report::count(faithful.fit.rows)));
  report::add_fit(page, faithful.fit, faithful_data(faithful));
  page.part(fmt::format("{} generated rows", report::count(generated.fit.rows)),
            fmt::format("Drawn from a random mixture of {} components in {} columns, then fitted in float32 without "
                        "knowledge of that mixture, beyond its number of components.",
                        generated.truth.components, generated.truth.columns));
  report::add_fit(page, generated.fit, generated_data(generated));
  const std::filesystem::path folder = std::filesystem::path(options.output).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder);
  page.write(options.output);
  fmt::print("\nPictures: {}\n", options.output);
}

}  // namespace
}  // namespace shoal::demo

int main(int argc, char** argv) {
  shoal::demo::demo_options options;
  CLI::App app(
      "Fits a Gaussian mixture to Old Faithful and to a million generated rows, and writes a page of pictures");
  app.add_option("--data", options.data, "The Old Faithful rows")->capture_default_str();
  app.add_option("--output", options.output, "The page")->capture_default_str();
  app.add_option("--picture", options.picture, "Write only the picture of Old Faithful, as SVG, to this file");
  app.add_option("--rows", options.rows, "Rows to generate")->capture_default_str()->check(CLI::Range(1000, 100000000));
  app.add_option("--threads", options.threads, "0: all that the process may use")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    const int status = app.exit(problem);
    return status == 0 ? 0 : 2;
  }
  try {
    shoal::demo::run(options);
  } catch (const std::exception& problem) {
    fmt::print(stderr, "shoal-demo: {}\n", problem.what());
    return 1;
  }
  return 0;
}
