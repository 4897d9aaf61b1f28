// The rows that a verb works on: opened, with their weights, and matched to a model's columns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <shoal/io/io.hpp>

#include "common/options.hpp"

namespace shoal::app {

/// Open rows and, with `--weights`, their open weights.
template <class Scalar>
struct data_set {
  opened_rows<Scalar> features;
  opened_rows<double> weight_rows;  ///< in float64 whatever the rows are: rounding comes after scaling

  const row_source<Scalar>& rows() const { return *features.rows; }
  const row_source<double>* weights() const { return weight_rows.rows.get(); }
};

/// What a model expects of its rows.
struct expected_columns {
  std::string_view model;  ///< its file, for messages
  std::size_t count = 0;
  std::vector<std::string> names;  ///< empty when the model has none
};

/// Throws bad_argument when several ranks are to read what can be read once: standard input, or a pipe.
void refuse_pipes_of_ranks(const data_options& data);

/// Opens the rows that the options name. Throws what open_rows throws, and bad_data when the weights are not one column
/// of as many rows.
template <class Scalar>
data_set<Scalar> open_data(const data_options& data, const run_options& run);
extern template data_set<float> open_data<float>(const data_options&, const run_options&);
extern template data_set<double> open_data<double>(const data_options&, const run_options&);

/// The same for a model: when both have column names and none were asked for, the model's columns are picked by name,
/// whatever their order. Throws bad_data when names or their number do not match.
template <class Scalar>
data_set<Scalar> open_data_for(const expected_columns& expected, const data_options& data, const run_options& run);
extern template data_set<float> open_data_for<float>(const expected_columns&, const data_options&, const run_options&);
extern template data_set<double> open_data_for<double>(const expected_columns&, const data_options&,
                                                       const run_options&);

/// Refuses a start for a fit whose columns are not the data's. Throws bad_argument.
void check_start_columns(const std::string& file, std::size_t count, const std::vector<std::string>& names,
                         std::size_t data_count, const std::vector<std::string>& data_names);

/// Refuses fewer rows than the groups ("components", "clusters") that are to be found in them. Throws bad_data.
void require_rows(std::size_t rows, std::size_t groups, std::string_view name);

/// Σ of the weights, or the number of rows without them.
template <class Scalar>
double total_weight(const data_set<Scalar>& data);
extern template double total_weight<float>(const data_set<float>&);
extern template double total_weight<double>(const data_set<double>&);

/// Runs work on the rows; what it finds wrong with them it says without knowing their file, which is put in front here.
/// Messages about the file `other` (a checkpoint) are left as they are.
template <class Work>
auto naming_data(const data_options& data, const std::string& other, const Work& work) {
  try {
    return work();
  } catch (const bad_data& wrong) {
    const std::string message = wrong.what();
    const std::string file = data.path == "-" ? "standard input" : data.path;
    const bool named = message.rfind(file, 0) == 0 || (!data.weights.empty() && message.rfind(data.weights, 0) == 0) ||
                       (!other.empty() && message.find(other) != std::string::npos);
    if (named) throw;
    throw bad_data(file + (data.weights.empty() ? "" : " with weights " + data.weights) + ": " + message);
  }
}

/// Calls `run` with a float or a double, whose type is the scalar.
template <class Run>
auto with_scalar(scalar scalar, Run&& run) {
  return scalar == scalar::float32 ? run(float{}) : run(double{});
}

}  // namespace shoal::app
