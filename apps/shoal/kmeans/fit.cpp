// shoal kmeans fit
#include <memory>

#include <shoal/kmeans/work.hpp>

#include "common/interruption.hpp"
#include "kmeans/finish.hpp"
#include "kmeans/verbs.hpp"

namespace shoal::app {
namespace {

constexpr const char* examples = R"(Examples:
  shoal kmeans fit rows.csv --clusters 8 --output model.json --labels labels.npy
  shoal kmeans fit rows.npy --clusters 100 --init k-means-parallel --restarts 3 --json
  shoal kmeans fit rows.csv --init model.json --tolerance 0

With --json, inertia is that of the returned centroids; history has, for each iteration, that of the centroids which the
iteration started from. With --standardize the inertia is in standardized units, and the model keeps them for predict.
With --checkpoint, Ctrl-C or a crash loses nothing but the last moments: the same command resumes, and its result is the
same to the last bit.)";

struct fit_command {
  kmeans_options options;
  std::optional<std::size_t> clusters;
};

template <class Scalar>
void run(kmeans_options& options, kmeans_request& request, kmeans_outcome& outcome) {
  data_set<Scalar> data = open_data<Scalar>(options.data, options.run);
  const std::stop_token stop = interruptions().token();
  settle_device(options.run,
                kmeans::work_of_fit(data.rows().rows(), data.rows().columns(), sizeof(Scalar), request.library),
                request.library.threads);
  request.library.device = outcome.library.device = options.run.device;
  progress_line line(!options.run.quiet);
  const control control{[&](const progress& now) { line(now); }, stop};
  const fit_rows<Scalar> rows(std::move(data), options.fit.standardize, options.run, stop);
  outcome.result =
      with_resume_hint(options.fit.checkpoint, [&] { return fit_centroids(rows, request, options.fit.init, control); });
  finish(outcome, rows, line, control);
}

void run(const fit_command& command) {
  kmeans_options options = command.options;
  check_fit_outputs(options.fit, options.data);
  kmeans_outcome outcome;
  outcome.begin = std::chrono::steady_clock::now();
  outcome.options = &options;
  kmeans_request request = library_options(options, command.clusters, resolved_threads(options.run));
  outcome.library = request.library;
  outcome.scalar = options.data.chosen_scalar();
  naming_data(options.data, options.fit.checkpoint, [&] {
    with_scalar(outcome.scalar, [&]<class Scalar>(Scalar) { run<Scalar>(options, request, outcome); });
  });
}

}  // namespace

void add_kmeans_fit(CLI::App& noun, verb& selected) {
  const auto command = std::make_shared<fit_command>();
  CLI::App& app = *add_verb(noun, "fit", "Fit centroids by k-means", examples, selected, [command] { run(*command); });
  add_option(app, "--clusters", "K", "Clusters; not needed when --init is a file", "",
             [command](const std::string& text) { command->clusters = parse_count("--clusters", text, 1); });
  add_kmeans_options(app, command->options);
}

}  // namespace shoal::app
