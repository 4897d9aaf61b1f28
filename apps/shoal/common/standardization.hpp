// Columns shifted to mean 0 and scaled to deviation 1, and points carried between these units and the data's own.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <shoal/estimation/data_check.hpp>
#include <shoal/io/row_source.hpp>

namespace shoal::app {

/// z = (x − center) / scale, column by column.
struct standardization {
  std::vector<double> center;  ///< [columns]
  std::vector<double> scale;   ///< [columns], positive

  /// Σ ln scale: ln p of a row in its own units is ln p of the standardized row less this.
  double log_volume() const;
};

/// Weighted mean and population deviation of each column; a constant column is only centred.
standardization standardize(const data_summary& summary);

/// The rows of another source, standardized piece by piece. Nothing is held in memory. Owns neither argument.
template <class Scalar>
class standardized_source final : public row_source<Scalar> {
 public:
  standardized_source(const row_source<Scalar>& rows, const standardization& units) : rows_(&rows), units_(&units) {}
  std::size_t rows() const override { return rows_->rows(); }
  std::size_t columns() const override { return rows_->columns(); }
  matrix_view<const Scalar> read(std::size_t first, std::size_t count, aligned_buffer<Scalar>& buffer) const override;
  bool resident() const override { return false; }

 private:
  const row_source<Scalar>* rows_;
  const standardization* units_;
};
extern template class standardized_source<float>;
extern template class standardized_source<double>;

/// Points, row-major, out of standard units and into them.
void points_to_data_units(std::vector<double>& points, const standardization& units);
void points_to_standard_units(std::vector<double>& points, const standardization& units);

/// Calls work(model, rows) with both in the units that the model was fitted in: as they are when `units` is null. The
/// family's own to_standard_units() carries the model there.
template <class Model, class Scalar, class Work>
auto in_units_of_fit(const Model& model, const standardization* units, const row_source<Scalar>& rows,
                     const Work& work) {
  if (units == nullptr) return work(model, rows);
  const standardized_source<Scalar> standardized(rows, *units);
  return work(to_standard_units(model, *units), static_cast<const row_source<Scalar>&>(standardized));
}

/// The units of the fit that the text of a model file of so many columns keeps in its provenance; nothing when it was
/// fitted in the data's own. `name` stands in messages. Throws bad_data.
std::optional<standardization> units_of_fit(const std::string& name, std::string_view text, std::size_t columns);

}  // namespace shoal::app
