// The rows of a fit: as they are, or standardized on their way in.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>

#include "common/rows.hpp"
#include "common/standardization.hpp"

namespace shoal::app {

/// Open rows, and the units that they are fitted in.
template <class Scalar>
class fit_rows {
 public:
  /// Reads the rows once when `wanted`, to learn the moments. Throws what check_data throws.
  fit_rows(data_set<Scalar> data, bool wanted, const run_options& run, std::stop_token stop);

  const data_set<Scalar>& data() const { return data_; }
  /// The rows to fit.
  const row_source<Scalar>& rows() const { return standardized_ ? *standardized_ : data_.rows(); }
  row_weights weights() const { return data_.weights(); }
  /// Nothing when rows are fitted as they are.
  const standardization* units() const { return units_.get(); }

 private:
  data_set<Scalar> data_;
  std::unique_ptr<standardization> units_;
  std::unique_ptr<row_source<Scalar>> standardized_;
};
/// Refuses a start from the model in `file` whose columns are not the rows'. Throws bad_argument.
template <class Model, class Scalar>
void check_start(const std::string& file, const Model& start, const fit_rows<Scalar>& rows) {
  check_start_columns(file, start.columns, start.column_names, rows.rows().columns(),
                      rows.data().features.column_names);
}

extern template class fit_rows<float>;
extern template class fit_rows<double>;

}  // namespace shoal::app
