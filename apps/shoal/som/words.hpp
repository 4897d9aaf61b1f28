// The words for self-organizing maps on the command line, and how a trained map is described to machines.
#pragma once

#include <optional>
#include <string>

#include <shoal/som/som.hpp>

#include "common/fit_rows.hpp"
#include "common/options.hpp"
#include "common/output.hpp"

namespace shoal::app {

const choices<som::lattice>& lattice_choices();
const choices<som::metric>& metric_choices();
const choices<som::neighborhood>& neighborhood_choices();
const choices<som::decay>& decay_choices();
const choices<som::training>& training_choices();
const choices<som::initialization>& initialization_choices();

/// The options of `som fit`. What a start from a file decides too is kept apart from its default.
struct som_options {
  data_options data;
  run_options run;
  fit_options fit;
  som::options map;  ///< as far as words alone say it
  std::optional<std::size_t> width;
  std::optional<std::size_t> height;
  std::optional<som::lattice> lattice;
  bool toroidal = false;
  std::optional<som::metric> metric;
  std::optional<som::range> rate;
  std::optional<som::decay> rate_decay;
};

void add_som_options(CLI::App& app, som_options& options);

/// A way from one number to another: "10:1", both at least `least`, strictly above it when `open`. Throws bad_argument
/// that begins with `option`.
som::range parse_range(std::string_view option, std::string_view text, double least, bool open);

/// A model file, with the units that its map was trained in when those are not the data's.
struct som_file {
  som::model model;
  std::optional<standardization> units;
};
som_file load_som(const std::string& path);

/// Options of the library, and the start that `--init` names, if any.
struct som_request {
  som::options library;
  std::optional<som_file> start;
};

/// Throws bad_argument when words contradict each other or the start.
som_request library_options(const som_options& options, std::size_t threads);

/// Trains. The codebook comes back in the data's own units; distances are in the units of the fit.
template <class Scalar>
som::fit_result fit_map(const fit_rows<Scalar>& rows, const som_request& request, const std::string& start_file,
                        const control& control);
extern template som::fit_result fit_map<float>(const fit_rows<float>&, const som_request&, const std::string&,
                                               const control&);
extern template som::fit_result fit_map<double>(const fit_rows<double>&, const som_request&, const std::string&,
                                                const control&);

/// Calls work(model, rows) with both in the units that the map was trained in.
template <class Scalar, class Work>
auto in_units_of_the_map(const som::model& model, const standardization* units, const row_source<Scalar>& rows,
                         const Work& work) {
  if (units == nullptr) return work(model, rows);
  const standardized_source<Scalar> standardized(rows, *units);
  return work(to_standard_units(model, *units), static_cast<const row_source<Scalar>&>(standardized));
}

/// The options and results of a fit that its JSON answer and its model file share; they depend on neither threads nor
/// time.
json describe_fit(const som_options& options, const som::options& library, const som::fit_result& result,
                  shoal::scalar scalar);

/// "200 × 200 units, hexagonal, toroidal", for people.
std::string shape_words(const som::model& model);

/// Writes the model with its provenance, the units of the fit among it.
void save_som(const std::string& path, const som::fit_result& result, const standardization* units, json provenance);

/// What given labels say of the units of all rows; `units` are one for each row.
som::unit_labels labels_of_units(const som::model& model, const std::int32_t* units,
                                 const std::vector<std::int32_t>& given);

}  // namespace shoal::app
