// A fit that has ended, and the answer that is made of it.
//
// The verbs fit and select are written once, for any family. A family is a struct of types and static functions that
// say what is its own:
//
//   words, library, request, result, agreement   types: the options as they were given, those of the library, those
//                                                 with the start (`library` is a member), what a fit returns, and what
//                                                 labels that came with the rows say of it
//   selection                                     selection_words, where there is a verb select
//   shape_values, option_values, result_values,
//   model_values, agreement_values                named values for the answer, in this order
//   facts, model_table                            its lines and its table for people
//   settle, work, fit, label, agree, save, report the steps of a fit: fit_verb.hpp calls them
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "common/answer.hpp"
#include "common/selection.hpp"

namespace shoal::app {

template <class Family>
struct fitted {
  const typename Family::words* words = nullptr;
  typename Family::library library;
  typename Family::result result;
  shoal::scalar scalar = shoal::scalar::float64;
  std::chrono::steady_clock::time_point begin;
  double seconds = 0;  ///< from `begin` until the model was written
  app::selection selection;
  typename Family::agreement agreement;  ///< empty without a label column
};

/// How long a fit took.
struct fit_time {
  double seconds = 0;
  double loop_seconds = 0;
  std::size_t loop_steps = 0;
  const char* step = "an iteration";  ///< what the family calls a step, with its article
};

named_values time_values(const std::vector<double>& history, const fit_time& time);

/// The line that says how long it took, and on what.
std::string time_text(const fit_time& time, const run_options& run, std::size_t threads, shoal::scalar scalar,
                      const std::string& hardware);

/// The line that says how many iterations there were, and whether they were enough.
std::string iterations_text(std::size_t iterations, bool converged);

/// The line that says which rows were fitted.
std::string data_text(const data_options& data, std::size_t rows, double total_weight);

/// The values that the answer and the model file share; they depend on neither threads nor time.
template <class Family>
named_values fit_values(const fitted<Family>& fit) {
  const auto& model = fit.result.model;
  return joined({data_values(fit.words->data, fit.result.rows, model.columns, model.column_names),
                 {{"total_weight", fit.result.total_weight}, {"scalar", word_for(scalar_choices(), fit.scalar)}},
                 Family::shape_values(fit.library),
                 Family::option_values(*fit.words, fit.library),
                 Family::result_values(fit.result, fit.library)});
}

/// What was asked for, and where it ran: the facts that end a report.
template <class Family>
named_values asked_values(const fitted<Family>& fit) {
  return joined({Family::option_values(*fit.words, fit.library),
                 given_values({{"weights_file", fit.words->data.weights}}),
                 place_values(fit.words->run, fit.library.threads),
                 {{"scalar", word_for(scalar_choices(), fit.scalar)}}});
}

template <class Family>
answer answer_of(const fitted<Family>& fit) {
  const typename Family::words& words = *fit.words;
  const auto& library = fit.library;
  const auto& result = fit.result;
  const fit_time time = Family::time(result, fit.seconds);
  return {
      .values = joined(
          {fit_values(fit), Family::agreement_values(fit.agreement), Family::model_values(result.model),
           time_values(result.history, time), machine_values(words.run, library.threads, fit.scalar, result.hardware),
           given_values({{"output", words.fit.output}, {"labels", words.fit.labels}, {"report", words.fit.report}}),
           selection_values(fit.selection, Family::selection)}),
      .paragraphs = {selection_table(fit.selection, Family::selection, Family::groups(library)),
                     Family::facts(fit, data_text(words.data, result.rows, result.total_weight),
                                   time_text(time, words.run, library.threads, fit.scalar, result.hardware)),
                     Family::model_table(result.model)}};
}

}  // namespace shoal::app
