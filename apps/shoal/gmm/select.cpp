// shoal gmm select
#include <limits>
#include <memory>

#include <fmt/format.h>

#include <shoal/gmm/work.hpp>

#include "common/interruption.hpp"
#include "gmm/finish.hpp"
#include "gmm/verbs.hpp"

namespace shoal::app {
namespace {

constexpr const char* examples = R"(Examples:
  shoal gmm select rows.csv --components 1..20 --output best.json --report choice.html
  shoal gmm select rows.csv --components 1,2,5 --criterion aic --json

Fits every number of components and keeps the mixture whose criterion is least. With --checkpoint FILE each number has
its own file, FILE.K. With --json the object describes the chosen fit, and candidates has a row for each number.)";

struct select_command {
  gmm_options options;
  std::vector<std::size_t> components;
  selection_criterion criterion = selection_criterion::bic;
};

template <class Scalar>
void run(select_command& command, gmm_outcome& outcome) {
  gmm_options& options = command.options;
  const bool bic = command.criterion == selection_criterion::bic;
  data_set<Scalar> data = open_data<Scalar>(options.data, options.run);
  // Before any of them is fitted; the list ascends.
  require_rows(data.rows().rows(), command.components.back(), "components");
  const std::stop_token stop = interruptions().token();
  const std::size_t threads = resolved_threads(options.run);
  estimated_work work;
  for (const std::size_t components : command.components) {
    work += gmm::work_of_fit(data.rows().rows(), data.rows().columns(), sizeof(Scalar),
                             library_options(options, components, threads));
  }
  settle_gmm_device(options.run, work, library_options(options, command.components.front(), threads));
  progress_line line(!options.run.quiet);
  const control control{[&](const progress& now) { line(now); }, stop};
  const fit_rows<Scalar> rows(std::move(data), options.fit.standardize, options.run, stop);

  double least = std::numeric_limits<double>::infinity();
  for (const std::size_t components : command.components) {
    gmm_candidate candidate;
    candidate.components = components;
    gmm::options library = library_options(options, components, threads);
    if (!library.checkpoint.empty()) library.checkpoint += fmt::format(".{}", components);
    line.prefix(fmt::format("{} of {} components", components, command.components.back()));
    try {
      gmm::fit_result result =
          with_resume_hint(library.checkpoint, [&] { return fit_mixture(rows, library, options.fit.init, control); });
      candidate.mean_log_likelihood = result.mean_log_likelihood;
      candidate.bic = result.bic;
      candidate.aic = result.aic;
      candidate.iterations = result.iterations;
      candidate.converged = result.converged;
      candidate.seconds = result.seconds;
      const double figure = bic ? result.bic : result.aic;
      if (figure < least || outcome.result.model.components == 0) {
        least = figure;
        outcome.library = library;
        outcome.result = std::move(result);
      }
    } catch (const numerical_error& failure) {
      // One number of components may fail where the others do not; the choice is among those that did not.
      candidate.failure = failure.what();
      line.wipe();
      warn(options.run, fmt::format("{} components: {}", components, failure.what()));
    }
    outcome.selection.candidates.push_back(std::move(candidate));
  }
  if (outcome.result.model.components == 0) {
    throw numerical_error("no number of components could be fitted; a larger --regularization may help");
  }
  finish(outcome, rows.data(), line, control);
}

void run(select_command command) {
  const gmm_options& options = command.options;
  check_fit_outputs(options.fit, options.data);
  if (chosen_init(options.fit, gmm_initialization_choices(), gmm::initialization::model) ==
      gmm::initialization::model) {
    throw bad_argument("--init: a model in a file has one number of components; use shoal gmm fit");
  }
  gmm_outcome outcome;
  outcome.begin = std::chrono::steady_clock::now();
  outcome.options = &options;
  outcome.scalar = options.data.chosen_scalar();
  outcome.selection.criterion = word_for(criterion_choices(), command.criterion);
  naming_data(options.data, options.fit.checkpoint,
              [&] { with_scalar(outcome.scalar, [&]<class Scalar>(Scalar) { run<Scalar>(command, outcome); }); });
}

}  // namespace

void add_gmm_select(CLI::App& noun, verb& selected) {
  const auto command = std::make_shared<select_command>();
  CLI::App& app =
      *add_verb(noun, "select", "Choose the number of components", examples, selected, [command] { run(*command); });
  add_counts(app, "--components", command->components, "Numbers of components to try: 1..20 or 1,2,5");
  add_choice(app, "--criterion", command->criterion, criterion_choices(), "What is to be least", "bic");
  add_gmm_options(app, command->options);
}

}  // namespace shoal::app
