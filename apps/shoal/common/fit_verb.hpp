// The verbs fit and select, for any family; fitted.hpp says what a family brings.
#pragma once

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "common/fitted.hpp"
#include "common/interruption.hpp"
#include "common/labels_output.hpp"
#include "common/output.hpp"
#include "common/progress_line.hpp"
#include "common/ranks.hpp"

namespace shoal::app {

/// What follows a fit: labels, the model's file, the report and the answer, as far as they were asked for.
template <class Types, class Scalar>
void finish(const fit_family<Types>& family, fitted<Types>& fit, const fit_rows<Scalar>& rows, progress_line& line,
            const control& control) {
  const fit_options& wanted = fit.words->fit;
  const data_set<Scalar>& data = rows.data();
  labels_output labels(wanted.labels, data.rows().rows(), !data.features.labels.empty());
  if (labels.wanted()) family.label(fit.result.model, rows, labels.data(), fit.library, control);
  labels.share(predicted_rows(fit.result.model, data.rows().rows(), sizeof(Scalar), ranks(), fit.library.device),
               !data.features.labels.empty() || !wanted.report.empty());
  line.wipe();
  if (!wanted.output.empty() && first_rank()) family.save(wanted.output, fit, fit_values(family, fit), rows.units());
  fit.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - fit.begin).count();
  if (!data.features.labels.empty()) {
    fit.agreement = family.agree(fit.result.model, labels.data(), data.features.labels,
                                 data.features.label_names.size(), fit.words->run);
  }
  const answer done = answer_of(family, fit);
  if (!wanted.report.empty() && first_rank()) family.report(fit, rows, labels.data());
  labels.commit();
  give(done, fit.words->run);
}

namespace fit_verb_detail {

template <class Types>
fitted<Types> begin(const typename Types::words& words) {
  refuse_pipes_of_ranks(words.data);
  check_fit_outputs(words.fit, words.data);
  fitted<Types> fit;
  fit.begin = std::chrono::steady_clock::now();
  fit.words = &words;
  return fit;
}

}  // namespace fit_verb_detail

/// One fit. `request_for(threads)` makes the request, and throws bad_argument when words contradict each other.
template <class Types, class RequestFor>
void run_fit(const fit_family<Types>& family, typename Types::words words, const RequestFor& request_for) {
  fitted<Types> fit = fit_verb_detail::begin<Types>(words);
  typename Types::request request = request_for(words, resolved_threads(words.run));
  fit.scalar = words.data.chosen_scalar();
  const auto run = [&]<class Scalar>(Scalar) {
    data_set<Scalar> data = open_data<Scalar>(words.data, words.run);
    const std::stop_token stop = interruptions().token();
    family.settle(words.run, family.work(data.rows().rows(), data.rows().columns(), sizeof(Scalar), request.library),
                  request.library);
    request.library.device = words.run.device;
    progress_line line(!words.run.quiet);
    const control control{[&](const progress& now) { line(now); }, stop, ranks()};
    const fit_rows<Scalar> rows(std::move(data), words.fit.standardize, words.run, stop);
    fit.result =
        with_resume_hint(words.fit.checkpoint, [&] { return family.fit(rows, request, words.fit.init, control); });
    fit.library = request.library;
    finish(family, fit, rows, line, control);
  };
  naming_data(words.data, words.fit.checkpoint, [&] { with_scalar(fit.scalar, run); });
}

/// What a choice among several numbers of groups is given.
template <class Types>
struct select_command {
  typename Types::words words;
  std::vector<std::size_t> groups;  ///< ascends
  selection_criterion criterion = selection_criterion::bic;
};

/// Fits each number of groups, and finishes the one whose criterion is least.
template <class Types>
void run_select(const select_family<Types>& family, select_command<Types> command) {
  auto& words = command.words;
  const std::string groups_word = std::string(family.selection().group) + "s";
  fitted<Types> best = fit_verb_detail::begin<Types>(words);
  if (family.starts_from_file(words)) {
    throw bad_argument(
        fmt::format("--init: a model in a file has one number of {}; use shoal {} fit", groups_word, family.noun()));
  }
  best.scalar = words.data.chosen_scalar();
  best.selection.criterion = word_for(criterion_choices(), command.criterion);
  const std::size_t threads = resolved_threads(words.run);
  const auto run = [&]<class Scalar>(Scalar) {
    data_set<Scalar> data = open_data<Scalar>(words.data, words.run);
    // Before any of them is fitted.
    require_rows(data.rows().rows(), command.groups.back(), groups_word);
    const std::stop_token stop = interruptions().token();
    estimated_work work;
    for (const std::size_t groups : command.groups) {
      work += family.work(data.rows().rows(), data.rows().columns(), sizeof(Scalar),
                          library_options(words, groups, threads).library);
    }
    family.settle(words.run, work, library_options(words, command.groups.front(), threads).library);
    progress_line line(!words.run.quiet);
    const control control{[&](const progress& now) { line(now); }, stop, ranks()};
    const fit_rows<Scalar> rows(std::move(data), words.fit.standardize, words.run, stop);

    double least = std::numeric_limits<double>::infinity();
    bool found = false;
    for (const std::size_t groups : command.groups) {
      typename Types::request request = library_options(words, groups, threads);
      std::string& checkpoint = request.library.checkpoint;
      if (!checkpoint.empty()) checkpoint += fmt::format(".{}", groups);
      line.prefix(fmt::format("{} of {} {}", groups, command.groups.back(), groups_word));
      try {
        auto result = with_resume_hint(checkpoint, [&] { return family.fit(rows, request, words.fit.init, control); });
        best.selection.candidates.push_back({groups,
                                             family.objective(result),
                                             result.bic,
                                             result.aic,
                                             result.iterations,
                                             result.converged,
                                             result.seconds,
                                             {}});
        const double figure = command.criterion == selection_criterion::bic ? result.bic : result.aic;
        if (figure < least || !found) {
          least = figure;
          found = true;
          best.library = request.library;
          best.result = std::move(result);
        }
      } catch (const numerical_error& failure) {
        // One number of groups may fail where the others do not; the choice is among those that did not.
        best.selection.candidates.push_back({.groups = groups, .failure = failure.what()});
        line.wipe();
        warn(words.run, fmt::format("{} {}: {}", groups, groups_word, failure.what()));
      }
    }
    if (!found) {
      throw numerical_error(fmt::format("no number of {} could be fitted{}", groups_word, family.remedy()));
    }
    finish(family, best, rows, line, control);
  };
  naming_data(words.data, words.fit.checkpoint, [&] { with_scalar(best.scalar, run); });
}

}  // namespace shoal::app
