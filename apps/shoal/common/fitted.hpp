// What the verbs fit and select ask of a family, a fit that has ended, and the answer that is made of it. The verbs are
// written once, in fit_verb.hpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <shoal/core/progress.hpp>

#include "common/answer.hpp"
#include "common/device.hpp"
#include "common/fit_rows.hpp"
#include "common/selection.hpp"

namespace shoal::app {

/// A fit that has ended. `Types` names a family's types: `words` (the options as they were given), `library` (those of
/// the library), `request` (those with the start; `library` is a member), `model`, `result` (what a fit returns) and
/// `agreement` (what labels that came with the rows say of it).
template <class Types>
struct fitted {
  const typename Types::words* words = nullptr;
  typename Types::library library;
  typename Types::result result;
  shoal::scalar scalar = shoal::scalar::float64;
  std::chrono::steady_clock::time_point begin;
  double seconds = 0;  ///< from `begin` until the model was written
  app::selection selection;
  typename Types::agreement agreement;  ///< empty without a label column
};

/// How long a fit took.
struct fit_time {
  double seconds = 0;
  double seeding_seconds = 0;  ///< choosing where to start
  double loop_seconds = 0;
  std::size_t loop_steps = 0;
  const char* step = "an iteration";  ///< what the family calls a step, with its article
};

named_values time_values(const std::vector<double>& history, const fit_time& time);

/// The line that says how long it took, and on what.
std::string time_text(const fit_time& time, const run_options& run, std::size_t threads, shoal::scalar scalar,
                      const std::string& hardware);

/// The line that warns of columns whose variances lie far apart, which a distance hardly sees the small ones of; empty
/// where they do not.
std::string scale_note(const std::vector<double>& variances, const std::vector<std::string>& names);

/// The line that says how many iterations there were, and whether they were enough.
std::string iterations_text(std::size_t iterations, bool converged);

/// The line that says which rows were fitted.
std::string data_text(const data_options& data, std::size_t rows, double total_weight);

/// What is a family's own in its fits. Each float or double pair is one function of the rows' scalar.
template <class Types>
class fit_family {
 public:
  using words_type = typename Types::words;
  using library_type = typename Types::library;
  using request_type = typename Types::request;
  using model_type = typename Types::model;
  using result_type = typename Types::result;
  using agreement_type = typename Types::agreement;

  virtual ~fit_family() = default;

  /// Decides where to run, and says so, when that was left to us.
  virtual void settle(run_options& run, const estimated_work& work, const library_type& library) const {
    settle_device(run, work, library.threads);
  }
  virtual estimated_work work(std::size_t rows, std::size_t columns, std::size_t scalar_bytes,
                              const library_type& library) const = 0;
  /// Fits, and carries the model into the data's own units. Throws bad_argument or bad_data when the start does not fit
  /// the data's columns.
  virtual result_type fit(const fit_rows<float>& rows, const request_type& request, const std::string& start_file,
                          const control& control) const = 0;
  virtual result_type fit(const fit_rows<double>& rows, const request_type& request, const std::string& start_file,
                          const control& control) const = 0;
  /// Writes the group of each row.
  virtual void label(const model_type& model, const fit_rows<float>& rows, std::int32_t* labels,
                     const library_type& library, const control& control) const = 0;
  virtual void label(const model_type& model, const fit_rows<double>& rows, std::int32_t* labels,
                     const library_type& library, const control& control) const = 0;
  /// What the given labels of all rows say of those of the fit.
  virtual agreement_type agree(const model_type& model, const std::int32_t* labels,
                               const std::vector<std::int32_t>& given, std::size_t given_values,
                               const run_options& run) const = 0;
  /// Writes the model's file with the fit's values; `units` are those of the fit, or null.
  virtual void save(const std::string& path, const fitted<Types>& fit, const named_values& values,
                    const standardization* units) const = 0;
  /// Writes the report; `labels` may be null.
  virtual void report(const fitted<Types>& fit, const fit_rows<float>& rows, const std::int32_t* labels) const = 0;
  virtual void report(const fitted<Types>& fit, const fit_rows<double>& rows, const std::int32_t* labels) const = 0;

  /// The values of the answer, in this order: what is fitted, how, what came of it, the model, and the agreement.
  virtual named_values shape_values(const library_type& library) const = 0;
  virtual named_values option_values(const words_type& words, const library_type& library) const = 0;
  virtual named_values result_values(const result_type& result, const library_type& library) const = 0;
  virtual named_values model_values(const model_type&) const { return {}; }
  virtual named_values agreement_values(const agreement_type& agreement) const = 0;
  virtual fit_time time(const result_type& result, double seconds) const = 0;
  /// The lines for people, two of which are ready, and a table of the model.
  virtual std::string facts(const fitted<Types>& fit, const std::string& data, const std::string& time) const = 0;
  virtual std::string model_table(const model_type&) const { return {}; }

  /// Of families that have a verb select, below: what they call their groups, and how many there are.
  virtual selection_words selection() const { return {}; }
  virtual std::size_t groups(const library_type&) const { return 0; }
};

/// The same of a family whose number of groups may be chosen.
template <class Types>
class select_family : public fit_family<Types> {
 public:
  virtual const char* noun() const = 0;
  /// What may help where no number could be fitted: "; …", or nothing.
  virtual const char* remedy() const { return ""; }
  /// Whether --init names a model file, which has one number of groups.
  virtual bool starts_from_file(const typename Types::words& words) const = 0;
  virtual double objective(const typename Types::result& result) const = 0;
};

/// The values that the answer and the model file share; they depend on neither threads nor time.
template <class Types>
named_values fit_values(const fit_family<Types>& family, const fitted<Types>& fit) {
  const auto& model = fit.result.model;
  return joined({data_values(fit.words->data, fit.result.rows, model.columns, model.column_names),
                 {{"total_weight", fit.result.total_weight}, {"scalar", word_for(scalar_choices(), fit.scalar)}},
                 family.shape_values(fit.library),
                 family.option_values(*fit.words, fit.library),
                 family.result_values(fit.result, fit.library)});
}

/// What was asked for, and where it ran: the facts that end a report.
template <class Types>
named_values asked_values(const fit_family<Types>& family, const fitted<Types>& fit) {
  return joined({family.option_values(*fit.words, fit.library),
                 given_values({{"weights_file", fit.words->data.weights}}),
                 place_values(fit.words->run, fit.library.threads),
                 {{"scalar", word_for(scalar_choices(), fit.scalar)}}});
}

template <class Types>
answer answer_of(const fit_family<Types>& family, const fitted<Types>& fit) {
  const typename Types::words& words = *fit.words;
  const auto& library = fit.library;
  const auto& result = fit.result;
  const fit_time time = family.time(result, fit.seconds);
  return {
      .values = joined(
          {fit_values(family, fit), family.agreement_values(fit.agreement), family.model_values(result.model),
           time_values(result.history, time), machine_values(words.run, library.threads, fit.scalar, result.hardware),
           given_values({{"output", words.fit.output}, {"labels", words.fit.labels}, {"report", words.fit.report}}),
           selection_values(fit.selection, family.selection())}),
      .paragraphs = {selection_table(fit.selection, family.selection(), family.groups(library)),
                     family.facts(fit, data_text(words.data, result.rows, result.total_weight),
                                  time_text(time, words.run, library.threads, fit.scalar, result.hardware)),
                     family.model_table(result.model)}};
}

}  // namespace shoal::app
