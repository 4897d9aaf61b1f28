// shoal kmeans select
#include <limits>
#include <memory>

#include <fmt/format.h>

#include <shoal/kmeans/work.hpp>

#include "common/interruption.hpp"
#include "kmeans/finish.hpp"
#include "kmeans/verbs.hpp"

namespace shoal::app {
namespace {

constexpr const char* examples = R"(Examples:
  shoal kmeans select rows.csv --clusters 1..20 --output best.json --report choice.html
  shoal kmeans select rows.csv --clusters 2,4,8 --criterion aic --json

Fits every number of clusters and keeps the one whose criterion, that of a spherical model with one variance, is least.
With --checkpoint FILE each number has its own file, FILE.K. With --json the object describes the chosen fit, and
candidates has a row for each number.)";

struct select_command {
  kmeans_options options;
  std::vector<std::size_t> clusters;
  selection_criterion criterion = selection_criterion::bic;
};

template <class Scalar>
void run(select_command& command, kmeans_outcome& outcome) {
  kmeans_options& options = command.options;
  data_set<Scalar> data = open_data<Scalar>(options.data, options.run);
  // Before any of them is fitted; the list ascends.
  require_rows(data.rows().rows(), command.clusters.back(), "clusters");
  const std::stop_token stop = interruptions().token();
  const std::size_t threads = resolved_threads(options.run);
  estimated_work work;
  for (const std::size_t clusters : command.clusters) {
    work += kmeans::work_of_fit(data.rows().rows(), data.rows().columns(), sizeof(Scalar),
                                library_options(options, clusters, threads).library);
  }
  settle_device(options.run, work, threads);
  progress_line line(!options.run.quiet);
  const control control{[&](const progress& now) { line(now); }, stop};
  const fit_rows<Scalar> rows(std::move(data), options.fit.standardize, options.run, stop);

  double least = std::numeric_limits<double>::infinity();
  for (const std::size_t clusters : command.clusters) {
    kmeans_request request = library_options(options, clusters, threads);
    if (!request.library.checkpoint.empty()) request.library.checkpoint += fmt::format(".{}", clusters);
    line.prefix(fmt::format("{} of {} clusters", clusters, command.clusters.back()));
    kmeans::fit_result result = with_resume_hint(
        request.library.checkpoint, [&] { return fit_centroids(rows, request, options.fit.init, control); });
    outcome.candidates.push_back(
        {clusters, result.inertia, result.bic, result.aic, result.iterations, result.converged, result.seconds});
    const double figure = command.criterion == selection_criterion::bic ? result.bic : result.aic;
    if (figure < least || outcome.result.model.clusters == 0) {
      least = figure;
      outcome.library = request.library;
      outcome.result = std::move(result);
    }
  }
  finish(outcome, rows, line, control);
}

void run(select_command command) {
  const kmeans_options& options = command.options;
  check_fit_outputs(options.fit, options.data);
  if (chosen_init(options.fit, seeding_choices(), kmeans::seeding::centroids) == kmeans::seeding::centroids) {
    throw bad_argument("--init: a model in a file has one number of clusters; use shoal kmeans fit");
  }
  kmeans_outcome outcome;
  outcome.begin = std::chrono::steady_clock::now();
  outcome.options = &options;
  outcome.scalar = options.data.chosen_scalar();
  outcome.criterion = word_for(criterion_choices(), command.criterion);
  naming_data(options.data, options.fit.checkpoint,
              [&] { with_scalar(outcome.scalar, [&]<class Scalar>(Scalar) { run<Scalar>(command, outcome); }); });
}

}  // namespace

void add_kmeans_select(CLI::App& noun, verb& selected) {
  const auto command = std::make_shared<select_command>();
  CLI::App& app =
      *add_verb(noun, "select", "Choose the number of clusters", examples, selected, [command] { run(*command); });
  add_counts(app, "--clusters", command->clusters, "Numbers of clusters to try: 1..20 or 1,2,5");
  add_choice(app, "--criterion", command->criterion, criterion_choices(), "What is to be least", "bic");
  add_kmeans_options(app, command->options);
}

}  // namespace shoal::app
